// Tables that are cut, and saving and copying a figure: what the page has drawn, in a light page's colours on a white ground.

const DOTS = 300 / 72; // A picture has 300 dots an inch, and a figure is measured in points.

/** A figure's size in points. */
const sizeOf = (svg) => svg.getAttribute("viewBox").split(" ").slice(2).map(Number);

/** A figure as a file of its own. */
function asFile(svg) {
  const copy = svg.cloneNode(true), [width, height] = sizeOf(svg);
  const ground = document.createElementNS(SVG, "rect");
  for (const [name, value] of [["width", width], ["height", height], ["fill", "#ffffff"]]) ground.setAttribute(name, value);
  ground.style.fill = "#ffffff";
  copy.prepend(ground);
  copy.setAttribute("width", `${width}pt`);
  copy.setAttribute("height", `${height}pt`);
  return new XMLSerializer().serializeToString(copy).replace(/var\(--[\w-]+, ?(#\w+)\)/g, "$1");
}

/** A figure as a picture. */
async function asPicture(svg) {
  const image = new Image(), canvas = document.createElement("canvas");
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(asFile(svg))}`;
  await image.decode();
  [canvas.width, canvas.height] = sizeOf(svg).map((points) => Math.round(points * DOTS));
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => { canvas.toBlob(done, "image/png"); });
}

function saveAs(name, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function copyPicture(svg, button) {
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": asPicture(svg) })]);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed here";
    button.title = "The browser does not let this page copy a picture: save it as PNG.";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 4000);
}

for (const figure of document.querySelectorAll(".figure")) {
  const svg = figure.querySelector("svg"), name = figure.dataset.name, buttons = document.createElement("div");
  const actions = {
    SVG: () => saveAs(`${name}.svg`, new Blob([asFile(svg)], { type: "image/svg+xml" })),
    PNG: async () => saveAs(`${name}.png`, await asPicture(svg)),
    Copy: (button) => copyPicture(svg, button),
  };
  buttons.className = "save";
  buttons.append(...Object.entries(actions).map(([text, act]) => {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: text });
    button.setAttribute("aria-label", `${text === "Copy" ? "Copy as a picture" : `Save as ${text}`}: ${svg.getAttribute("aria-label")}`);
    button.addEventListener("click", () => act(button));
    return button;
  }));
  svg.after(buttons);
}

/** Say above each table that is wider than its place that it scrolls, and let the keyboard scroll it. */
const watched = new ResizeObserver((seen) => {
  for (const { target } of seen) {
    const isCut = target.scrollWidth > target.clientWidth + 1; // what is rounded is not cut
    target.previousElementSibling.hidden = !isCut;
    if (isCut) target.tabIndex = 0; else target.removeAttribute("tabindex");
  }
});
for (const box of document.querySelectorAll(".scroll")) {
  const note = document.createElement("p");
  Object.assign(note, { className: "sideways", textContent: "Wider than the page: scroll sideways →", hidden: true });
  box.before(note);
  watched.observe(box);
}

// Clips, and the evidence drawn over them.

// Okabe and Ito's colours, which people with any colour vision tell apart.
const HUES = ["#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
const LOST = "#777777";

let listing = null;
const addresses = new Map();

/** Where a clip can be played from, or null where it is missing; empty as long as the page is read and has not come to it. */
function addressOf(place) {
  listing ||= readBlock(document.getElementById("listing"));
  const [folder, name, state] = listing.clips[place];
  if (state === "m") return null;
  if (!addresses.has(place)) {
    let address = `${listing.folders[folder]}/${name.split("/").map(encodeURIComponent).join("/")}`;
    if (state === "e") {
      const held = document.getElementById(`clip-${place}`);
      if (!held) return "";
      const bytes = Uint8Array.from(atob(held.textContent), (c) => c.charCodeAt(0));
      address = URL.createObjectURL(new Blob([bytes], { type: "video/mp4" }));
    }
    addresses.set(place, address);
  }
  return addresses.get(place);
}

const clipName = (place) => {
  listing ||= readBlock(document.getElementById("listing"));
  return listing.clips[place][1];
};

/** One clip: the player, or that it is missing. */
function makeClip([place, label, asked], several) {
  const address = addressOf(place);
  const stage = make("div", "stage");
  let video = null;
  if (address === null) {
    stage.append(make("p", "gone", `The clip is missing: ${clipName(place)}`));
  } else {
    video = make("video");
    Object.assign(video, { muted: true, loop: true, playsInline: true, preload: "auto" });
    if (address) video.src = address;
    else document.addEventListener("DOMContentLoaded", () => { video.src = addressOf(place); });
    video.setAttribute("aria-label", `Clip ${clipName(place)}${label ? `, ${label}` : ""}`);
    video.addEventListener("error", () => stage.replaceChildren(make("p", "gone", `Cannot be played: ${clipName(place)}`)));
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) video.autoplay = true;
    stage.append(video);
  }
  const transport = video ? makeTransport(video) : null;
  const caption = make("figcaption", "", label ? make("b", "", label) : null, clipName(place));
  if (several && !asked) caption.append(" · not shown to the model");
  return { figure: make("figure", "clip", stage, transport, caption), stage, video };
}

/** Play, and where in time it is; below the clip, so that nothing covers what is drawn over it. */
function makeTransport(video) {
  const button = make("button", "", "Play");
  const slider = make("input");
  Object.assign(slider, { type: "range", min: "0", max: "1", step: "0.01", value: "0" });
  slider.setAttribute("aria-label", "Time");
  const told = make("span", "", "");
  function show() {
    slider.max = String(video.duration || 1);
    slider.value = String(video.currentTime);
    told.textContent = `${video.currentTime.toFixed(1)} / ${(video.duration || 0).toFixed(1)} s`;
    button.textContent = video.paused ? "Play" : "Pause";
  }
  button.addEventListener("click", () => (video.paused ? video.play() : video.pause()));
  slider.addEventListener("input", () => { video.pause(); video.currentTime = Number(slider.value); });
  for (const event of ["loadedmetadata", "timeupdate", "seeked", "play", "pause"]) video.addEventListener(event, show);
  show();
  return make("div", "transport", button, slider, told);
}

/** Colour and number of each lane: a predicted one has those of the true one that it was matched with. */
function numberLanes(item, answer) {
  const lanes = (item[LANES] || []).map((lane, place) => ({
    lane, kind: "true", number: String(place + 1), hue: HUES[place % HUES.length],
  }));
  const matched = new Map((answer ? answer[MATCHES] : []).map(([predicted, truth]) => [predicted, truth]));
  const predicted = (answer ? answer[PREDICTED] : []).map((lane, place) => ({
    lane,
    kind: "predicted",
    number: matched.has(place) ? String(matched.get(place) + 1) : "?",
    hue: matched.has(place) ? HUES[matched.get(place) % HUES.length] : LOST,
  }));
  return [...lanes, ...predicted];
}

/** Draws the boxes of the nearest whole second over the clip, and moves the line on the lanes, as time goes by. */
function followEvidence(video, stage, frame, lanes, timeline) {
  const [width, height] = frame;
  stage.classList.add("boxed");
  stage.style.aspectRatio = `${width} / ${height}`;
  video.style.height = "100%";
  const overlay = makeSvg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  stage.append(overlay);
  let shown = null;
  function draw() {
    const second = Math.round(video.currentTime);
    for (const line of timeline.lines) line.style.left = `${(100 * video.currentTime) / timeline.length()}%`;
    if (second === shown) return;
    shown = second;
    timeline.told.textContent = `boxes of second ${second}`;
    overlay.replaceChildren(...lanes.flatMap(({ lane, kind, number, hue }) => {
      const box = lane[2][second];
      if (!box) return [];
      const [x, y] = [Math.min(box[0], box[2]), Math.min(box[1], box[3])];
      const place = { x, y, width: Math.abs(box[2] - box[0]), height: Math.abs(box[3] - box[1]) };
      const group = makeSvg("g", { class: kind, "data-kind": kind, "data-number": number, "data-box": box.join(" ") });
      group.append(makeSvg("rect", { class: "under", ...place }), makeSvg("rect", { class: "over", ...place, stroke: hue }));
      return [group];
    }));
  }
  let frameRequest = 0;
  const follow = () => {
    if (!stage.isConnected) return;
    draw();
    frameRequest = video.paused ? 0 : requestAnimationFrame(follow);
  };
  for (const event of ["loadeddata", "seeked", "timeupdate", "pause"]) video.addEventListener(event, draw);
  video.addEventListener("play", () => { if (!frameRequest) follow(); });
  draw();
}

/** The evidence over time, a line for each instance; a click on it shows that moment. */
function makeTimeline(lanes, video) {
  const last = Math.max(0, ...lanes.flatMap(({ lane }) => lane[1].map(([, end]) => end)).filter((end) => end < 36000));
  const length = () => (video && Number.isFinite(video.duration) ? video.duration : last + 1);
  const told = make("span", "second", "");
  const lines = [];
  const element = make("div", "lanes");
  function fill() {
    lines.length = 0;
    element.replaceChildren(...lanes.map(({ lane, kind, number, hue }) => {
      const time = make("div", "time");
      for (const [start, end] of lane[1]) {
        if (end < start) continue;
        const bar = make("i");
        bar.style.left = `${(100 * start) / length()}%`;
        bar.style.width = `${(100 * (end - start + 1)) / length()}%`;
        time.append(bar);
      }
      const line = make("span", "now");
      lines.push(line);
      time.append(line);
      if (video) {
        time.addEventListener("click", (event) => {
          const area = time.getBoundingClientRect();
          video.currentTime = (length() * (event.clientX - area.left)) / area.width;
        });
      }
      const name = make("span", "name", `${number} ${lane[0] || "no name"}${kind === "predicted" ? ", predicted" : ""}`);
      name.title = name.textContent;
      const row = make("div", `lane ${kind}`, name, time);
      row.style.setProperty("--hue", hue);
      return row;
    }), told);
  }
  fill();
  if (video) video.addEventListener("loadedmetadata", fill);
  return { element, lines, length, told };
}

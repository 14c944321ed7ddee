// The list of items: filters, the rows that are in sight, and the keyboard.

const HEIGHT = 52;
const SPARE = 8;
const $ = (id) => document.getElementById(id);
const list = $("list"), rows = $("rows");
let entries = [], found = [], at = -1, currentSection = -1;

const choose = (select, options) => select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
const focusRun = () => Number($("run").value);

function fillFilters() {
  choose($("task"), about.sections.map(([name], place) => [place, name]));
  choose($("outcome"), [["", "any"], ...about.outcomes.map((name, place) => [place, name]), ["failure", "wrong or unparsed"]]);
  if (about.runs.length > 1) $("outcome").append(new Option("runs differ", "differ"));
}

function openSection(section) {
  if (section === currentSection) return;
  currentSection = section;
  entries = itemsOf(section);
  const runs = [...new Set(about.sections[section][1].flatMap((task) => blockOf(task).runs))];
  const before = $("run").value;
  choose($("run"), runs.map((run) => [run, `${about.runs[run][0]} ${about.runs[run][1]}`]));
  if (runs.map(String).includes(before)) $("run").value = before;
  $("strata").replaceChildren(...[...strataOf(section)].map(([name, values]) => {
    const select = make("select");
    select.dataset.stratum = name;
    choose(select, [["", "any"], ...values.map((value) => [value, plain(value)])]);
    select.addEventListener("change", filter);
    return make("label", "", `${plain(name)[0].toUpperCase()}${plain(name).slice(1)} `, select);
  }));
  const notes = [...new Set(about.sections[section][1].map((task) => blockOf(task).note))].filter(Boolean);
  $("data-note").textContent = notes.join(" ");
  $("data-note").hidden = !notes.length;
}

function keeps() {
  const run = focusRun(), outcome = $("outcome").value, words = $("find").value.trim().toLowerCase();
  const strata = [...document.querySelectorAll("[data-stratum]")].filter((select) => select.value).map((select) => [select.dataset.stratum, select.value]);
  const ofOutcome = {
    "": () => true,
    failure: (entry) => isFailure(answerOf(entry, run)),
    differ: ({ item }) => new Set(item[ANSWERS].filter(Boolean).map((answer) => answer[OUTCOME])).size > 1,
  }[outcome] || ((entry) => answerOf(entry, run) && answerOf(entry, run)[OUTCOME] === Number(outcome));
  return (entry) => ofOutcome(entry) && strata.every(([name, value]) => {
    const column = entry.block.strata.findIndex(([known]) => known === name);
    return column >= 0 && entry.block.strata[column][1][entry.item[STRATA][column]] === value;
  }) && (!words || entry.item[ID].toLowerCase().includes(words) || entry.block.strings[entry.item[QUESTION]].toLowerCase().includes(words));
}

function filter() {
  const kept = found[at];
  found = entries.filter(keeps());
  $("count").textContent = `${found.length.toLocaleString("en")} of ${entries.length.toLocaleString("en")} items`;
  rows.style.height = `${found.length * HEIGHT}px`;
  rows.replaceChildren();
  at = found.length ? Math.max(0, found.indexOf(kept)) : -1;
  if (at < 0) {
    rows.append(make("p", "none-found", "No item fits these filters."));
    list.removeAttribute("aria-activedescendant");
    detail.replaceChildren();
    return;
  }
  select(at);
}

/** Only rows in sight, and a few beside them, are in the document. */
function drawRows() {
  if (!found.length) return;
  const first = Math.max(0, Math.floor(list.scrollTop / HEIGHT) - SPARE);
  const last = Math.min(found.length, Math.ceil((list.scrollTop + list.clientHeight) / HEIGHT) + SPARE);
  const drawn = [];
  for (let place = first; place < last; place += 1) drawn.push(makeRow(place));
  rows.replaceChildren(...drawn);
}

function makeRow(place) {
  const entry = found[place];
  const marks = make("span", "marks", ...entry.block.runs.map((run) => {
    const answer = answerOf(entry, run);
    const mark = ofRun(run, make("span", answer ? `mark ${about.outcomes[answer[OUTCOME]]}` : "mark absent", answer ? about.runs[run][0] : ""));
    if (answer) mark.title = `${about.runs[run][0]} ${about.runs[run][1]}: ${about.outcomes[answer[OUTCOME]]}`;
    mark.setAttribute("aria-label", mark.title);
    return mark;
  }));
  const row = make("div", "row", make("span", "id", entry.item[ID]), make("span", "about", entry.block.strings[entry.item[QUESTION]]), marks);
  row.id = `row-${place}`;
  row.style.top = `${place * HEIGHT}px`;
  row.setAttribute("role", "option");
  row.setAttribute("aria-selected", String(place === at));
  row.setAttribute("aria-posinset", String(place + 1));
  row.setAttribute("aria-setsize", String(found.length));
  row.addEventListener("click", () => select(place));
  return row;
}

function select(place) {
  at = place;
  const top = place * HEIGHT;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + HEIGHT - list.clientHeight;
  drawRows();
  list.setAttribute("aria-activedescendant", `row-${place}`);
  showItem(found[place], focusRun(), jump);
}

/** To another item of the list: some places on, or the item itself. */
function jump(by, item) {
  if (!item) {
    const next = Math.min(Math.max(at + by, 0), found.length - 1);
    if (found.length && next !== at) select(next);
    return;
  }
  const place = found.findIndex((entry) => entry.item === item);
  if (place >= 0) select(place);
  else showItem(entries.find((entry) => entry.item === item), focusRun(), jump);
}

function nextFailure() {
  const run = focusRun();
  for (let by = 1; by <= found.length; by += 1) {
    const place = (at + by) % found.length;
    if (isFailure(answerOf(found[place], run))) return select(place);
  }
}

function seek(by) {
  for (const video of detail.querySelectorAll("video")) {
    video.pause();
    video.currentTime = Math.max(0, Math.round(video.currentTime) + by);
  }
}

function play() {
  for (const video of detail.querySelectorAll("video")) {
    if (video.paused) video.play();
    else video.pause();
  }
}

const KEYS = {
  j: () => jump(1), ArrowRight: () => jump(1), k: () => jump(-1), ArrowLeft: () => jump(-1),
  f: nextFailure, n: nextFailure, " ": play, ",": () => seek(-1), ".": () => seek(1),
};

// In the list itself, as in any list.
const LIST_KEYS = { ArrowDown: KEYS.j, ArrowUp: KEYS.k };

function pressed(event) {
  const target = event.target instanceof Element ? event.target : document.body;
  const act = KEYS[event.key] || (target === list && LIST_KEYS[event.key]);
  if (event.ctrlKey || event.metaKey || event.altKey || !act) return;
  if (target.closest("input, select, textarea") || (target.closest("button, summary, a") && event.key === " ")) return;
  event.preventDefault();
  act();
}

function start() {
  fillFilters();
  openSection(0);
  filter();
  $("task").addEventListener("change", () => { openSection(Number($("task").value)); filter(); });
  $("run").addEventListener("change", filter);
  $("outcome").addEventListener("change", filter);
  $("find").addEventListener("input", filter);
  list.addEventListener("scroll", () => requestAnimationFrame(drawRows), { passive: true });
  addEventListener("resize", drawRows);
  document.addEventListener("keydown", pressed);
  performance.mark("items-shown");
}

// The page is painted before the first block of items is read.
requestAnimationFrame(() => setTimeout(start, 0));

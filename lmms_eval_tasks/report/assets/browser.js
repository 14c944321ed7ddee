// The list of items: filters, the rows that are in sight, and the keyboard.

const HEIGHT = 52;
const SPARE = 8;
const $ = (id) => document.getElementById(id);
const list = $("list"), rows = $("rows");
let entries = [], found = [], at = -1, currentSection = -1, shown = null, addressed = false;

const choose = (select, options) => select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
const focusRun = () => Number($("run").value);

const FAILURE = ["failure", "wrong or unparsed"];

/** The runs that are looked at, the chosen one first. */
const shownRuns = () => {
  const shown = [...document.querySelectorAll("#outcomes button[aria-pressed=true]")].map((button) => Number(button.value));
  return [focusRun(), ...shown.filter((run) => run !== focusRun())];
};

/** A filter for each run: its badge shows or hides the run, and beside it is which outcome it must have. */
function fillOutcomes(runs) {
  $("outcomes").replaceChildren(...runs.map((run) => {
    const toggle = make("button", "", badge(run));
    Object.assign(toggle, { type: "button", value: run, title: `Show or hide ${about.runs[run][1]}` });
    toggle.setAttribute("aria-pressed", "true");
    toggle.addEventListener("click", () => {
      const pressed = toggle.getAttribute("aria-pressed") === "true";
      if (pressed && run === focusRun()) return; // The chosen run is always shown.
      toggle.setAttribute("aria-pressed", String(!pressed));
      if (pressed) select.value = "";
      filter();
    });
    const select = make("select");
    select.dataset.outcome = run;
    select.setAttribute("aria-label", `Outcome of ${about.runs[run][1]}`);
    choose(select, [["", "any"], ...about.outcomes.map((name, place) => [place, name]), FAILURE]);
    select.addEventListener("change", () => {
      if (select.value) toggle.setAttribute("aria-pressed", "true");
      filter();
    });
    return make("span", "outcome", toggle, select);
  }));
  $("differ").hidden = runs.length < 2;
}

function openSection(section) {
  if (section === currentSection) return;
  $("task").value = String(section);
  currentSection = section;
  entries = itemsOf(section);
  const runs = [...new Set(about.sections[section][1].flatMap((task) => blockOf(task).runs))];
  const before = $("run").value;
  choose($("run"), runs.map((run) => [run, `${about.runs[run][0]} ${about.runs[run][1]}`]));
  if (runs.map(String).includes(before)) $("run").value = before;
  fillOutcomes(runs);
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

const chosenStrata = () => [...document.querySelectorAll("[data-stratum]")].filter((select) => select.value).map((select) => [select.dataset.stratum, select.value]);
const chosenOutcomes = () => new Map([...document.querySelectorAll("[data-outcome]")].filter((select) => select.value).map((select) => [Number(select.dataset.outcome), select.value]));

function keeps() {
  const differ = $("differ").getAttribute("aria-pressed") === "true", words = $("find").value.trim().toLowerCase();
  const runs = shownRuns(), outcomes = [...chosenOutcomes()], strata = chosenStrata();
  const fits = (answer, outcome) => (outcome === "failure" ? isFailure(answer) : answer && answer[OUTCOME] === Number(outcome));
  const differs = (entry) => new Set(runs.map((run) => answerOf(entry, run)).filter(Boolean).map((answer) => answer[OUTCOME])).size > 1;
  return (entry) => outcomes.every(([run, outcome]) => fits(answerOf(entry, run), outcome)) && (!differ || differs(entry)) && strata.every(([name, value]) => {
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
  $("unknown").hidden = true;
  if (at < 0) {
    shown = null;
    rows.append(make("p", "none-found", "No item fits these filters."));
    list.removeAttribute("aria-activedescendant");
    detail.replaceChildren();
    tell();
    return;
  }
  select(at);
}

/** Puts what is shown into the address, once something was chosen: a page that was just opened keeps its own. */
function tell() {
  if (!addressed) return;
  const [task] = about.sections[currentSection];
  history.replaceState(null, "", writeAddress({
    task,
    item: shown ? shown.item[ID] : "",
    runs: shownRuns(),
    outcomes: chosenOutcomes(),
    differ: $("differ").getAttribute("aria-pressed") === "true",
    strata: chosenStrata(),
    find: $("find").value.trim(),
  }));
}

/** Shows what an address says; what this page does not have is passed over, and a note says which item that is. */
function goTo(said) {
  let section = about.sections.findIndex(([name]) => name === said.task);
  if (section < 0 && said.item) section = about.sections.findIndex((_, place) => itemsOf(place).some(({ item }) => item[ID] === said.item));
  openSection(Math.max(0, section));
  const runs = [...$("run").options].map((option) => Number(option.value));
  const looked = said.runs.filter((run) => runs.includes(run));
  if (looked.length) $("run").value = String(looked[0]);
  for (const toggle of document.querySelectorAll("#outcomes button")) {
    toggle.setAttribute("aria-pressed", String(!looked.length || looked.includes(Number(toggle.value)) || said.outcomes.has(Number(toggle.value))));
  }
  for (const select of document.querySelectorAll("[data-outcome]")) select.value = said.outcomes.get(Number(select.dataset.outcome)) || "";
  for (const select of document.querySelectorAll("[data-stratum]")) {
    select.value = said.strata.get(select.dataset.stratum) || "";
    if (select.selectedIndex < 0) select.value = ""; // The page has no item of that stratum.
  }
  $("differ").setAttribute("aria-pressed", String(said.differ));
  $("find").value = said.find;
  filter();
  const wanted = said.item && entries.find(({ item }) => item[ID] === said.item);
  if (wanted) jump(0, wanted.item);
  $("unknown").hidden = !said.item || Boolean(wanted);
  $("unknown").textContent = said.item && !wanted ? `This page has no item ${said.item}.` : "";
  $("items").scrollIntoView();
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
  const marks = makeMarks(entry, shownRuns());
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
  show(found[place]);
}

function show(entry) {
  shown = entry;
  showItem(entry, shownRuns(), jump);
  tell();
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
  else show(entries.find((entry) => entry.item === item));
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
  const videos = [...detail.querySelectorAll("video")];
  const playing = videos.some((video) => !video.paused);
  for (const video of videos) {
    if (playing) video.pause();
    else video.play();
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
  addressed = true;
  act();
}

function start() {
  choose($("task"), about.sections.map(([name], place) => [place, name]));
  const said = readAddress(location.hash);
  if (said) goTo(said);
  else {
    openSection(0);
    filter();
  }
  for (const event of ["change", "input", "click", "keydown"]) {
    $("items").addEventListener(event, () => { addressed = true; }, { capture: true });
  }
  addressed = Boolean(said);
  addEventListener("hashchange", () => {
    const next = readAddress(location.hash);
    if (next) goTo(next);
  });
  $("task").addEventListener("change", () => { openSection(Number($("task").value)); filter(); });
  $("run").addEventListener("change", () => {
    document.querySelector(`#outcomes button[value="${focusRun()}"]`).setAttribute("aria-pressed", "true");
    filter();
  });
  $("differ").addEventListener("click", () => {
    $("differ").setAttribute("aria-pressed", String($("differ").getAttribute("aria-pressed") !== "true"));
    filter();
  });
  $("find").addEventListener("input", filter);
  list.addEventListener("scroll", () => requestAnimationFrame(drawRows), { passive: true });
  addEventListener("resize", drawRows);
  document.addEventListener("keydown", pressed);
  performance.mark("items-shown");
}

let started = false;
function startOnce() {
  if (started) return;
  started = true;
  start();
}

// The page is painted before the first block of items is read; in a tab that is not in sight, nothing is ever painted.
requestAnimationFrame(() => setTimeout(startOnce, 0));
setTimeout(startOnce, 1000);

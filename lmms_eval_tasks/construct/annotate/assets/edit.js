// Timed descriptions, alone or as the evidence of a question, beside the clip in which what they describe is outlined.

// Okabe and Ito's colours, which people with any colour vision tell apart.
const HUES = ["#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
const CLOCK = /^[0-9]{2,3}:[0-5][0-9]$/;
const SVG = "http://www.w3.org/2000/svg";

const secondsOfClock = (text) => {
  const [minutes, seconds] = text.split(":").map(Number);
  return 60 * minutes + seconds;
};

/** What is wrong with an entry, or nothing. */
function faultOf({ name, start, end, text, skipped }, length) {
  if (!name.trim()) return "Say who or what it is.";
  if (skipped) return "";
  if (!CLOCK.test(start) || !CLOCK.test(end)) return "Write times as MM:SS.";
  if (secondsOfClock(end) < secondsOfClock(start)) return "The end is before the start.";
  if (secondsOfClock(end) > length) return "The end is after the clip's.";
  return text.trim() ? "" : "Say what happens.";
}

/** What is there to be put right, as it was left where it is not yet confirmed. */
function draftOf(item) {
  const entries = item.entries.map(({ boxes, ...entry }, from) => ({ ...entry, from, skipped: false }));
  const texts = { question: item.question, options: item.choices.map(([, , text]) => text), comment: "", discarded: false };
  return (state.drafts[item.place] ||= { entries, ...(revises ? texts : {}) });
}

const revises = about.form === "revision";

/** The fields of an item's entries, and of its question where that is revised, too. */
function showEntries(item, form) {
  const video = document.querySelector("#clips video");
  const length = () => (video && Number.isFinite(video.duration) ? Math.ceil(video.duration) : Infinity);
  const draft = draftOf(item);
  const { entries } = draft;
  const confirmed = make("input");
  Object.assign(confirmed, { type: "checkbox", id: "confirmed", checked: isAnswered(item) });
  let focused = 0;

  function values() {
    const kept = entries.filter((entry) => !entry.skipped).map(({ from, skipped, ...entry }) => entry);
    const skipped = [...new Set(entries.filter((entry) => entry.skipped).map(({ name }) => name))];
    const { question, options, comment, discarded } = draft;
    if (!revises) return { entries: kept, skipped };
    return { question, options, entries: kept, discarded, ...(comment.trim() ? { comment } : {}) };
  }

  function changed() {
    const faults = entries.map((entry) => faultOf(entry, length()));
    form.querySelectorAll(".entry").forEach((element, place) => {
      element.querySelector(".fault").textContent = faults[place];
    });
    const empty = revises && [draft.question, ...draft.options].some((text) => !text.trim());
    if (empty || faults.some(Boolean)) confirmed.checked = false;
    if (confirmed.checked) answer(item, values());
    else unanswer(item);
  }

  function makeField(entry, name, label, tag = "input") {
    const input = make(tag);
    if (tag === "input") input.type = "text";
    else input.rows = 2;
    input.value = entry[name];
    input.className = name;
    input.addEventListener("input", () => { entry[name] = input.value; changed(); });
    return make("label", `field ${name}`, label, input);
  }

  function makeEntry(entry, place) {
    const show = make("button", "show", "Show");
    show.type = "button";
    show.addEventListener("click", () => {
      if (video && CLOCK.test(entry.start)) { video.pause(); video.currentTime = secondsOfClock(entry.start); }
    });
    const remove = make("button", "remove", "Remove");
    remove.type = "button";
    remove.addEventListener("click", () => { entries.splice(place, 1); fill(); changed(); draw(); form.focus(); });
    const fault = make("p", "fault", "");
    fault.setAttribute("role", "status");
    const skip = make("input");
    Object.assign(skip, { type: "checkbox", className: "skipped", checked: entry.skipped });
    // It is who or what that cannot be described, in all of its entries.
    skip.addEventListener("change", () => {
      for (const other of entries) if (other.name === entry.name) other.skipped = skip.checked;
      fill();
      changed();
    });
    const legend = make("legend", "", `Entry ${place + 1}`);
    const element = make("fieldset", "entry", legend, makeField(entry, "name", "Who or what"),
      makeField(entry, "start", "From"), makeField(entry, "end", "To"), show, remove,
      makeField(entry, "text", "What happens", "textarea"),
      ...(revises ? [] : [make("label", "skip-entry", skip, "Skip: too small or too blurred to be described")]), fault);
    for (const field of element.querySelectorAll(".start input, .end input, textarea")) field.disabled = entry.skipped;
    element.style.setProperty("--hue", hueOf(entry));
    element.addEventListener("focusin", () => { focused = place; draw(); });
    return element;
  }

  function fill() {
    const add = make("button", "", "Add an entry");
    add.type = "button";
    add.id = "add";
    add.addEventListener("click", () => {
      const before = entries.at(-1) || { name: "", start: "00:00", end: "00:00" };
      entries.push({ name: before.name, start: before.start, end: before.end, text: "", skipped: false });
      fill();
      changed();
      form.querySelector(".entry:last-of-type input").focus();
    });
    const head = revises ? makeTexts() : [make("p", "muted", item.question)];
    const stands = make("span", "", revises ? "This is my revision." : "These entries are right as they stand.");
    form.replaceChildren(...head, ...entries.map(makeEntry), add, ...(revises ? makeEnd() : []),
      make("label", "choice", confirmed, stands));
  }

  function makeText(label, value, write) {
    const area = make("textarea");
    Object.assign(area, { rows: 2, value });
    area.addEventListener("input", () => { write(area.value); changed(); });
    return make("label", "field", label, area);
  }

  /** The question and its options, the key marked. */
  const makeTexts = () => [
    makeText("Question", draft.question, (text) => { draft.question = text; }),
    ...item.choices.map(([choice, letter], place) => makeText(
      choice === item.key ? `${letter}, the key` : letter, draft.options[place], (text) => { draft.options[place] = text; },
    )),
    make("p", "muted", "Its evidence:"),
  ];

  function makeEnd() {
    const discard = make("input");
    Object.assign(discard, { type: "checkbox", id: "discard", checked: draft.discarded });
    discard.addEventListener("change", () => { draft.discarded = discard.checked; changed(); });
    return [makeText("Comment", draft.comment, (text) => { draft.comment = text; }),
      make("label", "choice", discard, make("span", "", "Discard this question."))];
  }

  /** An entry that was added describes what has no box, and has no colour. */
  const hueOf = ({ from }) => (from === undefined ? "var(--line)" : HUES[from % HUES.length]);

  /** Outlines what each entry describes at the clip's second, by the boxes that were given; the chosen one thick. */
  function draw() {
    const overlay = document.querySelector("#clips svg");
    if (!overlay) return;
    const second = Math.round(video.currentTime);
    overlay.replaceChildren(...entries.flatMap((entry, place) => {
      const box = item.entries[entry.from]?.boxes[second];
      if (!box) return [];
      const outline = document.createElementNS(SVG, "rect");
      const [left, top, right, bottom] = box.map((share) => 100 * share);
      const facts = { x: left, y: top, width: right - left, height: bottom - top, fill: "none",
        stroke: hueOf(entry), "stroke-width": place === focused ? 4 : 2, "vector-effect": "non-scaling-stroke" };
      for (const [name, value] of Object.entries(facts)) outline.setAttribute(name, value);
      return [outline];
    }));
  }

  if (video) outlineOver(video, draw);
  confirmed.addEventListener("change", changed);
  fill();
  return { keys: [["Ctrl+Enter", "next"]], press: () => false };
}

/** Lays an empty drawing over a clip, and draws whenever its time changes. */
function outlineOver(video, draw) {
  const overlay = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" })) {
    overlay.setAttribute(name, value);
  }
  const stage = make("div", "stage");
  video.before(stage);
  stage.append(video, overlay);
  const fit = () => { stage.style.width = `min(100%, ${(58 * video.videoWidth) / video.videoHeight}vh)`; };
  video.addEventListener("loadedmetadata", () => { fit(); draw(); });
  if (video.readyState) fit();
  for (const event of ["loadeddata", "seeked", "timeupdate"]) video.addEventListener(event, draw);
}

"use strict";
// The answers: kept in the browser through a reload, and written to a file as they go where the browser can.

const about = JSON.parse(document.getElementById("about").textContent);
const KEY = `lmms-eval-tasks:${about.plan}:${about.annotator}:${about.mode}`;
const FILE = `${about.annotator}-${about.mode}.json`;

/** Place of an item to what was answered, to entries not yet confirmed, to how often its clips were played, and to which
 * of them were seen to their end, by their number; where the annotator is; and the consent that was given to begin. */
const state = { answers: {}, drafts: {}, plays: {}, seen: {}, at: 0, began: null };
let kept = true;
try {
  Object.assign(state, JSON.parse(localStorage.getItem(KEY) || "{}"));
} catch {
  // Nothing that can be read is kept; whether anything can be is seen when it is.
}

let handle = null;
let writing = Promise.resolve();

/** The items whose answers count. */
const counted = about.items.filter((item) => !item.practice);

/** The answers as the file has them. */
function answersText() {
  const answers = counted.filter(({ place }) => place in state.answers).map(({ place }) => ({
    place, plays: state.plays[place] || 0, ...state.answers[place],
  }));
  const consent = state.began ? { consent: state.began } : {};
  const file = { plan: about.plan, annotator: about.annotator, mode: about.mode, ...consent, answers };
  return `${JSON.stringify(file, null, 1)}\n`;
}

const report = (text) => { document.getElementById("saved").textContent = text; };

/** Keeps what has changed: in the browser, and in the file once one was chosen. */
function keep() {
  try {
    localStorage.setItem(KEY, JSON.stringify(state));
    kept = true;
  } catch {
    kept = false;
  }
  if (!handle) {
    report(kept ? "Kept in this browser." : "This browser keeps nothing: save to a file, or download.");
    return;
  }
  const text = answersText();
  writing = writing.then(async () => {
    const file = await handle.createWritable();
    await file.write(text);
    await file.close();
    report(`Saved to ${handle.name}.`);
  }).catch(() => report("The file cannot be written: download the answers."));
}

function download() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([answersText()], { type: "application/json" }));
  link.download = FILE;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  report(`Downloaded as ${FILE}.`);
}

async function chooseFile() {
  try {
    handle = await showSaveFilePicker({
      suggestedName: FILE, types: [{ description: "Answers", accept: { "application/json": [".json"] } }],
    });
    keep();
  } catch (error) {
    if (error.name !== "AbortError") report("No file can be chosen here: download the answers.");
  }
}

const saveButton = document.getElementById("save");
saveButton.hidden = !("showSaveFilePicker" in window);
saveButton.addEventListener("click", chooseFile);
document.getElementById("download").addEventListener("click", download);

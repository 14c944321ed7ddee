// The page: one item at a time, forward and back, by buttons and by keys.

const area = document.getElementById("clips");
const form = document.getElementById("form");
const [back, next] = [document.getElementById("back"), document.getElementById("next")];
const FORMS = {
  choice: showChoices, ratings: showRatings, review: showReview, descriptions: showEntries, revision: showEntries,
};
let asked = null;

function showProgress() {
  const done = counted.filter(isAnswered).length;
  const all = counted.length;
  const item = state.began === null ? null : about.items[state.at];
  const where = !item ? "" : item.practice ? "Practice. " : `Question ${counted.indexOf(item) + 1} of ${all}. `;
  const end = done === all ? "All are answered: hand in the file with your answers." : `${done} of ${all} answered.`;
  document.getElementById("progress").textContent = where + end;
  Object.assign(document.getElementById("share"), { value: done, max: all });
  back.disabled = state.at === 0;
  next.disabled = !item || !isAnswered(item);
}

function show(at) {
  state.at = Math.min(Math.max(0, at), about.items.length);
  const item = about.items[state.at];
  showScreen(item);
  if (!item) return;
  shownAt = performance.now();
  document.querySelector(".item").classList.toggle("alone", item.clips.length === 0 && !item.pictures);
  showClips(item, area);
  asked = FORMS[about.form](item, form);
  const keys = [...asked.keys, ...(FORMS[about.form] === showEntries ? [] : [["Enter", "next"]]), ["Shift+Enter", "back"], ["Space", "play"]];
  document.getElementById("keys").replaceChildren(...keys.flatMap(([key, what]) => [make("kbd", "", key), ` ${what}`]));
  showProgress();
  keep();
}

function move(step) {
  const button = step > 0 ? next : back;
  if (button.disabled) return;
  show(state.at + step);
  form.focus({ preventScroll: true });
}

back.addEventListener("click", () => move(-1));
next.addEventListener("click", () => move(1));
form.addEventListener("submit", (event) => event.preventDefault());
area.addEventListener("played", () => {
  const fieldset = form.querySelector("fieldset");
  if (fieldset) fieldset.disabled = !isSeen(about.items[state.at]);
});

/** Space plays or pauses, unless a button or a field that is not chosen has the focus, which it presses. */
function pressPlay(event) {
  if (event.target.matches("button, video, input[type=checkbox], input:not(:checked)")) return false;
  const button = document.getElementById("play");
  const video = area.querySelector("video");
  if (button) button.click();
  else if (video) video.paused ? video.play() : video.pause();
  return Boolean(button || video);
}

document.addEventListener("keydown", (event) => {
  if (state.began === null) return;
  const writes = event.target.matches("textarea, select, input:not([type=radio]):not([type=checkbox])");
  if (event.altKey || event.metaKey || (writes && !(event.ctrlKey && event.key === "Enter"))) return;
  let used = false;
  if (event.key === "Enter") {
    if (event.target.closest("button")) return;
    // A form may have a step of its own before the next item.
    if (event.shiftKey || event.ctrlKey || !about.items[state.at] || !asked.press("Enter")) move(event.shiftKey ? -1 : 1);
    used = true;
  } else if (event.ctrlKey) {
    return;
  } else if (event.key === " ") {
    used = pressPlay(event);
  } else {
    used = Boolean(about.items[state.at]) && asked.press(event.key);
  }
  if (used) event.preventDefault();
});

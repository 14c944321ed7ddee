// What is asked of an item: the fields, and the keys that fill them.

let shownAt = 0;

/** Seconds for which the shown item has been in sight, those of earlier times included. */
function secondsOf(item) {
  const before = state.answers[item.place]?.seconds || state.drafts[item.place]?.seconds || 0;
  const seconds = before + (performance.now() - shownAt) / 1000;
  shownAt = performance.now();
  return Math.round(1000 * seconds) / 1000;
}

function unanswer(item) {
  delete state.answers[item.place];
  keep();
  showProgress();
}

function answer(item, values) {
  state.answers[item.place] = { ...values, seconds: secondsOf(item) };
  keep();
  showProgress();
}

/** The field of an answer that is written; Enter goes on from it. */
function makeWritten(chosen, choose) {
  const input = make("input", "written");
  Object.assign(input, { type: "text", value: chosen || "", autocomplete: "off" });
  input.setAttribute("aria-label", "Your answer");
  input.addEventListener("input", () => choose(input.value.trim()));
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.ctrlKey) return;
    event.preventDefault();
    (document.getElementById("reveal") || next).click();
  });
  return input;
}

/** The fields of an item's choices, or the one that the answer is written in. */
function makeChoices(item, chosen, choose) {
  if (item.choices.length === 0) return [makeWritten(chosen, choose)];
  return item.choices.map(([choice, letter, text], place) => {
    const input = make("input");
    Object.assign(input, { type: "radio", name: "choice", value: choice, checked: choice === chosen });
    input.addEventListener("change", () => choose(choice));
    const key = make("kbd", "", letter || String(place + 1));
    key.setAttribute("aria-hidden", "true");
    return make("label", "choice", input, key, make("span", "", text));
  });
}

/** The keys that choose, as they are shown; none where the answer is written. */
function keysOf(item) {
  const keys = item.choices.map(([, letter], place) => letter || String(place + 1));
  return keys.length ? [[`${keys[0]}–${keys.at(-1)}`, "choose"]] : [];
}

/** One of several choices. */
function showChoices(item, form) {
  const fields = makeChoices(item, state.answers[item.place]?.choice, (choice) => {
    if (choice) answer(item, { choice });
    else unanswer(item);
  });
  const fieldset = make("fieldset", "", make("legend", "", item.question), ...fields);
  form.replaceChildren(fieldset);
  // Nobody can tell which of several clips it is before having seen them.
  fieldset.disabled = item.replays !== null && !isSeen(item);
  return { keys: keysOf(item), press: (key) => pressChoice(item, form, key) };
}

function pressChoice(item, form, key) {
  const place = item.choices.findIndex(([, letter], at) => key.toUpperCase() === letter || key === String(at + 1));
  const input = form.querySelectorAll("input[type=radio]")[place];
  if (!input || input.matches(":disabled")) return false;
  input.focus();
  input.click();
  return true;
}

/** A choice on each of several scales. */
function showRatings(item, form) {
  const ratings = { ...(state.answers[item.place]?.ratings || state.drafts[item.place]) };
  const scales = about.scales.map(([name, question, choices], number) => {
    const fields = choices.map(([value, text]) => {
      const input = make("input");
      Object.assign(input, { type: "radio", name, value, checked: ratings[name] === value });
      input.addEventListener("change", () => {
        ratings[name] = value;
        state.drafts[item.place] = ratings;
        if (Object.keys(ratings).length === about.scales.length) answer(item, { ratings });
        else keep();
      });
      return make("label", "choice", input, make("kbd", "", value[0]), make("span", "", text));
    });
    return make("fieldset", number ? "scale" : "", make("legend", "", question), ...fields);
  });
  form.replaceChildren(make("p", "asked", item.question), ...(item.text ? [make("blockquote", "judged", item.text)] : []), ...scales);
  /** The key of a choice makes it on the first scale that has none, or on the last. */
  const press = (key) => {
    const open = scales.find((scale) => !scale.querySelector(":checked")) || scales.at(-1);
    const input = [...open.querySelectorAll("input")].find((one) => one.value[0].toLowerCase() === key.toLowerCase());
    if (input) input.click();
    return Boolean(input);
  };
  return { keys: [], press };
}

const isAnswered = (item) => Boolean(state.answers[item.place]);

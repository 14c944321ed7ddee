// What is asked of an item: the fields, and the keys that fill them.

let shownAt = 0;

/** Seconds for which the shown item has been in sight, those of earlier times included. */
function secondsOf(item) {
  const before = state.answers[item.place]?.seconds || 0;
  const seconds = before + (performance.now() - shownAt) / 1000;
  shownAt = performance.now();
  return Math.round(1000 * seconds) / 1000;
}

function answer(item, values) {
  state.answers[item.place] = { ...values, seconds: secondsOf(item) };
  keep();
  showProgress();
}

/** One of several choices. */
function showChoices(item, form) {
  const chosen = state.answers[item.place]?.choice;
  const fields = item.choices.map(([choice, letter, text], place) => {
    const input = make("input");
    Object.assign(input, { type: "radio", name: "choice", value: choice, checked: choice === chosen });
    input.addEventListener("change", () => answer(item, { choice }));
    const key = make("kbd", "", letter || String(place + 1));
    key.setAttribute("aria-hidden", "true");
    return make("label", "choice", input, key, make("span", "", text));
  });
  const fieldset = make("fieldset", "", make("legend", "", item.question), ...fields);
  form.replaceChildren(fieldset);
  // Nobody can tell which of several clips it is before having seen them.
  fieldset.disabled = item.replays !== null && !isSeen(item);
  const keys = [...item.choices.keys()].map((place) => item.choices[place][1] || String(place + 1));
  return { keys: [[`${keys[0]}–${keys.at(-1)}`, "choose"]], press: (key) => pressChoice(item, form, key) };
}

function pressChoice(item, form, key) {
  const place = item.choices.findIndex(([, letter], at) => key.toUpperCase() === letter || key === String(at + 1));
  const input = form.querySelectorAll("input[type=radio]")[place];
  if (!input || input.matches(":disabled")) return false;
  input.focus();
  input.click();
  return true;
}

const FINE = "n";

/** What is wrong with a question, whose key is in sight. */
function showReview(item, form) {
  const given = state.answers[item.place];
  const options = item.choices.map(([choice, letter, text]) => {
    const option = make("li", choice === item.key ? "key" : "", make("kbd", "", letter), ` ${text}`);
    if (choice === item.key) option.append(make("b", "", " the key"));
    return option;
  });
  const comment = make("textarea");
  Object.assign(comment, { rows: 2, value: given?.comment || "" });
  const boxes = [[FINE, "keep", "Nothing is wrong."], ...about.flags].map(([flag, decision, text]) => {
    const input = make("input");
    const checked = flag === FINE ? given?.flags.length === 0 : given?.flags.includes(flag);
    Object.assign(input, { type: "checkbox", name: "flag", value: flag, checked: Boolean(checked) });
    input.addEventListener("change", () => change(flag));
    return make("label", "choice", input, make("kbd", "", flag), make("span", "", text, make("small", "", ` ${decision}`)));
  });
  const inputs = () => [...form.querySelectorAll("input[name=flag]")];
  /** Nothing is wrong, or something is: the last choice counts. */
  function change(flag) {
    for (const input of inputs()) if ((input.value === FINE) !== (flag === FINE)) input.checked = false;
    const chosen = inputs().filter((input) => input.checked).map((input) => input.value);
    if (chosen.length) {
      answer(item, { flags: chosen.filter((one) => one !== FINE), comment: comment.value });
    } else {
      delete state.answers[item.place];
      keep();
      showProgress();
    }
  }
  comment.addEventListener("input", () => {
    if (isAnswered(item)) answer(item, { flags: state.answers[item.place].flags, comment: comment.value });
  });
  form.replaceChildren(make("fieldset", "", make("legend", "", item.question), make("ul", "options", ...options), ...boxes,
    make("label", "comment", "Comment", comment)));
  const press = (key) => {
    const input = inputs().find((one) => one.value === key.toLowerCase());
    if (input) input.click();
    return Boolean(input);
  };
  return { keys: [["a–f", "flag"], [FINE, "nothing wrong"]], press };
}

const isAnswered = (item) => Boolean(state.answers[item.place]);

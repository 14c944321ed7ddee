// A review: the reviewer's own choice, then the key, then what is wrong.

const FINE = "n";

/** What is asked first: the question as anybody is asked it. The key comes once a choice is made, and it then stays. */
function showReview(item, form) {
  const draft = (state.drafts[item.place] ||= {});
  if (draft.tried) return showFindings(item, form, draft);
  const reveal = make("button", "main", "Show the key");
  Object.assign(reveal, { type: "button", id: "reveal", disabled: !draft.choice });
  const fields = makeChoices(item, draft.choice, (choice) => {
    draft.choice = choice;
    reveal.disabled = !choice;
    keep();
  });
  reveal.addEventListener("click", () => {
    Object.assign(draft, { tried: true, seconds: secondsOf(item), flags: null, kind: "", start: "", end: "", comment: "" });
    show(state.at);
    form.focus({ preventScroll: true });
  });
  form.replaceChildren(make("fieldset", "", make("legend", "", item.question), ...fields), reveal);
  const press = (key) => {
    if (key !== "Enter") return pressChoice(item, form, key);
    if (!reveal.disabled) reveal.click();
    return true;
  };
  return { keys: keysOf(item), press };
}

/** What is wrong with a question, whose key is in sight. */
function showFindings(item, form, draft) {
  const options = item.choices.map(([choice, letter, text]) => {
    const option = make("li", choice === item.key ? "key" : "", make("kbd", "", letter), ` ${text}`);
    if (choice === item.key) option.append(make("b", "", " the key"));
    if (choice === draft.choice) option.append(make("em", "", " your choice"));
    return option;
  });
  if (item.choices.length === 0) {
    options.push(make("li", "key", item.key, make("b", "", " the key")), make("li", "", draft.choice, make("em", "", " your answer")));
  }
  const note = item.key ? null : make("p", "muted", "The key is withheld.");
  const fault = make("p", "fault", "");
  fault.setAttribute("role", "status");

  const kind = make("select");
  const kinds = about.kinds.filter((name) => name !== item.kind);
  kind.append(make("option", "", ""), ...kinds.map((name) => make("option", "", name)));
  Object.assign(kind, { value: draft.kind, id: "kind" });
  kind.addEventListener("change", () => { draft.kind = kind.value; changed(); });

  const boxes = [[FINE, "keep", "Nothing is wrong.", false], ...about.flags].map(([flag, decision, text, asksKind]) => {
    const input = make("input");
    const checked = flag === FINE ? draft.flags?.length === 0 : draft.flags?.includes(flag);
    Object.assign(input, { type: "checkbox", name: "flag", value: flag, checked: Boolean(checked) });
    input.addEventListener("change", () => change(flag));
    const more = asksKind ? make("label", "kind", ` It is ${item.kind || "not known"} here; it should be `, kind) : null;
    return make("div", "", make("label", "choice", input, make("kbd", "", flag),
      make("span", "", text, make("small", "", ` ${decision}`))), more);
  });
  const inputs = () => [...form.querySelectorAll("input[name=flag]")];

  function makeText(name, label, tag = "input") {
    const input = make(tag);
    if (tag === "input") input.type = "text";
    else input.rows = 2;
    Object.assign(input, { value: draft[name], className: name });
    input.addEventListener("input", () => { draft[name] = input.value; changed(); });
    return make("label", `field ${name}`, label, input);
  }

  /** Nothing is wrong, or something is: the last choice counts. */
  function change(flag) {
    for (const input of inputs()) if ((input.value === FINE) !== (flag === FINE)) input.checked = false;
    const chosen = inputs().filter((input) => input.checked).map((input) => input.value);
    draft.flags = chosen.length ? chosen.filter((one) => one !== FINE) : null;
    changed();
  }

  function faultOfReview(asksKind) {
    const times = [draft.start, draft.end].filter((text) => text.trim()).map(Number);
    if (times.some((time) => !Number.isFinite(time))) return "Write times as seconds, such as -1.5.";
    if (times.length === 2 && times[0] >= times[1]) return "The end is before the start.";
    return asksKind && !draft.kind ? "Say which type it is." : "";
  }

  function changed() {
    const asksKind = about.flags.some(([flag, , , asks]) => asks && draft.flags?.includes(flag));
    kind.parentElement?.toggleAttribute("hidden", !asksKind);
    fault.textContent = draft.flags ? faultOfReview(asksKind) : "";
    if (!draft.flags || fault.textContent) {
      unanswer(item);
      return;
    }
    const values = { choice: draft.choice, flags: draft.flags };
    if (asksKind) values.kind = draft.kind;
    for (const name of ["start", "end"]) if (draft[name].trim()) values[name] = Number(draft[name]);
    if (draft.comment.trim()) values.comment = draft.comment;
    answer(item, values);
  }

  const times = about.retimed
    ? make("div", "times", make("p", "muted", "Where the clip should begin and end, if otherwise, in seconds of it; "
      + "below 0 is before it."), makeText("start", "Begin"), makeText("end", "End"))
    : null;
  form.replaceChildren(make("fieldset", "", make("legend", "", item.question), make("ul", "options", ...options),
    ...[note, ...boxes, times].filter(Boolean), makeText("comment", "Comment", "textarea"), fault));
  changed();
  const press = (key) => {
    const input = inputs().find((one) => one.value === key.toLowerCase());
    if (input) input.click();
    return Boolean(input);
  };
  return { keys: [[about.flags.map(([flag]) => flag).join(" "), "flag"], [FINE, "nothing wrong"]], press };
}

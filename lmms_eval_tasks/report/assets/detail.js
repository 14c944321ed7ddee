// One item: its clips beside question, options, key, and what each run answered.

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const detail = document.getElementById("detail");

/** An item with what some runs answered, the chosen one first. */
function showItem(entry, shownRuns, jump) {
  const { item, block } = entry;
  const [run] = shownRuns, runs = block.runs.filter((one) => shownRuns.includes(one));
  const answer = answerOf(entry, run);
  const parts = [makeHead(entry, jump), makeTags(entry)];
  const several = item[CLIPS].length > 1;
  const clips = item[CLIPS].map((clip) => makeClip(clip, several));
  const left = make("div", "", make("div", "clips", ...clips.map((clip) => clip.figure)));
  if (!clips.length) left.append(make("p", "note", "No clip is at hand for this item."));
  const lanes = numberLanes(item, answer);
  if (lanes.length) {
    const video = clips.length ? clips[0].video : null;
    const timeline = makeTimeline(lanes, video);
    left.append(timeline.element);
    if (video && item[FRAME]) followEvidence(video, clips[0].stage, item[FRAME], lanes, timeline);
    left.append(make("p", "note", "Boxes: true ones solid, predicted ones dashed; what was matched shares number and colour, ? matches nothing."));
  }
  const curves = runs.map((one) => makeCurves(entry, one)).filter(Boolean);
  if (curves.length) left.append(make("div", "curve-plots", ...curves));
  parts.push(make("div", several ? "look two" : "look", left, makeQuestion(entry, runs)));
  const graph = makeGraph(entry, runs, clips.length ? clips[0].video : null);
  if (graph) parts.push(graph);
  parts.push(make("div", "answers", ...runs.map((one) => makeAnswer(entry, one, one === run))));
  const pair = makePair(entry, runs, jump);
  if (pair) parts.push(pair);
  detail.replaceChildren(...parts);
}

function makeHead(entry, jump) {
  const back = make("button", "", "← previous");
  const next = make("button", "", "next →");
  back.addEventListener("click", () => jump(-1));
  next.addEventListener("click", () => jump(1));
  const copy = make("button", "copy", "copy link");
  copy.title = "Copy the address of this item with these runs and filters";
  copy.addEventListener("click", () => copyAddress(copy));
  return make("div", "head", make("h3", "", entry.item[ID]), make("div", "step", copy, back, next));
}

/** Copies the page's address; where the browser does not let it, shows the address for copying by hand. */
async function copyAddress(button) {
  tell();
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy link"; }, 1500);
  } catch {
    const field = make("input", "address");
    Object.assign(field, { readOnly: true, value: location.href });
    field.setAttribute("aria-label", "The address of this item");
    button.replaceWith(field);
    field.select();
  }
}

function makeTags({ item, block }) {
  const strata = block.strata.map(([name, known], at) => [name, known[item[STRATA][at]]]).filter(([, value]) => value);
  const values = strata.map(([name, value]) => make("span", "", `${plain(name)}: ${plain(value)}`));
  return make("div", "tags", make("span", "", block.task), ...values);
}

function makeQuestion(entry, runs) {
  const { item, block } = entry;
  const fromLog = Boolean(block.note) && !item[OPTIONS].length;
  const question = make("p", `question${fromLog ? " prompt" : ""}`, block.strings[item[QUESTION]] || "The question is not at hand.");
  const right = make("div", "", question);
  if (item[OPTIONS].length) {
    right.append(make("ul", "options", ...item[OPTIONS].map((place, at) => {
      const letter = LETTERS[at];
      const who = make("span", "who", item[KEY] === letter ? "key" : null);
      for (const run of runs) {
        const answer = answerOf(entry, run);
        if (answer && answer[ANSWERED] === letter) {
          who.append(badge(run));
        }
      }
      return make("li", item[KEY] === letter ? "key" : "", make("span", "letter", letter), make("span", "", block.strings[place]), who);
    })));
  }
  const known = item[KEY] && !(item[OPTIONS].length && LETTERS.includes(item[KEY]));
  if (known || !item[KEY]) right.append(make("p", "truth", item[KEY] ? `True: ${item[KEY]}` : "The key is withheld or missing: not scored."));
  return right;
}

function makeAnswer(entry, run, focus) {
  const answer = answerOf(entry, run);
  const said = make("div", "said", badge(run), make("strong", "", about.runs[run][1]));
  const box = ofRun(run, make("section", `answer${focus ? " focus" : ""}`, said));
  if (!answer) {
    said.append(make("span", "muted", "has no such item"));
    return box;
  }
  const outcome = about.outcomes[answer[OUTCOME]];
  said.append(make("span", `pill ${outcome}`, outcome));
  const read = answer[ANSWERED];
  said.append(make("span", "muted", read === null ? "nothing read as an answer" : `read as ${read.length > 80 ? `${read.slice(0, 80)}…` : read}`));
  if (answer[FACTS]) {
    box.append(make("dl", "", ...Object.entries(answer[FACTS]).flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)])));
  }
  box.append(make("pre", "", answer[RESPONSE] < 0 ? "The sample log holds no response." : entry.block.strings[answer[RESPONSE]] || "(empty)"));
  box.querySelector("pre").tabIndex = 0;
  return box;
}

/** How each run did on an item: a mark with its number, in its hue and coloured by the outcome. */
function makeMarks(entry, runs) {
  return make("span", "marks", ...entry.block.runs.filter((run) => runs.includes(run)).map((run) => {
    const answer = answerOf(entry, run);
    const mark = ofRun(run, make("span", answer ? `mark ${about.outcomes[answer[OUTCOME]]}` : "mark absent", answer ? about.runs[run][0] : ""));
    if (answer) mark.title = `${about.runs[run][0]} ${about.runs[run][1]}: ${about.outcomes[answer[OUTCOME]]}`;
    mark.setAttribute("aria-label", mark.title);
    return mark;
  }));
}

// As many clips as a scene of IntPhys 2 has in all codings; of more items only the names are shown.
const MOST_CLIPS = 12, MOST_PLAYING = 4;

/** The items that count together: side by side, with their clips and questions where these differ. */
function makePair(entry, runs, jump) {
  const { item, block } = entry;
  const members = block.items.filter((other) => other[GROUP] === item[GROUP]);
  if (members.length < 2) return null;
  const differ = (value) => members.length <= MOST_CLIPS && new Set(members.map((one) => JSON.stringify(value(one)))).size > 1;
  const clipsDiffer = differ((one) => one[CLIPS].map(([place]) => place)), questionsDiffer = differ((one) => one[QUESTION]);
  const cards = members.map((other) => {
    const button = make("button", "", make("span", "id", other[ID]), makeMarks({ item: other, block }, runs));
    button.title = other[ID];
    button.setAttribute("aria-pressed", String(other === item));
    button.addEventListener("click", () => jump(0, other));
    const card = make("div", "member", button);
    if (clipsDiffer) {
      for (const { figure, video } of other[CLIPS].map((clip) => makeClip(clip, other[CLIPS].length > 1))) {
        if (video && members.length > MOST_PLAYING) Object.assign(video, { autoplay: false, preload: "metadata" });
        card.append(figure);
      }
    }
    if (questionsDiffer) card.append(make("p", "asked", block.strings[other[QUESTION]]));
    if (other[KEY]) card.append(make("p", "note", `True: ${other[KEY]}`));
    return card;
  });
  return make("div", "pair", make("span", "", "Counted together:"), make("div", "members", ...cards));
}

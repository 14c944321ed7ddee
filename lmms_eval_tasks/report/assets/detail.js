// One item: its clips beside question, options, key, and what each run answered.

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const detail = document.getElementById("detail");

function showItem(entry, run, jump) {
  const { item, block } = entry;
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
  parts.push(make("div", several ? "look two" : "look", left, makeQuestion(entry)));
  parts.push(make("div", "answers", ...block.runs.map((one) => makeAnswer(entry, one, one === run))));
  const pair = makePair(entry, run, jump);
  if (pair) parts.push(pair);
  detail.replaceChildren(...parts);
}

function makeHead(entry, jump) {
  const back = make("button", "", "← previous");
  const next = make("button", "", "next →");
  back.addEventListener("click", () => jump(-1));
  next.addEventListener("click", () => jump(1));
  return make("div", "head", make("h3", "", entry.item[ID]), make("div", "step", back, next));
}

function makeTags({ item, block }) {
  const values = block.strata.map(([name, known], at) => make("span", "", `${plain(name)}: ${plain(known[item[STRATA][at]])}`));
  return make("div", "tags", make("span", "", block.task), ...values);
}

function makeQuestion(entry) {
  const { item, block } = entry;
  const fromLog = Boolean(block.note) && !item[OPTIONS].length;
  const question = make("p", `question${fromLog ? " prompt" : ""}`, block.strings[item[QUESTION]] || "The question is not at hand.");
  const right = make("div", "", question);
  if (item[OPTIONS].length) {
    right.append(make("ul", "options", ...item[OPTIONS].map((place, at) => {
      const letter = LETTERS[at];
      const who = make("span", "who", item[KEY] === letter ? "key" : null);
      for (const run of block.runs) {
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

function makePair(entry, run, jump) {
  const { item, block } = entry;
  const members = block.items.filter((other) => other[GROUP] === item[GROUP]);
  if (members.length < 2) return null;
  const buttons = members.map((other) => {
    const answer = answerOf({ item: other, block }, run);
    const button = make("button", "", `${other[ID]} ${answer ? about.outcomes[answer[OUTCOME]] : "absent"}`);
    button.setAttribute("aria-pressed", String(other === item));
    button.addEventListener("click", () => jump(0, other));
    return button;
  });
  return make("div", "pair", `Counts together with${members.length > 2 ? " (same clip)" : ""}:`, ...buttons);
}

// What leads to what in a clip, by time from left to right, what a question asks of it, and what the runs claim.

/** An event in a block's graph: place of its label, seconds, whether it happens, left edge and lane. */
const LABEL = 0, TIME = 1, HAPPENS = 2, LEFT = 3, LANE = 4;
// The layout, which the page was written with, knows the width, too.
const EVENT = { width: 148, height: 58, apart: 82 }, EDGE = 12, CLAIM_APART = 44;

const clock = (seconds) => `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(1).padStart(4, "0")}`;

/** What a claim says and whether it is so, in words. */
function claimText(holds, right) {
  if (holds) return right ? "leads to it: right" : "leads to it: wrong, there is no such path";
  return right ? "does not lead to it: right" : "does not lead to it: wrong, a path is missed";
}

/** The graph of an item with what each run claims, or null where the item has none; a click on an event plays the clip from its time. */
function makeGraph({ item, block }, runs, video) {
  if (!item[GRAPH]) return null;
  const [place, asked, path] = item[GRAPH];
  const [events, links] = block.graphs[place];
  const label = (at) => block.strings[events[at][LABEL]];
  const onPath = new Set(path.map(String));
  const claims = runs.flatMap((run) => {
    const answer = answerOf({ item, block }, run);
    return answer && asked.length && answer[CLAIM] !== null ? [[run, ...asked, answer[CLAIM], answer[OUTCOME] === CORRECT]] : [];
  });
  const lanes = 1 + Math.max(0, ...events.map((event) => event[LANE]));
  const bottom = EDGE + lanes * EVENT.apart;
  const width = Math.max(0, ...events.map((event) => event[LEFT])) + EVENT.width + 2 * EDGE;
  const height = bottom + claims.length * CLAIM_APART;
  const left = (at) => EDGE + events[at][LEFT], top = (at) => EDGE + 14 + events[at][LANE] * EVENT.apart;
  const middle = (at) => left(at) + EVENT.width / 2;

  const drawn = makeSvg("svg", { class: "graph", width, height, viewBox: `0 0 ${width} ${height}`, role: "group" });
  drawn.setAttribute("aria-label", "What leads to what in the clip; the links are listed below");
  const tip = (id, size) => makeSvg("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: size, markerHeight: size, markerUnits: "userSpaceOnUse", orient: "auto" },
    makeSvg("path", { d: "M0 0 8 4 0 8z" }));
  drawn.append(makeSvg("defs", {}, tip("tip", 8), tip("tip-path", 13)));
  for (const [cause, effect] of links) {
    const [from, to] = [left(cause) + EVENT.width, left(effect)];
    const [y1, y2] = [top(cause) + EVENT.height / 2, top(effect) + EVENT.height / 2];
    const bend = Math.max(18, (to - from) / 2);
    const marked = onPath.has(String([cause, effect]));
    drawn.append(makeSvg("path", {
      class: marked ? "link on-path" : "link", "marker-end": `url(#${marked ? "tip-path" : "tip"})`,
      d: `M${from} ${y1}C${from + bend} ${y1} ${to - bend} ${y2} ${to - 2} ${y2}`,
    }));
  }
  claims.forEach(([run, cause, effect, holds, right], row) => {
    const y = bottom + row * CLAIM_APART + 28, [from, to] = [middle(cause), middle(effect)];
    const group = ofRun(run, makeSvg("g", { class: `claim${holds ? "" : " denies"}${right ? "" : " wrong"}` }));
    for (const at of [cause, effect]) group.append(makeSvg("line", { class: "guide", x1: middle(at), x2: middle(at), y1: top(at) + EVENT.height, y2: y }));
    group.append(makeSvg("path", { class: "between", d: `M${from} ${y}H${to}` }));
    for (const at of [cause, effect]) group.append(makeSvg("circle", { cx: middle(at), cy: y, r: 4 }));
    const words = makeSvg("text", { x: Math.min(from, to) + 8, y: y - 8 });
    words.textContent = `${right ? "✓" : "✗"} ${about.runs[run][0]}: ${claimText(holds, right)}`;
    group.append(words);
    drawn.append(group);
  });
  events.forEach((event, at) => drawn.append(makeEvent(event, label(at), left(at), top(at), asked.indexOf(at), video)));

  const shown = make("div", "graph-scroll", drawn);
  shown.tabIndex = 0;
  shown.setAttribute("role", "region");
  shown.setAttribute("aria-label", "The graph of the clip");
  const box = make("div", "event-graph", shown, makeKey(asked.length > 0, onPath.size > 0, claims.length > 0));
  const inWords = (cause, effect) => `${label(cause)} → ${label(effect)}`;
  box.append(make("details", "", make("summary", "", `The same in words: ${links.length} link${links.length === 1 ? "" : "s"}`),
    make("ul", "", ...links.map(([cause, effect]) => make("li", "", inWords(cause, effect), onPath.has(String([cause, effect])) ? " (on the question's path)" : null))),
    claims.length ? make("ul", "", ...claims.map(([run, cause, effect, holds, right]) => make("li", "", badge(run), ` ${inWords(cause, effect)}: ${claimText(holds, right)}`))) : null));
  // What is asked about is in sight, where the graph is wider than its place.
  if (asked.length) requestAnimationFrame(() => { shown.scrollLeft = Math.min(...asked.map(left)) - EDGE; });
  return box;
}

/** One event as a box; with a time and a clip it is a button. */
function makeEvent(event, text, x, y, role, video) {
  const seconds = event[TIME];
  const plays = video !== null && seconds !== null;
  const group = makeSvg("g", { class: ["event", event[HAPPENS] ? "" : "made-up", ["begins", "asked"][role] || "", plays ? "plays" : ""].filter(Boolean).join(" ") });
  const title = makeSvg("title", {});
  title.textContent = `${text}${seconds === null ? "" : `, at ${clock(seconds)}`}${event[HAPPENS] ? "" : ", which does not happen"}${plays ? ": plays the clip from here" : ""}`;
  group.append(title, makeSvg("rect", { x, y, width: EVENT.width, height: EVENT.height, rx: 7 }));
  const head = makeSvg("text", { class: "when", x: x + 2, y: y - 4 });
  head.textContent = [seconds === null ? "" : clock(seconds), ["left out", "asked about"][role] || "", event[HAPPENS] ? "" : "never happens"].filter(Boolean).join(" · ");
  const words = makeSvg("foreignObject", { x: x + 1, y: y + 1, width: EVENT.width - 2, height: EVENT.height - 2 }, make("div", "words", make("span", "", text)));
  group.append(head, words);
  if (plays) {
    const play = () => { video.currentTime = seconds; video.play(); };
    group.setAttribute("role", "button");
    group.setAttribute("tabindex", "0");
    group.addEventListener("click", play);
    group.addEventListener("keydown", (pressed) => {
      if (pressed.key !== "Enter" && pressed.key !== " ") return;
      pressed.preventDefault();
      pressed.stopPropagation();
      play();
    });
  }
  return group;
}

/** What the shapes of a graph mean. */
function makeKey(asks, hasPath, claimed) {
  const parts = ["Arrows: what leads to what, by time."];
  if (hasPath) parts.push("Thick arrows: the path from what is left out to what is asked about.");
  else if (asks) parts.push("No path leads from what is left out to what is asked about.");
  if (claimed) parts.push("Below: what runs say of these two; solid says that the one leads to the other, dashed that it does not, ✓ is right and ✗ wrong.");
  return make("p", "note", parts.join(" "));
}

// Curves of an answer, such as losses against timesteps, drawn small.

const CURVE = { width: 420, left: 58, right: 92, top: 12, high: 150, between: 22, low: 46, bottom: 42 };

/** Round numbers over a range: about `number` of them. */
function ticks(low, high, number) {
  const raw = (high - low) / number, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw);
  const found = [];
  for (let at = Math.ceil(low / step); at * step <= high * (1 + 1e-12); at += 1) found.push(Number((at * step).toPrecision(12)));
  return found;
}

/** The second of two curves less the first, where they have the same places and so can be told apart; else null. */
function differences(curves) {
  if (curves.length !== 2) return null;
  const [one, two] = curves, first = new Map(one.points);
  const points = two.points.filter(([x]) => first.has(x)).map(([x, y]) => [x, y - first.get(x)]);
  return points.length ? { points, names: [two.name, `less ${one.name}`] } : null;
}

/** Curves of a run's answer to an item; null where it has none. */
function makeCurves(entry, run) {
  const answer = answerOf(entry, run);
  if (!answer || !answer[CURVES]) return null;
  const [xTitle, yTitle, all] = answer[CURVES];
  const curves = all.map(([name, points], place) => ({ name, points, place })).filter(({ points }) => points.length);
  if (!curves.length) return null;
  const range = (values) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const spare = (high - low) * 0.06 || Math.abs(high) * 0.06 || 1;
    return [low - spare, high + spare];
  };
  const [x0, x1] = range(curves.flatMap(({ points }) => points.map(([x]) => x)));
  const [y0, y1] = range(curves.flatMap(({ points }) => points.map(([, y]) => y)));
  const { width, left, right, top, high, between, low, bottom } = CURVE;
  const apart = differences(curves);
  const end = top + high + (apart ? between + low : 0), height = end + bottom;
  const across = (x) => left + ((x - x0) / (x1 - x0)) * (width - left - right);
  const up = (y) => top + high - ((y - y0) / (y1 - y0)) * high;
  const drawn = makeSvg("svg", { class: "curves", viewBox: `0 0 ${width} ${height}`, role: "img" });
  drawn.setAttribute("aria-label", `${yTitle} against ${xTitle} of ${curves.map(({ name }) => name).join(" and ")}; the numbers are below`);
  const put = (className, at, text) => {
    const element = makeSvg("text", { class: className, ...at });
    element.textContent = text;
    drawn.append(element);
  };
  for (const y of ticks(y0, y1, 4)) {
    drawn.append(makeSvg("line", { class: "grid", x1: left, x2: width - right, y1: up(y), y2: up(y) }));
    put("tick", { x: left - 6, y: up(y) + 4, "text-anchor": "end" }, String(y));
  }
  if (apart) {
    const most = Math.max(...apart.points.map(([, y]) => Math.abs(y))) || 1, zero = end - low / 2;
    drawn.append(makeSvg("line", { class: "zero", x1: left, x2: width - right, y1: zero, y2: zero }));
    put("tick", { x: left - 6, y: zero + 4, "text-anchor": "end" }, "0");
    put("tick", { x: width - right + 6, y: zero - 4 }, apart.names[0]);
    put("tick", { x: width - right + 6, y: zero + 10 }, apart.names[1]);
    for (const [x, y] of apart.points) {
      const size = (Math.abs(y) / most) * (low / 2);
      const bar = makeSvg("rect", { class: y < 0 ? "apart below" : "apart", x: across(x) - 4, y: y < 0 ? zero : zero - size, width: 8, height: size });
      const title = makeSvg("title", {});
      title.textContent = `${apart.names.join(" ")}, ${x}: ${y.toPrecision(3)}`;
      bar.append(title);
      drawn.append(bar);
    }
  }
  for (const x of ticks(x0, x1, 5)) put("tick", { x: across(x), y: end + 16, "text-anchor": "middle" }, String(x));
  put("title", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, xTitle);
  put("title", { x: 12, y: top + high / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${top + high / 2})` }, yTitle);
  // Names are at the ends of their curves, the upper one above, and never on each other.
  const ends = curves.map(({ points, name, place }) => ({ name, place, y: up(points.at(-1)[1]) })).sort((one, other) => one.y - other.y);
  ends.forEach((end, at) => { if (at) end.y = Math.max(end.y, ends[at - 1].y + 15); });
  for (const { name, points, place } of curves) {
    const group = makeSvg("g", { class: `curve curve-${place % 3}` });
    group.append(makeSvg("polyline", { points: points.map(([x, y]) => `${across(x)},${up(y)}`).join(" ") }));
    for (const [x, y] of points) {
      const dot = place % 2 ? makeSvg("rect", { x: across(x) - 3, y: up(y) - 3, width: 6, height: 6 }) : makeSvg("circle", { cx: across(x), cy: up(y), r: 3.2 });
      const title = makeSvg("title", {});
      title.textContent = `${name}, ${x}: ${y}`;
      dot.append(title);
      group.append(dot);
    }
    const words = makeSvg("text", { x: width - right + 6, y: ends.find((one) => one.place === place).y + 4 });
    words.textContent = name;
    group.append(words);
    drawn.append(group);
  }
  const xs = [...new Set(curves.flatMap(({ points }) => points.map(([x]) => x)))].sort((one, other) => one - other);
  const known = curves.map(({ points }) => new Map(points));
  const table = make("table", "", make("thead", "", make("tr", "", make("th", "", xTitle), ...curves.map(({ name }) => make("th", "", name)))),
    make("tbody", "", ...xs.map((x) => make("tr", "", make("th", "", String(x)), ...known.map((one) => make("td", "", one.has(x) ? String(one.get(x)) : "–"))))));
  return ofRun(run, make("figure", "curve-plot", make("figcaption", "", badge(run), ` ${yTitle} of ${about.runs[run][1]}`), drawn,
    make("details", "", make("summary", "", "The numbers"), make("div", "scroll", table))));
}

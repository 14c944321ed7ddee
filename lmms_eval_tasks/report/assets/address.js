// The address of an item, a filter and a comparison: what is shown, as the part of the page's address after #.
//
//   #task=causalvqa_debug_paired&item=1_0&runs=1,2&outcome=1:correct,2:wrong&type=planning&find=ball
//
// Runs are named by their numbers, and the first of them is the chosen one; any name that is none of these is a stratum's.

const NAMES = ["task", "item", "runs", "outcome", "find"];

/** What an address says; null where it is that of a section, or empty. */
function readAddress(hash) {
  if (!hash.includes("=")) return null;
  const said = new URLSearchParams(hash.slice(1).replaceAll("+", "%2B"));
  const numbers = about.runs.map(([number]) => number);
  const run = (number) => numbers.indexOf(number);
  const outcomes = new Map();
  for (const part of (said.get("outcome") || "").split(",")) {
    const [number, name] = part.split(":");
    const outcome = outcomeOf(name);
    if (run(number) >= 0 && outcome) outcomes.set(run(number), outcome);
  }
  return {
    task: said.get("task"),
    item: said.get("item"),
    runs: (said.get("runs") || "").split(",").map(run).filter((place) => place >= 0),
    outcomes,
    differ: said.get("outcome") === "differ",
    strata: new Map([...said].filter(([name]) => !NAMES.includes(name))),
    find: said.get("find") || "",
  };
}

/** An outcome's value in a filter by its name; "right" is another word for "correct". */
function outcomeOf(name) {
  const place = about.outcomes.indexOf(name === "right" ? "correct" : name);
  return place >= 0 ? String(place) : name === "failure" ? name : "";
}

/** The address of what is shown; parts that choose nothing are left out. */
function writeAddress({ task, item, runs, outcomes, differ, strata, find }) {
  const number = (run) => about.runs[run][0];
  const chosen = [...outcomes].map(([run, outcome]) => `${number(run)}:${about.outcomes[outcome] || outcome}`);
  const parts = [
    ["task", task], ["item", item], ["runs", runs.map(number).join(",")],
    ["outcome", differ ? "differ" : chosen.join(",")], ...strata, ["find", find],
  ];
  const written = parts.filter(([, value]) => value).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return `#${written.join("&").replaceAll("%2C", ",").replaceAll("%3A", ":")}`;
}

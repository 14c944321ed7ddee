// What is sorted and filtered, and its address: the part of the page's address after #, such as
//
//   #sort=-pair_accuracy&view=blind&size=4B to 10B
//
// A column is named by its key, with a minus sign where the highest comes first; every other name is a filter's.

const form = document.getElementById("filters");
const selects = [...form.querySelectorAll("select")];
const tables = [...document.querySelectorAll(".of-table")];
const bodies = [...document.querySelectorAll("tbody.measured")].map((body) => ({ body, rows: [...body.rows] }));
const headings = [...document.querySelectorAll("th[data-key]")];
const numberOf = bodies.flatMap(({ body, rows }) => (body.closest(".of-table") ? rows : [])).length;
let sorted = "";

/** The place of a column in a row: a heading that spans two names the second. */
function columnOf(heading) {
  let place = -1;
  for (let one = heading; one; one = one.previousElementSibling) place += one.colSpan;
  return place;
}

/** Rows in a column's order, those without a value last; rows that are equal there stay as they were written. */
function inOrder(rows, column, falling) {
  const value = (row) => row.cells[column].dataset.value;
  const compare = (one, other) => {
    const numbers = [Number(one), Number(other)];
    return numbers.some(Number.isNaN) ? one.localeCompare(other, "en", { numeric: true }) : numbers[0] - numbers[1];
  };
  const known = rows.filter((row) => value(row) !== undefined);
  const others = rows.filter((row) => value(row) === undefined);
  return [...known.sort((one, other) => (falling ? -1 : 1) * compare(value(one), value(other))), ...others];
}

function sort() {
  const key = sorted.replace(/^-/, "");
  const falling = sorted.startsWith("-");
  for (const heading of headings) heading.removeAttribute("aria-sort");
  for (const { body, rows } of bodies) {
    const heading = [...body.parentElement.tHead.rows[0].cells].find((one) => one.dataset.key === key);
    if (heading) heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
    body.append(...(heading ? inOrder([...rows], columnOf(heading), falling) : rows));
  }
}

function filter() {
  const wanted = selects.filter((select) => select.value);
  const seen = new Set();
  let shown = 0;
  for (const table of tables) {
    const rows = [...table.querySelector("tbody.measured").rows];
    for (const row of rows) {
      row.hidden = !wanted.every((select) => row.dataset[select.name] === select.value);
      if (!row.hidden) seen.add(`${table.id} ${row.dataset.run}`);
    }
    const left = rows.filter((row) => !row.hidden).length;
    shown += left;
    table.hidden = !left;
    const note = `${left} of ${rows.length} runs are shown; ranks are those among all of them.`;
    table.querySelector(".shown").textContent = left < rows.length ? note : "";
  }
  filterOverview(seen);
  document.getElementById("count").textContent = `${shown} of ${numberOf} rows`;
}

/** Leave in the overview what is in the tables: `seen` has a table and a run's number for each row in sight. */
function filterOverview(seen) {
  const places = [...seen].map((one) => one.split(" "));
  const overview = document.getElementById("overview");
  for (const link of document.querySelectorAll("nav a")) link.hidden = !places.some(([table]) => `#${table}` === link.hash);
  if (!overview) return;
  for (const heading of overview.querySelectorAll("th[data-key^='in-']")) {
    heading.hidden = !places.some(([table]) => `in-${table}` === heading.dataset.key);
  }
  for (const row of overview.querySelector("tbody").rows) {
    row.hidden = !places.some(([, run]) => run === row.dataset.run);
    for (const cell of row.querySelectorAll("[data-table]")) {
      cell.hidden = !places.some(([table]) => table === cell.dataset.table);
      cell.classList.toggle("out", !seen.has(`${cell.dataset.table} ${row.dataset.run}`));
    }
  }
}

function writeAddress() {
  const chosen = selects.filter((select) => select.value).map((select) => [select.name, select.value]);
  const parts = [["sort", sorted], ...chosen].filter(([, value]) => value);
  const written = parts.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  history.replaceState(null, "", written ? `#${written}` : location.pathname + location.search);
}

/** Show what the page's address says; that of a table is left to the browser. */
function readAddress() {
  if (location.hash && !location.hash.includes("=")) return;
  const given = new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B"));
  const asked = given.get("sort") || "";
  sorted = headings.some((heading) => heading.dataset.key === asked.replace(/^-/, "")) ? asked : "";
  for (const select of selects) {
    const value = given.get(select.name);
    select.value = [...select.options].some((option) => option.value === value) ? value : "";
  }
  sort();
  filter();
}

for (const button of document.querySelectorAll("button[data-sort]")) {
  button.addEventListener("click", () => {
    const { sort: key, first } = button.dataset;
    const ways = first === "descending" ? [`-${key}`, key] : [key, `-${key}`];
    sorted = sorted === ways[0] ? ways[1] : ways[0];
    sort();
    writeAddress();
    button.focus();
  });
}
form.addEventListener("change", () => {
  filter();
  writeAddress();
});
form.addEventListener("submit", (event) => event.preventDefault());
document.getElementById("reset").addEventListener("click", () => {
  for (const select of selects) select.value = "";
  sorted = "";
  sort();
  filter();
  writeAddress();
});
window.addEventListener("hashchange", readAddress);
form.hidden = false;
if (location.hash.includes("=")) readAddress();
else {
  sort();
  filter();
}
performance.mark("board-shown");

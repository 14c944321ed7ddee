"use strict";
// What the page knows, read from its JSON blocks when it is first needed.

const readBlock = (element) => JSON.parse(element.textContent);
const about = readBlock(document.getElementById("about"));
const CORRECT = 0, WRONG = 1, UNPARSED = 2;

/** An item as a list in its task's block: the place of each field. */
const ID = 0, GROUP = 1, STRATA = 2, KEY = 3, QUESTION = 4, OPTIONS = 5, CLIPS = 6, FRAME = 7, LANES = 8, ANSWERS = 9, GRAPH = 10;
/** An answer of a run to an item. */
const OUTCOME = 0, ANSWERED = 1, RESPONSE = 2, FACTS = 3, PREDICTED = 4, MATCHES = 5, CLAIM = 6, CURVES = 7;

const blocks = new Map();
function blockOf(task) {
  if (!blocks.has(task)) {
    blocks.set(task, readBlock(document.querySelector(`script[data-task="${CSS.escape(task)}"]`)));
  }
  return blocks.get(task);
}

/** The items of a section of the page, each with its block; a group's tasks follow one another. */
function itemsOf(section) {
  const [, tasks] = about.sections[section];
  return tasks.flatMap((task) => {
    const block = blockOf(task);
    return block.items.map((item) => ({ item, block }));
  });
}

/** A run's answer to an item, or 0 where it has none. */
function answerOf({ item, block }, run) {
  const at = block.runs.indexOf(run);
  return at < 0 ? 0 : item[ANSWERS][at];
}

const isFailure = (answer) => Boolean(answer) && (answer[OUTCOME] === WRONG || answer[OUTCOME] === UNPARSED);

/** Names of the stratum columns of a section with the values that its items have; none that is empty in all of them. */
function strataOf(section) {
  const found = new Map();
  for (const task of about.sections[section][1]) {
    for (const [name, values] of blockOf(task).strata) {
      found.set(name, [...new Set([...(found.get(name) || []), ...values])].sort());
    }
  }
  return new Map([...found].filter(([, values]) => values.some(Boolean)));
}

const plain = (text) => text.replaceAll("_", " ");

/** An element with a class and children; a string among them becomes text, never markup. */
function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";
function makeSvg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Gives an element the hue of a run: the style sheet knows it by the run's number. */
function ofRun(run, element) {
  element.dataset.run = about.runs[run][0];
  return element;
}
const badge = (run) => ofRun(run, make("span", "run-badge", about.runs[run][0]));

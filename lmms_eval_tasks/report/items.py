"""The items of a page's browser: one compact JSON block per task, which the page reads when it needs it."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from lmms_eval_tasks.report.clips import ClipShelf
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.wording import summarize_names
from lmms_eval_tasks.utils.data.home import read_table
from lmms_eval_tasks.utils.reporting.panels import OUTCOMES
from lmms_eval_tasks.utils.reporting.references import benchmark_of
from lmms_eval_tasks.utils.reporting.views import AnswerView, ItemView, Lane, Pages, Row
from lmms_eval_tasks.utils.runs.responses import SavedResponses, read_responses
from lmms_eval_tasks.utils.runs.run import Run, log_lines, sample_log
from lmms_eval_tasks.utils.scoring.records import Record

LONGEST_RESPONSE = 6_000
"""Characters of a response that a page holds; how many more there are is said."""


@dataclass
class Strings:
    """Texts of a block, each held once."""

    places: dict[str, int] = field(default_factory=dict)

    def place(self, text: str) -> int:
        """A text's place."""
        return self.places.setdefault(text, len(self.places))


def task_block(task: str, runs: Sequence[tuple[int, Run]], shelf: ClipShelf) -> dict[str, Any]:
    """What the browser knows of a task: its items, in the order of the first run that has them.

    Args:
        task: Name of the task.
        runs: The runs that hold it, each with its place on the page.
        shelf: Where the clips of the items are noted.

    Returns:
        JSON values. An item is a list: id, group, stratum values, key, question, options, clips, frame, true evidence,
        and each run's answer; texts, groups and stratum values are places in lists of the block.
    """
    benchmark = benchmark_of(task)
    pages = pages_of(benchmark)
    rows, note = _rows(benchmark, task, pages, runs[0][1].sample)
    records = [{record.item_id: record for record in run.records[task]} for _, run in runs]
    said = [_responses(run, task) for _, run in runs]
    strings, groups = Strings(), Strings()
    first = {item_id: record for found in reversed(records) for item_id, record in found.items()}
    ordered = dict.fromkeys(item_id for found in records for item_id in found)
    absent = [item_id for item_id in ordered if pages and rows and pages.row_id(task, item_id) not in rows]
    if absent:
        note = f"Questions and clips of {len(absent):,} items are not in the prepared data: {summarize_names(absent)}."
    prompts = _prompts([run for _, run in runs], task) if note else {}
    names = list(dict.fromkeys(name for item_id in ordered for name in first[item_id].stratum))
    strata = [Strings() for _ in names]
    items = []
    for item_id in ordered:
        record = first[item_id]
        row = rows.get(pages.row_id(task, item_id)) if pages else None
        view = pages.item_view(task, record, row) if pages and row is not None else None
        answers = [
            _answer(found.get(item_id), saved.find(task, item_id) if saved else None, task, row, pages, strings)
            for found, saved in zip(records, said, strict=True)
        ]
        question, options = _asked(row, view, prompts.get(item_id, ""))
        items.append(
            [
                item_id,
                groups.place(record.group_id),
                [values.place(record.stratum.get(name, "")) for name, values in zip(names, strata, strict=True)],
                record.expected,
                strings.place(question),
                [strings.place(option) for option in options],
                [[shelf.place(benchmark, one.clip), one.label, int(one.asked)] for one in view.clips] if view else [],
                list(view.frame) if view and view.frame else 0,
                _lanes(view.lanes) if view else 0,
                answers,
            ]
        )
    return {
        "task": task,
        "runs": [place for place, _ in runs],
        "note": note,
        "strata": [[name, list(values.places)] for name, values in zip(names, strata, strict=True)],
        "strings": list(strings.places),
        "items": items,
    }


def _asked(row: Row | None, view: ItemView | None, prompt: str) -> tuple[str, Sequence[str]]:
    """What the item asks, and its options."""
    if row is None:
        return prompt, ()
    return (view.text, ()) if view and view.text is not None else (row["question"], row["options"])


def pages_of(benchmark: str) -> Pages | None:
    """What a benchmark says about its panels and items; None for a task of no benchmark of ours."""
    return cast(Pages, importlib.import_module(f"lmms_eval_tasks.{benchmark}.panels")) if benchmark else None


def _rows(benchmark: str, task: str, pages: Pages | None, sample: bool) -> tuple[dict[str, Row], str]:
    """The prepared rows by id, or none and why."""
    if pages is None:
        return {}, "No prepared data belongs to this task: what is shown comes from the sample log."
    try:
        table, facts = read_table(benchmark, pages.split(task))
    except InputError as error:
        return {}, f"Questions and clips are not at hand, what is shown comes from the sample log. {error}"
    if facts.sample != sample:
        kinds = ("the benchmark's own data", "sample data")
        return {}, (
            f"Questions and clips are not at hand: the run is of {kinds[sample]}, {kinds[facts.sample]} is prepared."
        )
    return {row["item_id"]: row for row in table.to_pylist()}, ""


def _responses(run: Run, task: str) -> SavedResponses | None:
    try:
        return read_responses(sample_log(run.path, task))
    except InputError:
        return None  # A log without responses still has its records.


def _prompts(runs: Sequence[Run], task: str) -> dict[str, str]:
    """The prompt of each item, as the sample logs have it."""
    found = {}
    for run in runs:
        for line in log_lines(sample_log(run.path, task)):
            value = json.loads(line)
            if isinstance(value.get("input"), str):
                found[value["record"]["item_id"]] = value["input"]
    return found


def _answer(
    record: Record | None, response: str | None, task: str, row: Row | None, pages: Pages | None, strings: Strings
) -> list[Any] | int:
    """A run's answer: outcome, what was read, response, facts, predicted evidence and matches; 0 without one."""
    if record is None:
        return 0
    view = AnswerView()
    if pages is not None and row is not None:
        view = pages.answer_view(task, record, row, response or "")
    facts = dict(view.facts)
    if reason := record.fields.get("reason") or record.fields.get("answer_reason"):
        facts["why"] = str(reason)
    text = response
    if text is not None and len(text) > LONGEST_RESPONSE:
        text = f"{text[:LONGEST_RESPONSE]}\n… and {len(text) - LONGEST_RESPONSE:,} more characters in the sample log"
    return [
        OUTCOMES.index(record.outcome.value),
        record.answered,
        -1 if text is None else strings.place(text),
        facts or 0,
        _lanes(view.lanes),
        [list(match) for match in view.matches],
    ]


def _lanes(lanes: Sequence[Lane]) -> list[Any]:
    return [
        [
            lane.name,
            [list(span) for span in lane.spans],
            {
                second: [round(side, 1) for side in box]
                for second, box in lane.boxes.items()
                if all(map(math.isfinite, box))
            },
        ]
        for lane in lanes
    ]


def as_json(value: Mapping[str, Any]) -> str:
    """JSON that can stand in an HTML script element, whatever a model said: no `<`, `>`, `&` and no line separator."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    # Half a character, which no file can hold, stays the escape that JSON has for it.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")

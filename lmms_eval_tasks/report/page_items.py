"""Items of a page's browser as one JSON block per task, and the places of events in their graphs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.report.page_files import ClipShelf
from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.runs.saved_answers import read_item
from lmms_eval_tasks.utils.benchmark.benchmark import Task
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import escape_surrogates, summarize_names
from lmms_eval_tasks.utils.data.card import DataSet, Row
from lmms_eval_tasks.utils.data.home import read_table
from lmms_eval_tasks.utils.reporting import item_views
from lmms_eval_tasks.utils.reporting.panels import OUTCOMES
from lmms_eval_tasks.utils.scoring.record import Record

WIDTH = 148
"""Of an event, in pixels; the page's script has the same."""
GAP, STEP = 34, 58
"""Between two events of a lane, and from an event to the next in time at the least."""
MOST_LANES = 6
"""With so many lanes an event goes below an earlier one, even where a link has to pass behind it."""


def place_events(graph: item_views.EventGraph) -> Mapping[str, tuple[int, int]]:
    """The left edge of each event in pixels, and its lane from 0 on, by name."""
    causes: dict[str, list[str]] = {name: [] for name in graph.events}
    waiting = dict.fromkeys(graph.events, 0)
    for cause, effect in graph.links:
        causes[effect].append(cause)
        waiting[cause] += 1
    placed: dict[str, tuple[int, int]] = {}
    last: list[str] = []
    """The last event of each lane."""
    least = 0
    for event in graph.ordered:
        before = [name for name in causes[event] if name in placed]
        for name in before:
            waiting[name] -= 1
        least = max([least, *(placed[name][0] + WIDTH + GAP for name in before)])
        following = [lane for lane, name in enumerate(last) if name in before]
        free = [lane for lane, name in enumerate(last) if not waiting[name] and placed[name][0] + WIDTH + GAP <= least]
        if following or free:
            lane = (following or free)[0]
        elif len(last) < MOST_LANES:
            lane = len(last)
            last.append(event)
        else:
            lane = min(range(len(last)), key=lambda one: placed[last[one]][0])
            least = max(least, placed[last[lane]][0] + WIDTH + GAP)
        last[lane] = event
        placed[event] = (least, lane)
        least += STEP
    return placed


LONGEST_RESPONSE = 6_000
"""Characters of a response that a page holds; it states how many more there are."""
Strings = dict[str, int]
"""Texts of a block, each once, with its place in their list."""


def _place(strings: Strings, text: str) -> int:
    return strings.setdefault(text, len(strings))


class ItemRow(NamedTuple):
    """One item, as the page's script reads it: a list in this order."""

    item_id: str
    group: int
    stratum: list[int]
    expected: str | None
    question: int
    options: list[int]
    clips: list[tuple[int, str, int]]
    frame: list[int] | int
    tracks: list[Any] | int
    answers: list[AnswerRow | int]
    graph: tuple[int, list[int], list[list[int]]] | int


class AnswerRow(NamedTuple):
    """A run's answer to an item; 0 stands for a missing value."""

    outcome: int
    answered: str | None
    response: int
    facts: Mapping[str, str] | int
    tracks: list[Any]
    matches: list[list[int]]
    claim: bool | None
    curves: list[Any] | int


@dataclass
class TaskRows:
    """A task's prepared rows, or a note why there are none."""

    task: Task | None
    rows: Mapping[str, Row]
    note: str = ""

    def row(self, item_id: str) -> Row | None:
        return self.rows.get(self.task.kind.row_id(item_id)) if self.task else None

    def item_view(self, record: Record) -> item_views.ItemView:
        if not self.task or (row := self.row(record.item_id)) is None:
            return item_views.ItemView()
        kind = self.task.kind
        return kind.item_view(record, row) if kind.item_view else item_views.usual_item_view(row, kind.visuals)

    def answer_view(self, record: Record, response: str) -> item_views.AnswerView:
        if not self.task or (row := self.row(record.item_id)) is None:
            return item_views.AnswerView()
        view = self.task.kind.answer_view
        return view(record, row, response) if view else item_views.usual_answer_view(record)


def task_block(task: str, runs: Sequence[tuple[int, Run]], shelf: ClipShelf) -> dict[str, Any]:
    """A task's data for the browser as JSON values: its items, in the order of the first run that has them."""
    holders = [run for _, run in runs]
    prepared = _open_rows(task, holders[0].set_of(task))
    records = [{record.item_id: record for record in run.records[task]} for run in holders]
    logged = [{item.record.item_id: item.values for item in run.items_of(task)} for run in holders]
    responses = [
        {item_id: read[1][0].text for item_id, line in lines.items() if (read := read_item(line, task))}
        for lines in logged
    ]
    first = {item_id: record for one in reversed(records) for item_id, record in one.items()}
    ordered = list(dict.fromkeys(item_id for one in records for item_id in one))
    absent = [item_id for item_id in ordered if prepared.rows and prepared.row(item_id) is None]
    if absent:
        prepared.note = (
            f"Questions and clips of {len(absent):,} items are not in the prepared data: {summarize_names(absent)}."
        )
    prompts = {
        item_id: line["input"]
        for lines in logged
        for item_id, line in lines.items()
        if isinstance(line.get("input"), str)
    }
    strata: dict[str, Strings] = {name: {} for item_id in ordered for name in first[item_id].stratum}
    strings: Strings = {}
    groups: Strings = {}
    graphs: Strings = {}
    benchmark = prepared.task.benchmark.name if prepared.task else ""
    items = []
    for item_id in ordered:
        record = first[item_id]
        view = prepared.item_view(record)
        row = prepared.row(item_id)
        question, options = (prompts.get(item_id, ""), ()) if row is None else (row["question"], row["options"])
        if row is not None and view.text is not None:
            question, options = view.text, ()
        answers = [
            _answer(one.get(item_id), saved.get(item_id), prepared, strings)
            for one, saved in zip(records, responses, strict=True)
        ]
        items.append(
            ItemRow(
                item_id=item_id,
                group=_place(groups, record.group_id),
                stratum=[_place(values, record.stratum.get(name, "")) for name, values in strata.items()],
                expected=record.expected,
                question=_place(strings, question),
                options=[_place(strings, option) for option in options],
                clips=[
                    (shelf.place(benchmark, clip), label, int(label not in view.unasked))
                    for label, clip in view.clips.items()
                ],
                frame=list(view.frame) if view.frame else 0,
                tracks=_tracks(view.tracks) if view.clips else 0,
                answers=answers,
                graph=_graph(view.graph, strings, graphs) if view.graph else 0,
            )
        )
    return {
        "task": task,
        "runs": [place for place, _ in runs],
        "note": prepared.note,
        "strata": [[name, list(values)] for name, values in strata.items()],
        "strings": list(strings),
        "graphs": list(map(json.loads, graphs)),
        "items": items,
    }


def _open_rows(name: str, data_set: DataSet) -> TaskRows:
    task = registry().find_task(name)
    if task is None:
        return TaskRows(None, {}, "No prepared data belongs to this task: the page shows what the sample log has.")
    missing = "Questions and clips are not at hand"
    try:
        table, manifest = read_table(task.benchmark.card, task.split)
    except InputError as error:
        return TaskRows(task, {}, f"{missing}; the page shows what the sample log has. {error}")
    if not data_set.may_share(manifest.data_set):
        return TaskRows(task, {}, f"{missing}: the run is of {data_set.text}, {manifest.data_set.text} is prepared.")
    return TaskRows(task, {row["item_id"]: row for row in table.to_pylist()})


def _answer(record: Record | None, response: str | None, prepared: TaskRows, strings: Strings) -> AnswerRow | int:
    if record is None:
        return 0
    view = prepared.answer_view(record, response or "")
    facts = {**view.facts, **({"why": record.why} if record.why else {})}
    if record.samples:
        facts["all samples"] = ", ".join(one.answered or one.outcome.value for one in record.each)
    text = response
    if text is not None and len(text) > LONGEST_RESPONSE:
        text = f"{text[:LONGEST_RESPONSE]}\n… and {len(text) - LONGEST_RESPONSE:,} more characters in the sample log"
    return AnswerRow(
        outcome=OUTCOMES.index(record.outcome.value),
        answered=record.answered,
        response=-1 if text is None else _place(strings, text),
        facts=facts or 0,
        tracks=_tracks(view.tracks),
        matches=[list(match) for match in view.matches],
        claim=view.claim,
        curves=[*view.axes, _curves(view.curves)] if view.curves else 0,
    )


def _graph(graph: item_views.EventGraph, strings: Strings, graphs: Strings) -> tuple[int, list[int], list[list[int]]]:
    """A graph's place among those of a block, and the events and links that the question is about."""
    placed = place_events(graph)
    events = [
        [_place(strings, graph.events[name][0]), graph.events[name][1], int(name not in graph.made_up), *placed[name]]
        for name in graph.ordered
    ]
    links = [_places(graph, link) for link in graph.links]
    place = _place(graphs, json.dumps([events, links], allow_nan=False))
    return place, _places(graph, graph.asked or ()), [_places(graph, link) for link in graph.path]


def _places(graph: item_views.EventGraph, names: Sequence[str]) -> list[int]:
    places = {name: place for place, name in enumerate(graph.ordered)}
    return [places[name] for name in names]


def _curves(curves: Mapping[str, Sequence[tuple[float, float]]]) -> list[Any]:
    return [
        [name, [[float(f"{x:.6g}"), float(f"{y:.6g}")] for x, y in points if math.isfinite(x) and math.isfinite(y)]]
        for name, points in curves.items()
    ]


def _tracks(tracks: Sequence[item_views.InstanceTrack]) -> list[Any]:
    return [
        [
            track.name,
            [list(span) for span in track.spans],
            {
                second: [round(side, 1) for side in box]
                for second, box in track.boxes.items()
                if all(map(math.isfinite, box))
            },
        ]
        for track in tracks
    ]


def as_json(value: Mapping[str, Any]) -> str:
    """JSON that can stand in an HTML script element, whatever a model wrote: no `<`, `>`, `&` and no line separator."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    # Half a character, which no file can hold, stays the escape that JSON has for it.
    return escape_surrogates(text)

"""The plan of an annotation: each version of a question asked as often as wanted, nobody asked two of a group.

Source: CausalVQA paper, its human baseline (15 responses to a version, nobody answers both versions of a question).
Items that check attention name the choice to be made (instructed response items; Meade & Craig 2012).
"""

from __future__ import annotations

import heapq
import math
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import zip_longest
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.registry import find_benchmark, read_card, registry
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.forms import csv_text, read_csv
from lmms_eval_tasks.utils.core.text import quote, summarize_names
from lmms_eval_tasks.utils.core.work import Progress, no_progress
from lmms_eval_tasks.utils.data.clips import clip_lengths
from lmms_eval_tasks.utils.data.home import clip_path, load_table, read_manifest
from lmms_eval_tasks.utils.people.inquiries import (
    ANSWER,
    ATTENTION,
    RESPONSE,
    RESPONSES,
    AskedItem,
    Inquiry,
    OfferedChoice,
)
from lmms_eval_tasks.utils.scoring.record import Outcome

MINUTES = 30
"""Minutes of clips that an annotator sees at most, where the number of annotators is not given; our choice."""
SEPARATOR = "|"
"""Between the choices of an item in a plan."""


@dataclass(frozen=True)
class PlannedQuestion:
    item: str
    version: str
    item_id: str
    milliseconds: int
    choices: tuple[str, ...]
    ways: tuple[str, ...] = ()
    asked: str = ""
    stratum: str = ""


@dataclass(frozen=True)
class PlannedItem:
    benchmark: str
    split: str
    mode: str
    annotator: str
    place: int
    item: str
    version: str
    item_id: str
    milliseconds: int
    choices: str = ""
    asked: str = ""
    attention: str = ""


COLUMNS = tuple(field.name for field in fields(PlannedItem))


@dataclass(frozen=True)
class Plan:
    rows: tuple[PlannedItem, ...]

    @property
    def by_annotator(self) -> dict[str, list[PlannedItem]]:
        grouped: defaultdict[str, list[PlannedItem]] = defaultdict(list)
        for row in self.rows:
            grouped[row.annotator].append(row)
        return dict(grouped)

    @property
    def source(self) -> tuple[str, str]:
        return self.rows[0].benchmark, self.rows[0].split

    @property
    def mode(self) -> str:
        return self.rows[0].mode


def annotators_needed(
    questions: Sequence[PlannedQuestion], responses: int, minutes: float, whole_pairs: bool = False
) -> int:
    """Return how many see at most `minutes` of clips on average, and never two versions of a question."""
    total = responses * sum(question.milliseconds for question in questions)
    largest = 1 if whole_pairs else max(Counter(question.item for question in questions).values())
    return max(responses * largest, math.ceil(total / (60_000 * minutes)))


@dataclass(frozen=True)
class Shares:
    """How many annotators share a plan's questions, how many answer each version, and how many checks of attention
    each gets; in whole pairs one person answers both members."""

    annotators: int
    responses: int = RESPONSES
    attention: int = ATTENTION
    whole_pairs: bool = False


def make_plan(
    benchmark: str,
    split: str,
    questions: Sequence[PlannedQuestion],
    shares: Shares,
    seed: int = 0,
    mode: str = ANSWER,
) -> Plan:
    annotators, responses, whole_pairs = shares.annotators, shares.responses, shares.whole_pairs
    groups: defaultdict[str, list[PlannedQuestion]] = defaultdict(list)
    for question in questions:
        groups[question.item].append(question)
    needed = responses * (1 if whole_pairs else max(map(len, groups.values())))
    if annotators < needed:
        alone = "" if whole_pairs else "nobody sees two versions of a question and "
        raise InputError(
            f"Expected at least {needed:,} annotators, for {alone}each version gets {responses} responses, but got "
            f"{annotators:,}."
        )
    draws = random.Random(seed)
    given = _share_out(list(groups.values()), annotators, responses, draws, whole_pairs)
    width = max(3, len(str(annotators)))
    rows: list[PlannedItem] = []
    for number, own in enumerate(given, start=1):
        name = f"a{number:0{width}}"
        draws.shuffle(own)

        def planned(one: PlannedQuestion, item: str, way: str, milliseconds: int, name: str = name) -> PlannedItem:
            choices = SEPARATOR.join(one.choices)
            return PlannedItem(
                benchmark, split, mode, name, 0, item, way, one.item_id, milliseconds, choices, one.asked
            )

        shown = [planned(one, one.item, way, one.milliseconds) for one, way in own]
        offering = [slot for slot in own if slot[0].choices]
        for question, _ in draws.sample(offering, min(shares.attention, len(offering))):
            check = replace(planned(question, "", "", 0), attention=draws.choice(question.choices))
            shown.insert(draws.randint(1, len(shown)), check)
        rows += [replace(row, place=place) for place, row in enumerate(shown, start=1)]
    return Plan(tuple(rows))


def draw_sample(questions: Sequence[PlannedQuestion], size: int, seed: int = 0) -> list[PlannedQuestion]:
    """So many questions, all versions of each, in equal shares by stratum as far as there are enough."""
    stratum_of = {question.item: question.stratum for question in questions}
    strata: defaultdict[str, list[str]] = defaultdict(list)
    for item, stratum in stratum_of.items():
        strata[stratum].append(item)
    draws = random.Random(seed)
    drawn = [draws.sample(items, len(items)) for _, items in sorted(strata.items())]
    in_turn = [item for turn in zip_longest(*drawn) for item in turn if item is not None]
    chosen = set(in_turn[:size])
    return [question for question in questions if question.item in chosen]


def _share_out(
    groups: list[list[PlannedQuestion]], annotators: int, responses: int, draws: random.Random, whole: bool
) -> list[list[tuple[PlannedQuestion, str]]]:
    """Return the questions of each annotator, each with the way in which it is shown, or else its version."""
    given: list[list[tuple[PlannedQuestion, str]]] = [[] for _ in range(annotators)]
    heap = [(0, draws.random(), number) for number in range(annotators)]
    heapq.heapify(heap)
    draws.shuffle(groups)
    for group in sorted(groups, key=lambda members: -max(one.milliseconds for one in members)):
        if whole:
            slots = [[(question, question.version) for question in group] for _ in range(responses)]
        else:
            slots = []
            for question in group:
                # Each way is used equally often, or once more.
                ways = draws.sample(question.ways, len(question.ways)) or [question.version]
                slots += [[(question, ways[number % len(ways)])] for number in range(responses)]
        draws.shuffle(slots)
        slots.sort(key=lambda slot: -slot[0][0].milliseconds)
        chosen = [heapq.heappop(heap) for _ in slots]
        for slot, (seen, _, number) in zip(slots, chosen, strict=True):
            given[number] += slot
            heapq.heappush(heap, (seen + sum(question.milliseconds for question, _ in slot), draws.random(), number))
    return given


def as_csv(plan: Plan) -> str:
    return csv_text(COLUMNS, (asdict(row) for row in plan.rows))


def read_plan(path: Path) -> Plan:
    problems = Problems()
    rows: list[PlannedItem] = []
    places: set[tuple[str, int]] = set()
    for where, row in read_csv(path, COLUMNS):
        numbers = {name: row[name] for name in ("place", "milliseconds")}
        if bad := [name for name, value in numbers.items() if not (value.isascii() and value.isdigit())]:
            problems.add(where, f"Expected a whole number for {bad[0]}, but got {quote(numbers[bad[0]])}.")
            continue
        if empty := [name for name in ("benchmark", "split", "mode", "annotator", "item_id") if not row[name]]:
            problems.add(where, f"Expected a value for {', '.join(empty)}, but got none.")
            continue
        if Path(row["annotator"]).name != row["annotator"]:
            problems.add(where, f"Expected an annotator that can name a file, but got {quote(row['annotator'])}.")
            continue
        place = row["annotator"], int(row["place"])
        if place in places:
            problems.add(where, f"Expected each place of {row['annotator']} once, but got {row['place']} again.")
        if rows and (row["benchmark"], row["split"], row["mode"]) != (rows[0].benchmark, rows[0].split, rows[0].mode):
            problems.add(where, "Expected one benchmark, split and mode, but got others than before.")
        if row["attention"] and row["attention"] not in row["choices"].split(SEPARATOR):
            problems.add(where, f"Expected attention to be one of the choices, but got {quote(row['attention'])}.")
        places.add(place)
        texts = {name: row[name] for name in COLUMNS if name not in numbers}
        rows.append(PlannedItem(**texts, place=place[1], milliseconds=int(row["milliseconds"])))
    problems.raise_if_any(f"{path.name} is not a plan")
    if not rows:
        raise InputError(f"{path.name} is not a plan: it has no rows.")
    return Plan(tuple(rows))


Row = Mapping[str, Any]
FRAME = 10_000
"""Milliseconds that a last frame in place of a clip counts for where items are shared out."""
TYPE = "type"
"""Column of a question's type, of which a reviewer may name another."""


def only_split(benchmark: str, chosen: str) -> str:
    splits = list(read_manifest(read_card(benchmark)).splits)
    if chosen in splits or (not chosen and len(splits) == 1):
        return chosen or splits[0]
    raise InputError(f"Expected --split, one of {', '.join(splits)}, but got {chosen or 'none'}.")


def rows_to_ask(benchmark: str, split: str) -> list[dict[str, Any]]:
    return [row for row in load_table(read_card(benchmark), split).to_list() if row["clip_present"]]


def _options(chosen: Benchmark, rows: Sequence[Row]) -> list[AskedItem]:
    """Every version of every question as a model is asked it: with its options, or to be answered in writing."""
    columns = next(iter(chosen.kinds.values())).visuals
    labels = tuple(f"Clip {number}" for number in range(1, len(columns) + 1)) if len(columns) > 1 else ()
    return [
        AskedItem(
            item=item,
            item_id=row["item_id"],
            question=row["question"],
            ways={version: tuple(row[column] for column in columns)},
            choices=tuple(
                OfferedChoice(letter, letter, text)
                for letter, text in zip(ascii_uppercase, row.get("options") or (), strict=False)
            ),
            key=row["answer"] or "",
            labels=labels,
            kind=row.get(TYPE) or "",
        )
        for (item, version), row in zip(AskedItem.keys(rows), rows, strict=True)
    ]


def asked_items(
    benchmark: str, split: str, mode: str, run: Path | None = None, task: str = ""
) -> tuple[Inquiry, dict[str, AskedItem]]:
    chosen = find_benchmark(benchmark)
    inquiry = chosen.inquiry(mode)
    if inquiry.of_answers != (run is not None):
        raise InputError(
            f"Expected --run with a finished run, for {mode} is about its answers, but got none."
            if inquiry.of_answers
            else f"Expected no --run, for {mode} of {benchmark} is not about answers."
        )
    rows = rows_to_ask(benchmark, split)
    if run is not None:
        given = _responses(chosen, run, task)
        rows = [{**row, RESPONSE: given[row["item_id"]]} for row in rows if row["item_id"] in given]
    asked = inquiry.items(rows) if inquiry.items is not None else _options(chosen, rows)
    items = {item.item_id: item for item in asked}
    if not items:
        raise InputError(f"{chosen.card.title}, split {split}, cannot be asked of people: there is nothing to ask.")
    return inquiry, items


def _responses(chosen: Benchmark, source: Path, task: str) -> dict[str, str]:
    """Item to a run's answer, of those that were scored."""
    run = read_run(source)
    known = {name: registry().find_task(name) for name in run.records}
    tasks = [name for name, found in known.items() if found is not None and found.benchmark.name == chosen.name]
    if task not in tasks and (task or len(tasks) != 1):
        raise InputError(f"Expected --task, one of the run's ({', '.join(tasks) or 'none'}), but got {task or 'none'}.")
    lines = [line for line in run.items_of(task or tasks[0]) if line.record.outcome is not Outcome.UNSCORED]
    return {line.record.item_id: (line.responses or [""])[0] for line in lines}


def planned_questions(
    benchmark: str, inquiry: Inquiry, items: Mapping[str, AskedItem], progress: Progress = no_progress
) -> list[PlannedQuestion]:
    paths = {clip: clip_path(benchmark, clip) for item in items.values() for clip in item.clips}
    lengths = clip_lengths(paths.values(), progress, f"{benchmark}: reading the length of clips")
    if unknown := [clip for clip, path in paths.items() if lengths[path] is None]:
        raise InputError(f"Expected clips that say how long they are, but these do not: {summarize_names(unknown)}.")
    return [
        PlannedQuestion(
            item.item,
            "" if len(item.ways) > 1 else next(iter(item.ways)),
            item.item_id,
            FRAME if inquiry.last_frame else sum(round(1000 * (lengths[paths[clip]] or 0.0)) for clip in item.clips),
            tuple(choice.value for choice in item.choices),
            tuple(item.ways) if len(item.ways) > 1 else (),
            inquiry.digest(item),
            item.key if inquiry.positive else "",
        )
        for item in items.values()
    ]

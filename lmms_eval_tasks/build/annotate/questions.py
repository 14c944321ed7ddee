"""What people can be asked about a prepared split: the ways of asking, and what each item shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.build.annotate.plan import PlannedQuestion
from lmms_eval_tasks.registry import find_benchmark, read_card, registry
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.core.work import Progress, no_progress
from lmms_eval_tasks.utils.data.clips import clip_lengths
from lmms_eval_tasks.utils.data.home import clip_path, load_table, read_manifest
from lmms_eval_tasks.utils.people.inquiries import RESPONSE, AskedItem, Inquiry, OfferedChoice
from lmms_eval_tasks.utils.scoring.record import Outcome

Row = Mapping[str, Any]
FRAME = 10_000
"""Milliseconds that a last frame in place of a clip counts for where items are shared out."""
TYPE = "type"
"""Column of a question's type, of which a reviewer may name another."""


def only_split(benchmark: str, chosen: str) -> str:
    """The split that was chosen, or the one that is prepared where none was."""
    splits = list(read_manifest(read_card(benchmark)).splits)
    if chosen in splits or (not chosen and len(splits) == 1):
        return chosen or splits[0]
    raise InputError(f"Expected --split, one of {', '.join(splits)}, but got {chosen or 'none'}.")


def rows_to_ask(benchmark: str, split: str) -> list[dict[str, Any]]:
    """The rows of a split; without those whose clips are missing, where that is allowed as for a run."""
    return [row for row in load_table(read_card(benchmark), split).to_list() if row["clip_present"]]


def _options(house: Benchmark, rows: Sequence[Row]) -> list[AskedItem]:
    """Every version of every question as a model is asked it: with its options, or to be answered in writing."""
    columns = next(iter(house.kinds.values())).visuals
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
    """Return the inquiry for asking people, and all items that they can be asked, by id."""
    house = find_benchmark(benchmark)
    inquiry = house.inquiry(mode)
    if inquiry.of_answers != (run is not None):
        raise InputError(
            f"Expected --run with a finished run, for {mode} is about its answers, but got none."
            if inquiry.of_answers
            else f"Expected no --run, for {mode} of {benchmark} is not about answers."
        )
    rows = rows_to_ask(benchmark, split)
    if run is not None:
        given = _responses(house, run, task)
        rows = [{**row, RESPONSE: given[row["item_id"]]} for row in rows if row["item_id"] in given]
    asked = inquiry.items(rows) if inquiry.items is not None else _options(house, rows)
    items = {item.item_id: item for item in asked}
    if not items:
        raise InputError(f"{house.card.title}, split {split}, cannot be asked of people: there is nothing to ask.")
    return inquiry, items


def _responses(house: Benchmark, source: Path, task: str) -> dict[str, str]:
    """Item to a run's answer, of those that were scored."""
    run = read_run(source)
    known = {name: registry().find_task(name) for name in run.records}
    tasks = [name for name, found in known.items() if found is not None and found.benchmark.name == house.name]
    if task not in tasks and (task or len(tasks) != 1):
        raise InputError(f"Expected --task, one of the run's ({', '.join(tasks) or 'none'}), but got {task or 'none'}.")
    lines = [line for line in run.items_of(task or tasks[0]) if line.record.outcome is not Outcome.UNSCORED]
    return {line.record.item_id: (line.responses or [""])[0] for line in lines}


def planned_questions(
    benchmark: str, inquiry: Inquiry, items: Mapping[str, AskedItem], progress: Progress = no_progress
) -> list[PlannedQuestion]:
    """The items as a plan shares them out."""
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

"""The questions of a prepared split as texts with options, whatever the benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm, TaskKind
from lmms_eval_tasks.utils.benchmark.card import Card
from lmms_eval_tasks.utils.benchmark.tasks import Task
from lmms_eval_tasks.utils.data.home import load_table
from lmms_eval_tasks.utils.stats.shortcuts import ChoiceItem

MOST_ANSWERS = 6
"""Different keys up to which questions without options count as a choice among the keys."""


@dataclass(frozen=True)
class ChoiceSet:
    """The questions of one split, as the tasks ask them that share their items."""

    tasks: tuple[str, ...]
    items: tuple[ChoiceItem, ...]
    left_out: int
    together: int | None
    whole: str
    from_keys: bool


def read_choice_sets(card: Card, tasks: Iterable[Task], split: str) -> list[ChoiceSet]:
    """The sets of questions of a prepared split; none where nothing of it is answered by choosing."""
    by_items: dict[Any, list[Task]] = {}
    for task in tasks:
        if task.split == split and task.kind.answer_form is AnswerForm.WORDS:
            by_items.setdefault(task.kind.rows, []).append(task)
    table = load_table(card, split, require_clips=False)
    sets = []
    for change, sharing in by_items.items():
        with _without_bars():
            rows = list(change(table) if change else table)
        items, from_keys = _read_items(rows, card.strata_columns)
        if items:
            together, whole = _together([task.kind for task in sharing])
            names = tuple(task.name for task in sharing)
            sets.append(ChoiceSet(names, tuple(items), len(rows) - len(items), together, whole, from_keys))
    return sets


@contextmanager
def _without_bars() -> Iterator[None]:
    """Without the progress bars of `datasets`, which a table of this size does not need."""
    import datasets

    shown = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            datasets.enable_progress_bars()


def _together(kinds: Sequence[TaskKind]) -> tuple[int | None, str]:
    """How many items count only together, and the title of the first score in which they do."""
    metrics = (metric for kind in kinds for metric in kind.metrics)
    return next(((metric.together, metric.title) for metric in metrics if metric.together), (None, ""))


def _read_items(rows: Sequence[Mapping[str, Any]], strata: Sequence[str]) -> tuple[list[ChoiceItem], bool]:
    """The items that have two options or more, and whether their options are the keys that occur."""
    from_keys = not any(row["options"] for row in rows)
    answers = sorted({row["answer"] for row in rows if row["answer"]}) if from_keys else []
    if from_keys and len(answers) > MOST_ANSWERS:
        return [], True
    items = []
    for row in rows:
        options = tuple(answers or row["options"])
        known = tuple(answers or ascii_uppercase[: len(options)])
        if len(options) < 2:
            continue
        # The same group id in two subsets names two groups.
        group = (row["group_id"], row.get("subset"))
        key = known.index(row["answer"]) if row["answer"] in known else None
        stratum = tuple(str(row[name]) for name in strata)
        items.append(ChoiceItem(group, stratum, str(row["question"] or ""), options, key))
    return items, from_keys

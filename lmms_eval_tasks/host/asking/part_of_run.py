"""One part of a run, as $LMMS_EVAL_TASKS_SHARD asks for it: each task asks the items that are in the part."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from loguru import logger

from lmms_eval_tasks.host.asking.stages import AskingStage
from lmms_eval_tasks.host.ranks import current_exchange
from lmms_eval_tasks.host.tasks.running import Evaluation, TaskState
from lmms_eval_tasks.runs.run_files import PER_TASK, SHARD_OF_RUN, Shard
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import SHARD, summarize_names
from lmms_eval_tasks.utils.core.work import deal, join
from lmms_eval_tasks.utils.data.card import Card
from lmms_eval_tasks.utils.data.home import clips_of_rows, read_table
from lmms_eval_tasks.utils.data.prepare import CLIP_SECONDS

if TYPE_CHECKING:
    import pyarrow


def deal_rows(card: Card, table: pyarrow.Table, parts: int) -> list[int]:
    """The part of each row of a prepared table, from 1."""
    clips = [tuple(dict.fromkeys(of_row)) for of_row in clips_of_rows(card, table)]
    strata = [table.column(name).to_pylist() for name in card.strata_columns]
    groups = zip(table.column("group_id").to_pylist(), *strata, strict=True)
    measured = CLIP_SECONDS in table.column_names
    column = table.column(CLIP_SECONDS).to_pylist() if measured else [None] * table.num_rows
    seconds = {of_row: length for of_row, length in zip(clips, column, strict=True) if length is not None}
    mean = sum(seconds.values()) / len(seconds) if seconds else 1.0
    units = join([[("group", *group), *of_row] for group, of_row in zip(groups, clips, strict=True)])
    costs = [sum(sorted(seconds.get(shown, mean) for shown in {clips[row] for row in unit})) for unit in units]
    dealt = [0] * table.num_rows
    for unit, hand in zip(units, deal(costs, [len(unit) for unit in units], parts), strict=True):
        for row in unit:
            dealt[row] = hand + 1
    return dealt


@dataclass(frozen=True)
class PartOfRun(AskingStage):
    """Items that one part of a run asks."""

    shard: Shard
    documents: Mapping[str, frozenset[int]]
    whole: Mapping[str, Mapping[str, int]]
    tasks: Mapping[str, Any]

    @contextmanager
    def during(self) -> Iterator[None]:
        """Restrict lmms-eval to the documents of the part."""
        if current_exchange().rank == 0:
            asked, every = sum(map(len, self.documents.values())), sum(one["effective"] for one in self.whole.values())
            logger.info("Part {} of the run: {:,} of {:,} items.", self.shard, asked, every)
            if self.empty:
                logger.warning("Part {} of the run has no item of {}.", self.shard, summarize_names(self.empty))
        with ExitStack() as stack:
            for name, task in self.tasks.items():
                build = _build_only(task, self.documents[name])
                stack.enter_context(patch.object(task, "build_all_requests", build))
            yield

    @property
    def empty(self) -> list[str]:
        """The tasks of which nothing is asked."""
        return [name for name, documents in self.documents.items() if not documents]

    @property
    def has_items(self) -> bool:
        """Whether anything is asked."""
        return any(self.documents.values())

    def label(self, results: dict[str, Any]) -> None:
        """Say in lmms-eval's results which part they are of, and how many items it has."""
        for name, count in results.get("n-samples", {}).items():
            count["effective"] = len(self.documents[name])
        results[SHARD_OF_RUN] = {**self.shard._asdict(), "n-samples": dict(self.whole)}


def find_part(shard: Shard, tasks: Mapping[TaskState, Any], limit: float | None, offset: int) -> PartOfRun:
    """Return the items that a part of a run asks."""
    from lmms_eval.evaluator import get_sample_size

    dealt: dict[tuple[str, str], Mapping[str, int]] = {}
    documents, counts = {}, {}
    for state, task in tasks.items():
        key = (state.benchmark.name, state.pointer["split"])
        if key not in dealt:
            table, _ = read_table(state.benchmark.card, key[1])
            parts = deal_rows(state.benchmark.card, table, shard.of)
            dealt[key] = dict(zip(table.column("item_id").to_pylist(), parts, strict=True))
        ids = task.eval_docs["item_id"]
        # As lmms-eval has it: a share becomes a number at the first task, and the number is that of the others.
        limit = get_sample_size(task, limit)
        asked = range(offset, len(ids) if limit is None else min(len(ids), offset + int(limit)))
        documents[state.name] = frozenset(
            document for document in asked if dealt[key][state.kind.row_id(ids[document])] == shard.part
        )
        counts[state.name] = len(ids)
    whole = {
        name: {"original": count, "effective": count if not limit else min(int(limit), count)}
        for name, count in counts.items()
    }
    return PartOfRun(shard, documents, whole, {state.name: task for state, task in tasks.items()})


def describe_unsplit(evaluation: Evaluation, others: Sequence[str]) -> str | None:
    """Return the reason a run cannot be split into parts, or None if it can or is not to be."""
    try:
        shard = evaluation.shard
    except InputError as error:
        return str(error)
    if shard is None or not others:
        return None
    return (
        f"Expected only tasks of lmms-eval-tasks where {SHARD} is set, but got {summarize_names(others)}: what others' "
        "items show, and which of them belong together, is not known. Run these tasks apart, without it."
    )


def without_tasks(task_dict: Mapping[Any, Any], names: Sequence[str]) -> dict[Any, Any]:
    """Tasks and groups as lmms-eval loads them, without some tasks, and without the groups that lose all of theirs."""
    kept: dict[Any, Any] = {}
    for key, value in task_dict.items():
        if isinstance(value, Mapping):
            if members := without_tasks(value, names):
                kept[key] = members
        elif key not in names:
            kept[key] = value
    return kept


def evaluate_nothing() -> dict[str, Any] | None:
    """The results of a part without any item, as lmms-eval's `evaluate`, which fails on no task, would have them."""
    if int(os.environ.get("RANK", "0")):
        return None
    return {section: {} for section in (*PER_TASK, "samples")}


def _build_only(task: Any, documents: frozenset[int]) -> Callable[..., None]:
    """A task's method that makes its requests, which then keeps those of some documents."""
    build_all = task.build_all_requests

    @functools.wraps(build_all)
    def build(**settings: Any) -> None:
        build_all(**settings)
        # lmms-eval grades the documents that have a request, and passes over the others.
        task._instances = [request for request in task._instances if request.doc_id in documents]

    return build

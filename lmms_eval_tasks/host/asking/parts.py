"""The items that a run asks which is a part of another, or which takes a share of each task or a sample of groups."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from loguru import logger

from lmms_eval_tasks.host.asking.dealing import deal_units
from lmms_eval_tasks.host.asking.drawing import SampleOfPool, items_drawn
from lmms_eval_tasks.host.asking.stages import AskingStage
from lmms_eval_tasks.host.ranks import current_exchange
from lmms_eval_tasks.host.tasks.running import TaskState
from lmms_eval_tasks.runs.run_files import PER_TASK, SHARD_OF_RUN, Shard
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.core.work import join
from lmms_eval_tasks.utils.data.card import Card
from lmms_eval_tasks.utils.data.home import clips_of_rows, read_table
from lmms_eval_tasks.utils.data.prepare import CLIP_SECONDS

if TYPE_CHECKING:
    import pyarrow


def deal_rows(card: Card, table: pyarrow.Table, parts: int) -> list[int]:
    """Return the part of each row of a prepared table, from 1."""
    clips = [tuple(dict.fromkeys(of_row)) for of_row in clips_of_rows(card, table)]
    strata = [table.column(name).to_pylist() for name in card.strata_columns]
    groups = zip(table.column("group_id").to_pylist(), *strata, strict=True)
    measured = CLIP_SECONDS in table.column_names
    column = table.column(CLIP_SECONDS).to_pylist() if measured else [None] * table.num_rows
    seconds = {of_row: length for of_row, length in zip(clips, column, strict=True) if length is not None}
    mean = sum(seconds.values()) / len(seconds) if seconds else 1.0
    units = join([[("group", *group), *of_row] for group, of_row in zip(groups, clips, strict=True)])

    def cost(unit: Sequence[int]) -> float:
        return float(sum(sorted(seconds.get(shown, mean) for shown in {clips[row] for row in unit})))

    dealt = deal_units(units, cost, parts)
    return [dealt[row] + 1 for row in range(table.num_rows)]


@dataclass(frozen=True)
class PartOfRun(AskingStage):
    shard: Shard | None
    documents: Mapping[str, frozenset[int]]
    whole: Mapping[str, Mapping[str, int]]
    tasks: Mapping[str, Any]
    samples: tuple[SampleOfPool, ...] = ()

    @contextmanager
    def during(self) -> Iterator[None]:
        for sample in self.samples if current_exchange().rank == 0 else ():
            logger.info("{}", sample.describe())
        if self.shard and current_exchange().rank == 0:
            asked, every = sum(map(len, self.documents.values())), sum(one["effective"] for one in self.whole.values())
            logger.info("Part {} of the run: {:,} of {:,} items.", self.shard, asked, every)
            if self.empty:
                logger.warning("Part {} of the run has no item of {}.", self.shard, summarize_names(self.empty))

        def build_only(build_all: Callable[..., None], task: Any, documents: frozenset[int], **settings: Any) -> None:
            build_all(**settings)
            # lmms-eval grades the documents that have a request, and passes over the others.
            task._instances = [request for request in task._instances if request.doc_id in documents]

        with ExitStack() as stack:
            for name, task in self.tasks.items():
                build = functools.partial(build_only, task.build_all_requests, task, self.documents[name])
                stack.enter_context(patch.object(task, "build_all_requests", build))
            yield

    @property
    def empty(self) -> list[str]:
        return [name for name, documents in self.documents.items() if not documents]

    def label(self, results: dict[str, Any]) -> None:
        """Say in lmms-eval's results which part they are of, and how many items it has."""
        for name, count in results.get("n-samples", {}).items():
            count["effective"] = len(self.documents[name])
        if self.shard:
            results[SHARD_OF_RUN] = {**self.shard._asdict(), "n-samples": dict(self.whole)}


def find_part(
    shard: Shard | None,
    samples: tuple[SampleOfPool, ...],
    tasks: Mapping[TaskState, Any],
    limit: float | None,
    offset: int,
) -> PartOfRun | None:
    """Return the items of a run that asks not simply the first of each task; None of any other run."""
    from lmms_eval.evaluator import get_sample_size

    if shard is None and not samples and not is_share(limit):
        return None
    dealt: dict[tuple[str, str], Mapping[str, int]] = {}
    drawn = items_drawn(samples)
    documents, whole = {}, {}
    for state, task in tasks.items():
        ids, size = task.eval_docs["item_id"], get_sample_size(task, limit)
        asked: Iterable[int] = range(offset, len(ids) if size is None else min(len(ids), offset + size))
        if state.name in drawn:
            asked = [one for one in asked if ids[one] in drawn[state.name]]
            size = len(asked)
        if shard:
            key = (state.benchmark.name, state.pointer["split"])
            if key not in dealt:
                table, _ = read_table(state.benchmark.card, key[1])
                parts = deal_rows(state.benchmark.card, table, shard.of)
                dealt[key] = dict(zip(table.column("item_id").to_pylist(), parts, strict=True))
            of_row = dealt[key]
            asked = (one for one in asked if of_row[state.kind.row_id(state.view.row_id(ids[one]))] == shard.part)
        documents[state.name] = frozenset(asked)
        whole[state.name] = {"original": len(ids), "effective": min(size or len(ids), len(ids))}
    return PartOfRun(shard, documents, whole, {state.name: task for state, task in tasks.items()}, samples)


def is_share(limit: float | None) -> bool:
    """Whether `--limit` names a share of a task's items, which lmms-eval makes one number for all tasks."""
    return limit is not None and 0 < limit < 1


def without_tasks(task_dict: Mapping[Any, Any], names: Sequence[str]) -> dict[Any, Any]:
    """Return loaded tasks and groups without some tasks, and without the groups that lose all of theirs."""
    kept: dict[Any, Any] = {}
    for key, value in task_dict.items():
        if isinstance(value, Mapping):
            if members := without_tasks(value, names):
                kept[key] = members
        elif key not in names:
            kept[key] = value
    return kept


def evaluate_nothing() -> dict[str, Any] | None:
    """Return what lmms-eval's `evaluate`, which fails on no task, would give of a part without items."""
    if int(os.environ.get("RANK", "0")):
        return None
    return {section: {} for section in (*PER_TASK, "samples")}

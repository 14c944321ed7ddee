"""The state of an evaluation: what holds for all of its tasks."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lmms_eval_tasks.host.captions import read_captions
from lmms_eval_tasks.host.exchange import current_exchange
from lmms_eval_tasks.host.judge import check_judge, open_judge, read_settings
from lmms_eval_tasks.host.submissions import Finished
from lmms_eval_tasks.host.view_media import read_limit
from lmms_eval_tasks.host.weights import Weights
from lmms_eval_tasks.installed.official_prompts import check_choice
from lmms_eval_tasks.installed.registry import find_benchmark, read_card
from lmms_eval_tasks.utils.benchmark.benchmark import Grader
from lmms_eval_tasks.utils.benchmark.views import View, find_view
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.variables import VIEW_BYTES
from lmms_eval_tasks.utils.data.home import absent_clips, load_table, read_table
from lmms_eval_tasks.utils.runs.shards import Shard, read_shard
from lmms_eval_tasks.utils.scoring.records import UnscoredReason

if TYPE_CHECKING:
    import datasets
    from pydantic import BaseModel

    from lmms_eval_tasks.host.state import TaskState
    from lmms_eval_tasks.host.views_ahead import ViewsAhead

Pointer = Mapping[str, Any]


@dataclass
class Evaluation:
    """What holds for all tasks of one evaluation."""

    clips_needed: bool = True
    judge_needed: bool = True
    splits: bool = True
    model: Any = None
    weights: Weights = field(default_factory=Weights)
    clip_reader: str | None = None
    tasks: dict[str, TaskState] = field(default_factory=dict)
    answers_kept: int | None = None
    ahead: ViewsAhead | None = None
    unanswered: dict[tuple[str, str], tuple[UnscoredReason, str]] = field(default_factory=dict)
    is_heard: bool = False
    throughput: Mapping[str, Any] = field(default_factory=dict)
    finished: Finished = field(default_factory=dict)
    absent: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    _tables: dict[tuple[str, str, bool], datasets.Dataset] = field(default_factory=dict)
    _judges: dict[type, Grader | None] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def shard(self) -> Shard | None:
        """Which part of the run this is; None of a whole run."""
        return read_shard() if self.splits else None

    def why_unanswered(self, task: str, item_id: str) -> tuple[UnscoredReason, str] | None:
        """Why the model could not answer an item, and the reason in more words; None where it could, or says
        nothing."""
        own = getattr(self.model, "unanswered", None) or {}
        return {**self.unanswered, **own}.get((task, item_id))

    def is_cut_off(self, task: str, item_id: str) -> bool:
        """Whether a model that gives answers again says in its `cut_off` that one used all of its tokens."""
        return (task, item_id) in getattr(self.model, "cut_off", ())

    def open_split(self, pointer: Pointer) -> datasets.Dataset:
        """The rows of the prepared table that a task's pointer names, rows at the index that they have there."""
        import datasets
        import pyarrow as pa
        import pyarrow.compute as pc

        benchmark, split = pointer["benchmark"], pointer["split"]
        check_choice(benchmark)
        card = read_card(benchmark)
        clips_needed = self.clips_needed and view_of(pointer).needs_clip
        if (key := (benchmark, split, clips_needed)) not in self._tables:
            absent = self.absent.get((benchmark, split))
            self._tables[key] = load_table(card, split, clips_needed, absent)
        table = self._tables[key].data.table
        if subset := pointer.get("subset"):
            table = table.filter(pc.equal(table["subset"], subset))
            if not table.num_rows:
                raise InputError(
                    f"Expected items of {subset} in {benchmark}, {split}, but what is prepared has none. "
                    "Name the tasks of the others one by one."
                )
        table = table.append_column("split", pa.repeat(split, table.num_rows))
        asked = table["clip_present"] if clips_needed else pa.repeat(True, table.num_rows)
        return datasets.Dataset(table.append_column("asked", asked))

    def open_items(self, pointer: Pointer) -> datasets.Dataset:
        """The items of the task that a pointer names, made of the rows of its prepared table."""
        table, kind = self.open_split(pointer), find_benchmark(pointer["benchmark"]).kind_of(pointer)
        return kind.rows(table) if kind.rows else table

    def check_grading(self, pointer: Pointer) -> None:
        """Refuse a task that a judge grades, where the judge cannot be asked."""
        benchmark = find_benchmark(pointer["benchmark"])
        kind = benchmark.kind_of(pointer)
        if kind.judge and self.judge_needed:
            try:
                check_judge(kind.judge == "optional")
            except InputError as error:
                raise InputError(f"{benchmark.card.title}'s free answers need a judge. {error}") from None

    def check_view(self, pointer: Pointer) -> None:
        """Refuse a view that cannot be shown."""
        view = view_of(pointer)
        if self.clips_needed and view.captioned:
            read_captions()
        if self.clips_needed and view.is_made:
            read_limit(os.environ.get(VIEW_BYTES))

    def look_for_clips(self, pointers: Sequence[Pointer]) -> None:
        """Look for the clips of tasks on the first of several ranks alone; every rank has to call this."""
        ranks = current_exchange()
        if ranks.size > 1:
            self.absent = ranks.share(lambda: dict(self._find_absent(pointers)))

    def _find_absent(self, pointers: Sequence[Pointer]) -> Iterator[tuple[tuple[str, str], dict[str, str]]]:
        for pointer in pointers:
            with suppress(InputError):
                card, split = read_card(pointer["benchmark"]), pointer["split"]
                if self.clips_needed and view_of(pointer).needs_clip:
                    yield (card.name, split), absent_clips(card, split, read_table(card, split)[0])

    def problems(self, pointers: Sequence[Pointer]) -> str | None:
        """Why tasks cannot run, each reason once; None where they can."""
        reasons: dict[str, None] = {}
        for pointer in pointers:
            for check in (self.open_items, self.check_grading, self.check_view):
                try:
                    check(pointer)
                except InputError as error:
                    reasons[str(error)] = None
        return "\n\n".join(reasons) or None

    def judge(self, schema: type[BaseModel], optional: bool = False) -> Grader | None:
        """The judge of $LMMS_EVAL_TASKS_JUDGE, opened once; None where it is ``none``."""
        with self._lock:
            if schema not in self._judges:
                settings = read_settings(optional=optional)
                self._judges[schema] = open_judge(schema, settings) if settings else None
            return self._judges[schema]


def view_of(pointer: Pointer) -> View:
    """The view that a task's pointer names."""
    name, benchmark = pointer.get("view", ""), find_benchmark(pointer["benchmark"])
    view, kind = find_view(name), benchmark.kind_of(pointer)
    if view is None or not kind.offers(view):
        raise InputError(
            f"Expected a view of {benchmark.name}, any of {', '.join(kind.views) or 'none'}, but got {name!r}."
        )
    return view

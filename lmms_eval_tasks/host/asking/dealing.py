"""Questions dealt to the ranks of an evaluation, so that a clip is encoded once, and to the parts of a run; and the
check that ranks would ask the same.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

from loguru import logger

import lmms_eval_tasks
from lmms_eval_tasks.host.asking.drawing import SampleOfPool, items_drawn
from lmms_eval_tasks.host.asking.kept_answers import computes_in_step
from lmms_eval_tasks.host.asking.stages import PADDING, Ask, AskingStage, is_padding
from lmms_eval_tasks.host.ranks import Exchange, current_exchange, stop_if_any
from lmms_eval_tasks.host.tasks.running import Evaluation, TaskState
from lmms_eval_tasks.host.tasks.task_view import Encode
from lmms_eval_tasks.runs.run_files import PER_TASK, SHARD_OF_RUN, Shard
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.core.work import deal, join, no_progress
from lmms_eval_tasks.utils.data.card import Card
from lmms_eval_tasks.utils.data.clips import clip_lengths
from lmms_eval_tasks.utils.data.home import clips_of_rows, media_path, read_manifest, read_table
from lmms_eval_tasks.utils.data.prepare import CLIP_SECONDS
from lmms_eval_tasks.utils.judge.client import read_settings

if TYPE_CHECKING:
    import pyarrow


def stop_unless_ranks_agree(states: Sequence[TaskState]) -> None:
    """End the run on every rank where two of them have other data, prompts or settings; every rank has to call this."""
    ranks = current_exchange()
    if ranks.size > 1:
        stop_if_any(describe_disagreement(ranks.gather(rank_facts(states))))


def rank_facts(states: Sequence[TaskState]) -> dict[str, str]:
    facts = {"version of lmms-eval-tasks": lmms_eval_tasks.__version__}
    if states and (shard := states[0].evaluation.shard):
        facts["part of the run"] = str(shard)
    if states and (sample := states[0].evaluation.sample):
        facts["sample of groups"] = str(sample)
    for state in states:
        facts |= {f"{state.name}, {what}": text for what, text in _task_facts(state).items()}
    return facts


def _task_facts(state: TaskState) -> dict[str, str]:
    split = read_manifest(state.benchmark.card).splits[state.pointer["split"]]
    table = state.evaluation.open_split(state.pointer)
    asked = list(table["asked"])
    absent = [item for item, is_asked in zip(table["item_id"], asked, strict=True) if not is_asked]
    digest = f", {hashlib.sha256(chr(0).join(absent).encode()).hexdigest()[:12]}" if absent else ""
    facts = {
        "prepared data": f"{len(table):,} items, table {split.table_sha256[:12]}",
        "items whose clip is missing": f"{len(absent):,}{digest}",
    }
    if state.evaluation.clips_needed and True in asked:
        # The first rank has looked for all clips; a rank that does not see its folder lacks them all.
        row, card = table[asked.index(True)], state.benchmark.card
        clips = [media_path(card.name, row, column) for column in card.clip_columns]
        facts["first clip"] = "found" if all(clip.is_file() for clip in clips) else "not found"
    with suppress(RuntimeError):  # lmms-eval asked for no prompt yet, on any rank
        facts["prompt"] = state.settings.signature or "none"
        facts |= {name: str(value) for name, value in state.settings.facts().items()}
    if state.kind.judge and state.evaluation.judge_needed:
        judge = read_settings(optional=state.kind.judge == "optional")
        facts["judge"] = "none" if judge is None else f"{judge.model}, {judge.sampling}"
    return facts


def describe_disagreement(ranks: Sequence[Mapping[str, str]]) -> str | None:
    """Return in which facts about their questions the ranks differ; None if in none."""
    lines = []
    for name in dict.fromkeys(name for facts in ranks for name in facts):
        holders: dict[str, list[int]] = {}
        for rank, facts in enumerate(ranks):
            holders.setdefault(facts.get(name, "not asked"), []).append(rank)
        if len(holders) > 1:
            texts = [
                f"{text} on {'rank' if len(holding) == 1 else 'ranks'} {summarize_names(holding)}"
                for text, holding in holders.items()
            ]
            lines.append(f"  {name}: {'; '.join(texts)}")
    if not lines:
        return None
    return "\n".join(
        [
            "The ranks of this run would not ask the same, so their answers cannot be scored together:",
            *lines,
            "Give all ranks the same data home (LMMS_EVAL_TASKS_HOME), the same settings and the same version.",
        ]
    )


def _deal_units(units: Sequence[Sequence[int]], cost: Callable[[Sequence[int]], float], hands: int) -> dict[int, int]:
    dealt = deal([cost(unit) for unit in units], [len(unit) for unit in units], hands)
    return {place: hand for unit, hand in zip(units, dealt, strict=True) for place in unit}


QUESTION = 0.15
"""What a question costs beside its clip, as a share of encoding a clip of mean length: about what a further question
about the same 2,400 tokens of video took of the first one's time, on a CPU with 130 M parameters."""


@dataclass(frozen=True)
class Deal:
    ranks: tuple[int, ...]
    clips: tuple[Mapping[Path, float], ...]

    def seconds(self, rank: int) -> float:
        return sum(self.clips[rank].values())


def deal_questions(questions: Sequence[Sequence[Encode]], lengths: Mapping[Path, float | None], ranks: int) -> Deal:
    """Deal questions to ranks, the most expensive clip first and each to the rank with the least to do."""
    shown = {encode.clip for encodes in questions for encode in encodes}
    known = {clip: length for clip in shown if (length := lengths.get(clip)) is not None}
    mean = sum(sorted(known.values())) / len(known) if known else 1.0
    seconds = dict.fromkeys(shown, mean) | known

    def cost(unit: Sequence[int]) -> float:
        encodes = {encode for question in unit for encode in questions[question] if encode.is_video}
        return sum(sorted(seconds[encode.clip] for encode in encodes)) + QUESTION * mean * len(unit)

    def name(unit: Sequence[int]) -> tuple[str, int]:
        return min((str(encode.clip) for encode in questions[unit[0]]), default=""), unit[0]

    units = sorted(join([[encode.clip for encode in encodes] for encodes in questions]), key=name)
    dealt = _deal_units(units, cost, ranks)
    clips: list[dict[Path, float]] = [{} for _ in range(ranks)]
    for question, encodes in enumerate(questions):
        clips[dealt[question]].update((encode.clip, seconds[encode.clip]) for encode in encodes)
    return Deal(tuple(dealt[question] for question in range(len(questions))), tuple(clips))


class TaskMethod(NamedTuple):
    """Stands for a method of a task in a request that goes to another rank."""

    name: str


Asked = tuple[str, int]
"""Task and document of a request, by which the first rank decides which rank answers it."""


class SentRequest(NamedTuple):
    number: int
    request: bytes


class ClipDealer(AskingStage):
    """Asks the questions of our tasks on the rank that has their clip."""

    def __init__(self, model: Any, evaluation: Evaluation, tasks: Mapping[str, Any]) -> None:
        self._model, self._evaluation, self._tasks = model, evaluation, tasks

    def answer(self, ask: Ask, requests: list[Any]) -> list[Reply]:
        ranks = current_exchange()
        if ranks.size == 1 or not self._evaluation.clips_needed:
            return ask(requests)
        places = [
            place
            for place, request in enumerate(requests)
            if request.task_name in self._evaluation.tasks and not is_padding(request)
        ]
        own = [requests[place] for place in places]
        packed = self._pack(own)
        asked = None if packed is None else [(request.task_name, request.doc_id) for request in own]
        # Clips are opened on one rank, and ranks whose files have other names get the same deal.
        hands = ranks.gather(asked)
        answering = ranks.scatter(None if ranks.rank else self._deal(hands))
        if packed is None or answering is None:
            if ranks.rank == 0:
                logger.warning(
                    "lmms_eval_tasks cannot keep the questions of a clip on one rank in this run: items are dealt to "
                    "ranks as lmms-eval does it, and a clip is encoded on several. Scores are the same."
                )
            return ask(requests)
        sent: list[list[SentRequest]] = [[] for _ in range(ranks.size)]
        for number, (rank, data) in enumerate(zip(answering, packed, strict=True)):
            sent[rank].append(SentRequest(number, b"" if rank == ranks.rank else data))
        return self._answer(ask, requests, ranks, places, ranks.deliver(sent))

    def _pack(self, requests: Sequence[Any]) -> list[bytes] | None:
        """Return requests as bytes, without their tasks; None where they cannot go to another rank."""

        def detach(request: Any) -> Any:
            task, detached = self._tasks[request.task_name], copy.copy(request)
            detached.arguments = tuple(
                TaskMethod(value.__name__)
                if callable(value) and getattr(task, getattr(value, "__name__", ""), None) == value
                else value
                for value in request.arguments
            )
            return detached

        try:
            return [pickle.dumps(detach(request)) for request in requests]
        except Exception as error:  # whatever pickle raises, the run goes on as lmms-eval has it
            logger.debug("Requests cannot go to another rank ({}: {}).", type(error).__name__, error)
            return None

    def _unpack(self, data: bytes) -> Any:
        request = pickle.loads(data)
        task = self._tasks[request.task_name]
        request.arguments = tuple(
            getattr(task, value.name) if isinstance(value, TaskMethod) else value for value in request.arguments
        )
        return request

    def _deal(self, hands: Sequence[Sequence[Asked] | None]) -> list[list[int] | None]:
        """For each rank, which rank answers each of its requests; None for all where that cannot be known."""
        unknown: list[list[int] | None] = [None] * len(hands)
        if None in hands:
            return unknown
        questions: list[tuple[Encode, ...]] = []
        lengths: dict[Path, float | None] = {}
        try:
            for task, doc_id in (asked for hand in hands for asked in hand or ()):
                shown, row = self._evaluation.tasks[task].shown, self._tasks[task].eval_docs[doc_id]
                questions.append(shown.encodes(row))
                if (seconds := shown.seconds(row)) is not None:
                    lengths |= dict.fromkeys((encode.clip for encode in questions[-1]), seconds)
        except Exception as error:  # a host that is built differently has other tasks, which can be asked all the same
            logger.debug("The clips of requests are not known ({}: {}).", type(error).__name__, error)
            return unknown
        clips = {encode.clip for encodes in questions for encode in encodes}
        if lacking := sorted(clips - lengths.keys()):
            lengths |= clip_lengths(lacking, no_progress, "opening clips")
        deal = deal_questions(questions, lengths, len(hands))
        if clips:
            shares = [deal.seconds(rank) for rank in range(len(hands))]
            logger.info(
                "The questions of a clip stay on one rank: {:,} clips, {:,} to {:,} s of video a rank.",
                len(clips), round(min(shares)), round(max(shares)),
            )  # fmt: skip
        answering = iter(deal.ranks)
        return [list(islice(answering, len(hand or ()))) for hand in hands]

    def _answer(
        self,
        ask: Ask,
        requests: Sequence[Any],
        ranks: Exchange,
        places: Sequence[int],
        received: Sequence[Sequence[SentRequest]],
    ) -> list[Reply]:
        order = {task: place for place, task in enumerate(self._evaluation.tasks)}
        dealt = [
            (requests[places[sent.number]] if sender == ranks.rank else self._unpack(sent.request), sender, sent)
            for sender, of_sender in enumerate(received)
            for sent in of_sender
        ]
        # Sorting keeps the order of the ranks, and that of a rank's requests, where the document is the same.
        dealt.sort(key=lambda one: (order[one[0].task_name], one[0].doc_id))
        others = [place for place, request in enumerate(requests) if request.task_name not in self._evaluation.tasks]
        ours = [request for request, *_ in dealt]
        asked = [*(requests[place] for place in others), *ours]
        replies = iter(ask(self._even_out(asked, ours, ranks)))
        answers = [Reply()] * len(requests)
        for place in others:
            answers[place] = next(replies, Reply())
        returned: list[dict[int, Reply]] = [{} for _ in range(ranks.size)]
        for _, sender, sent in dealt:
            returned[sender][sent.number] = next(replies, Reply())
        for answered in ranks.deliver(returned):
            for number, reply in answered.items():
                answers[places[number]] = reply
        return answers

    def _even_out(self, asked: list[Any], ours: Sequence[Any], ranks: Exchange) -> list[Any]:
        """Return requests with padding where ranks compute in step and each has to be asked as much as the others."""
        if not computes_in_step(self._model):
            return asked
        counts, examples = zip(*ranks.gather((len(asked), self._pack(ours[:1]))), strict=True)
        missing = max(counts) - len(asked)
        repeated = asked[-1:] or [self._unpack(example[0]) for example in examples if example][:1]
        if not missing or not repeated:
            return asked
        padding = copy.copy(repeated[0])
        padding.metadata = {**(padding.metadata or {}), PADDING: True}
        return asked + [padding] * missing


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

    dealt = _deal_units(units, cost, parts)
    return [dealt[row] + 1 for row in range(table.num_rows)]


@dataclass(frozen=True)
class PartOfRun(AskingStage):
    """Items that a run asks which is a part of another, or which takes a share of each task or a sample of groups."""

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

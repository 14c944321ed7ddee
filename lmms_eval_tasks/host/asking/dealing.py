"""Questions dealt to the ranks of an evaluation, so that a clip is encoded once."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from loguru import logger

from lmms_eval_tasks.host.asking.kept_answers import computes_in_step
from lmms_eval_tasks.host.asking.stages import PADDING, Ask, AskingStage, is_padding
from lmms_eval_tasks.host.ranks import Exchange, current_exchange
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.host.tasks.task_view import Encode
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.core.work import deal, join, no_progress
from lmms_eval_tasks.utils.data.clips import clip_lengths


def deal_units(units: Sequence[Sequence[int]], cost: Callable[[Sequence[int]], float], hands: int) -> dict[int, int]:
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
    dealt = deal_units(units, cost, ranks)
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

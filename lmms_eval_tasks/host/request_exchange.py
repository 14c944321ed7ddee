"""All questions about a clip are answered on one rank, whatever the adapter, so that no clip is encoded on several."""

from __future__ import annotations

import copy
import functools
import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from loguru import logger

from lmms_eval_tasks.host.answers import computes_in_step
from lmms_eval_tasks.host.deal_plan import Encode, deal_questions
from lmms_eval_tasks.host.evaluation import Evaluation
from lmms_eval_tasks.host.exchange import Exchange, current_exchange
from lmms_eval_tasks.host.models import is_ours
from lmms_eval_tasks.host.padding import PADDING, is_padding
from lmms_eval_tasks.host.wrapping import replaced_method
from lmms_eval_tasks.utils.core.progress import no_progress
from lmms_eval_tasks.utils.data.clips import clip_lengths

Ask = Callable[[list[Any]], Sequence[Any]]


class TaskMethod(NamedTuple):
    """Stands for a method of a task in a request that goes to another rank."""

    name: str


class AskedRequest(NamedTuple):
    """What the first rank has to know of a request to say who answers it."""

    task: str
    doc_id: int


class SentRequest(NamedTuple):
    """A request as it goes to the rank that answers it."""

    number: int
    request: bytes
    repeats: int


@contextmanager
def deal_clips(model: Any, evaluation: Evaluation, tasks: Mapping[str, Any]) -> Iterator[None]:
    """As long as it lasts, the questions of our tasks are answered on the rank that has their clip."""
    # As lmms-eval counts ranks; torch's process group may not be there yet.
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or not evaluation.clips_needed:
        yield
        return
    dealer = ClipDealer(model, evaluation, tasks)
    ask = functools.partial(dealer.generate_until, model.generate_until)
    with replaced_method(model, "generate_until", ask):
        yield


class ClipDealer:
    """Asks one model in one evaluation, on the ranks that have the clips."""

    def __init__(self, model: Any, evaluation: Evaluation, tasks: Mapping[str, Any]) -> None:
        self._model, self._evaluation, self._tasks = model, evaluation, tasks
        # What is wrapped for this evaluation, and our own models, talk to other ranks and so are called on all of them.
        # An adapter of lmms-eval is never called without a request.
        self._ask_for_nothing = "generate_until" in vars(model) or is_ours(type(model))

    def generate_until(self, ask: Ask, requests: list[Any]) -> list[Any]:
        """Answer requests in order, on whatever ranks; every rank has to call this."""
        ranks = current_exchange()
        if ranks.size == 1:
            return list(ask(requests))
        places = self._places(requests)
        own = [requests[all_[0]] for all_ in places]
        packed = self._pack(own)
        asked = None if packed is None else [AskedRequest(request.task_name, request.doc_id) for request in own]
        # Clips are opened on one rank, and ranks whose files have other names get the same deal.
        hands = ranks.gather_first(asked)
        answering = ranks.scatter(lambda: self._deal(hands))
        if packed is None or answering is None:
            if ranks.rank == 0:
                logger.warning(
                    "lmms_eval_tasks cannot keep the questions of a clip on one rank in this run: items are dealt to "
                    "ranks as lmms-eval does it, and a clip is encoded on several. Scores are the same."
                )
            return self._ask(ask, requests)
        letters: list[list[SentRequest]] = [[] for _ in range(ranks.size)]
        for number, (rank, data) in enumerate(zip(answering, packed, strict=True)):
            letters[rank].append(SentRequest(number, b"" if rank == ranks.rank else data, len(places[number])))
        return self._answer(ask, requests, ranks, places, ranks.deliver(letters))

    def _places(self, requests: Sequence[Any]) -> list[list[int]]:
        """The places of each request of ours: one that is to be answered several times has several."""
        places: dict[int, list[int]] = {}
        for place, request in enumerate(requests):
            if request.task_name in self._evaluation.tasks and not is_padding(request):
                places.setdefault(id(request), []).append(place)
        return list(places.values())

    def _pack(self, requests: Sequence[Any]) -> list[bytes] | None:
        """Requests as bytes; None where they cannot go to another rank."""
        try:
            return [pickle.dumps(self._detach(request)) for request in requests]
        except Exception as error:  # whatever pickle raises, the run goes on as lmms-eval has it
            logger.debug("Requests cannot go to another rank ({}: {}).", type(error).__name__, error)
            return None

    def _detach(self, request: Any) -> Any:
        """A request without the task that it belongs to."""
        task = self._tasks[request.task_name]
        detached = copy.copy(request)
        detached.arguments = tuple(
            TaskMethod(value.__name__)
            if callable(value) and getattr(task, getattr(value, "__name__", ""), None) == value
            else value
            for value in request.arguments
        )
        return detached

    def _attach(self, data: bytes) -> Any:
        """A request of another rank, from its bytes, with this rank's task."""
        request = pickle.loads(data)
        task = self._tasks[request.task_name]
        request.arguments = tuple(
            getattr(task, value.name) if isinstance(value, TaskMethod) else value for value in request.arguments
        )
        return request

    def _deal(self, hands: Sequence[Sequence[AskedRequest] | None]) -> list[list[int] | None]:
        """For each rank, which rank answers each of its requests; None for all where that cannot be known."""
        count = len(hands)
        unknown: list[list[int] | None] = [None] * count
        if None in hands:
            return unknown
        asked = [one for hand in hands for one in hand or ()]
        try:
            questions, lengths = self._read(asked)
        except Exception as error:  # a host that is built differently has other tasks, which can be asked all the same
            logger.debug("The clips of requests are not known ({}: {}).", type(error).__name__, error)
            return unknown
        clips = {encode.clip for encodes in questions for encode in encodes}
        if lacking := sorted(clips - lengths.keys()):
            lengths |= clip_lengths(lacking, no_progress, "opening clips")
        deal = deal_questions(questions, lengths, count)
        if clips:
            shares = [deal.seconds(rank) for rank in range(count)]
            logger.info(
                "The questions of a clip stay on one rank: {:,} clips, {:,} to {:,} s of video a rank.",
                len(clips), round(min(shares)), round(max(shares)),
            )  # fmt: skip
        answering = iter(deal.ranks)
        return [list(islice(answering, len(hand or ()))) for hand in hands]

    def _read(self, asked: Sequence[AskedRequest]) -> tuple[list[tuple[Encode, ...]], dict[Path, float | None]]:
        """What has to be encoded for each request, and the lengths of clips in seconds that the prepared tables say."""
        questions: list[tuple[Encode, ...]] = []
        lengths: dict[Path, float | None] = {}
        for one in asked:
            shown, row = self._evaluation.tasks[one.task].shown, self._tasks[one.task].eval_docs[one.doc_id]
            questions.append(shown.encodes(row))
            if (seconds := shown.seconds(row)) is not None:
                lengths |= dict.fromkeys((encode.clip for encode in questions[-1]), seconds)
        return questions, lengths

    def _answer(
        self,
        ask: Ask,
        requests: Sequence[Any],
        ranks: Exchange,
        places: Sequence[Sequence[int]],
        received: Sequence[Sequence[SentRequest]],
    ) -> list[Any]:
        """Answer what this rank is dealt, and get the answers to its own requests."""
        order = {task: place for place, task in enumerate(self._evaluation.tasks)}
        dealt = [
            (requests[places[sent.number][0]] if sender == ranks.rank else self._attach(sent.request), sender, sent)
            for sender, letter in enumerate(received)
            for sent in letter
        ]
        # Sorting keeps the order of the ranks, and that of a rank's requests, where the document is the same.
        dealt.sort(key=lambda one: (order[one[0].task_name], one[0].doc_id))
        others = [place for place, request in enumerate(requests) if request.task_name not in self._evaluation.tasks]
        asked = [requests[place] for place in others]
        for request, _, sent in dealt:
            asked += [request] * sent.repeats
        responses = iter(self._ask(ask, self._even_out(asked, [request for request, *_ in dealt], ranks)))
        answers: list[Any] = [""] * len(requests)
        for place in others:
            answers[place] = next(responses, "")
        returned: list[dict[int, list[Any]]] = [{} for _ in range(ranks.size)]
        for _, sender, sent in dealt:
            returned[sender][sent.number] = [next(responses, "") for _ in range(sent.repeats)]
        for answered in ranks.deliver(returned):
            for number, texts in answered.items():
                for place, answer in zip(places[number], texts, strict=True):
                    answers[place] = answer
        own = self._evaluation.unanswered | (getattr(self._model, "unanswered", None) or {})
        for unanswered in ranks.gather(own):
            self._evaluation.unanswered |= unanswered
        return answers

    def _even_out(self, asked: list[Any], ours: Sequence[Any], ranks: Exchange) -> list[Any]:
        """Requests with padding where ranks compute in step and each has to be asked as much as the others."""
        if not computes_in_step(self._model):
            return asked
        counts, examples = zip(*ranks.gather((len(asked), self._pack(ours[:1]))), strict=True)
        missing = max(counts) - len(asked)
        repeated = asked[-1:] or [self._attach(example[0]) for example in examples if example][:1]
        if not missing or not repeated:
            return asked
        padding = copy.copy(repeated[0])
        padding.metadata = {**(padding.metadata or {}), PADDING: True}
        return asked + [padding] * missing

    def _ask(self, ask: Ask, requests: list[Any]) -> list[Any]:
        return list(ask(requests)) if requests or self._ask_for_nothing else []

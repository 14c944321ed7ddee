"""All questions about a clip are answered on one rank, whatever the adapter, so that no clip is encoded on several.

lmms-eval deals documents to ranks by stride, one by one. As long as an evaluation runs, the model's method is wrapped
here: ranks exchange their requests, answer those that they are dealt, and give the answers back. All that lmms-eval
does before and after stays with the rank that it gave a document to: document indices, caches, grading and logs.
"""

from __future__ import annotations

import copy
import functools
import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from loguru import logger

from lmms_eval_tasks.host.answers import computes_in_step
from lmms_eval_tasks.host.deal_plan import Deal, deal_questions
from lmms_eval_tasks.host.evaluation import Evaluation
from lmms_eval_tasks.host.models import is_ours
from lmms_eval_tasks.host.padding import PADDING, is_padding
from lmms_eval_tasks.host.ranks import current_rank, gather_objects, world_size
from lmms_eval_tasks.host.wrapping import replaced_method
from lmms_eval_tasks.utils.core.progress import no_progress
from lmms_eval_tasks.utils.data.clips import clip_lengths

Ask = Callable[[list[Any]], Sequence[Any]]


class TaskMethod(NamedTuple):
    """Stands for a method of a task in a request that goes to another rank."""

    name: str


@dataclass(frozen=True)
class SentRequest:
    """A request as it goes to other ranks.

    Attributes:
        request: lmms-eval's request, in which names stand for the methods of its task.
        repeats: How many answers are wanted.
    """

    request: Any
    repeats: int


@contextmanager
def deal_clips(model: Any, evaluation: Evaluation, tasks: Mapping[str, Any]) -> Iterator[None]:
    """As long as it lasts, the questions of our tasks are answered on the rank that has their clip.

    Nothing changes on one rank, and for models that look at no clip. `evaluation.deal` says who got what.

    Args:
        model: The model. All ranks have to call its `generate_until`.
        evaluation: Our state of the evaluation.
        tasks: lmms-eval's objects of our tasks, by their names.
    """
    # As lmms-eval counts ranks; torch's process group may not be there yet.
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or not evaluation.clips_needed:
        yield
        return
    dealer = ClipDealer(model, evaluation, tasks)
    ask = functools.partial(dealer.generate_until, model.generate_until)
    with replaced_method(model, "generate_until", ask):
        yield


class ClipDealer:
    """Asks one model in one evaluation, on the ranks that have the clips.

    Args:
        model: The model.
        evaluation: Our state of the evaluation.
        tasks: lmms-eval's objects of our tasks, by their names.
    """

    def __init__(self, model: Any, evaluation: Evaluation, tasks: Mapping[str, Any]) -> None:
        self._model, self._evaluation, self._tasks = model, evaluation, tasks
        # What is wrapped for this evaluation, and our own models, talk to other ranks and so are called on all of them.
        # An adapter of lmms-eval is never called without a request.
        self._ask_for_nothing = "generate_until" in vars(model) or is_ours(type(model))

    def generate_until(self, ask: Ask, requests: list[Any]) -> list[Any]:
        """Answer requests in order, on whatever ranks; every rank has to call this.

        Args:
            ask: The model's own method.
            requests: lmms-eval's requests on this rank.
        """
        if world_size() == 1:
            return list(ask(requests))
        places = self._places(requests)
        hands = [self._unpack(packed) for packed in gather_objects(self._pack(requests, places))]
        sent = [one for hand in hands for one in hand or ()]
        known = all(hand is not None for hand in hands)
        # Clips are opened on one rank, and ranks whose files have other names get the same deal.
        deal = gather_objects(self._deal(sent) if known and current_rank() == 0 else None)[0]
        if deal is None:
            if current_rank() == 0:
                logger.warning(
                    "lmms_eval_tasks cannot keep the questions of a clip on one rank in this run: items are dealt to "
                    "ranks as lmms-eval does it, and a clip is encoded on several. Scores are the same."
                )
            return self._ask(ask, requests)
        self._evaluation.deal = deal
        first = sum(len(hand or ()) for hand in hands[: current_rank()])
        mine = dict(zip(range(first, first + len(places)), places.values(), strict=True))
        return self._answer(ask, requests, sent, deal, mine)

    def _places(self, requests: Sequence[Any]) -> dict[int, list[int]]:
        """The places of each request of ours, by its identity: one that is to be answered several times has several."""
        places: dict[int, list[int]] = {}
        for place, request in enumerate(requests):
            if request.task_name in self._evaluation.tasks and not is_padding(request):
                places.setdefault(id(request), []).append(place)
        return places

    def _pack(self, requests: Sequence[Any], places: Mapping[int, Sequence[int]]) -> bytes | None:
        """This rank's requests as bytes; None where they cannot go to another rank."""
        try:
            return pickle.dumps([SentRequest(self._detach(requests[all_[0]]), len(all_)) for all_ in places.values()])
        except Exception as error:  # whatever pickle raises, the run goes on as lmms-eval has it
            logger.debug("Requests cannot go to another rank ({}: {}).", type(error).__name__, error)
            return None

    def _unpack(self, packed: bytes | None) -> list[SentRequest] | None:
        return None if packed is None else pickle.loads(packed)

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

    def _attach(self, request: Any) -> Any:
        """A request of another rank with this rank's task."""
        task = self._tasks[request.task_name]
        attached = copy.copy(request)
        attached.arguments = tuple(
            getattr(task, value.name) if isinstance(value, TaskMethod) else value for value in request.arguments
        )
        return attached

    def _deal(self, sent: Sequence[SentRequest]) -> Deal | None:
        """Who answers which request; None where that cannot be known."""
        try:
            questions = [
                self._evaluation.tasks[one.request.task_name].shown.encodes(
                    self._tasks[one.request.task_name].eval_docs[one.request.doc_id]
                )
                for one in sent
            ]
        except Exception as error:  # a host that is built differently has other tasks, which can be asked all the same
            logger.debug("The clips of requests are not known ({}: {}).", type(error).__name__, error)
            return None
        clips = {encode.clip for encodes in questions for encode in encodes}
        deal = deal_questions(questions, clip_lengths(sorted(clips), no_progress, "opening clips"), world_size())
        if clips:
            shares = [deal.seconds(rank) for rank in range(world_size())]
            logger.info(
                "The questions of a clip stay on one rank: {:,} clips, {:,} to {:,} s of video a rank.",
                len(clips), round(min(shares)), round(max(shares)),
            )  # fmt: skip
        return deal

    def _answer(
        self,
        ask: Ask,
        requests: Sequence[Any],
        sent: Sequence[SentRequest],
        deal: Deal,
        mine: Mapping[int, Sequence[int]],
    ) -> list[Any]:
        """Answer what this rank is dealt, and get the answers to its own requests.

        Args:
            ask: The model's own method.
            requests: This rank's requests.
            sent: The requests of ours of all ranks.
            deal: Who answers them.
            mine: Those of `sent` that are this rank's own, and their places in its requests.
        """
        order = {task: place for place, task in enumerate(self._evaluation.tasks)}
        dealt = sorted(
            (number for number, rank in enumerate(deal.ranks) if rank == current_rank()),
            key=lambda number: (order[sent[number].request.task_name], sent[number].request.doc_id, number),
        )
        others = [place for place, request in enumerate(requests) if request.task_name not in self._evaluation.tasks]
        asked = [requests[place] for place in others]
        for number in dealt:
            own = mine.get(number)
            request = requests[own[0]] if own else self._attach(sent[number].request)
            asked += [request] * sent[number].repeats
        responses = iter(self._ask(ask, self._even_out(asked, sent)))
        answers: list[Any] = [""] * len(requests)
        for place in others:
            answers[place] = next(responses, "")
        given = {number: [next(responses, "") for _ in range(sent[number].repeats)] for number in dealt}
        for returned in gather_objects({number: texts for number, texts in given.items() if number not in mine}):
            given |= {number: texts for number, texts in returned.items() if number in mine}
        for unanswered in gather_objects(getattr(self._model, "unanswered", None) or {}):
            self._evaluation.unanswered |= unanswered
        for number, places in mine.items():
            for place, answer in zip(places, given[number], strict=True):
                answers[place] = answer
        return answers

    def _even_out(self, asked: list[Any], sent: Sequence[SentRequest]) -> list[Any]:
        """Requests with padding where ranks compute in step and each has to be asked as much as the others."""
        if not computes_in_step(self._model):
            return asked
        missing = max(gather_objects(len(asked))) - len(asked)
        if not missing or not (asked or sent):
            return asked
        padding = copy.copy(asked[-1] if asked else self._attach(sent[0].request))
        padding.metadata = {**(padding.metadata or {}), PADDING: True}
        return asked + [padding] * missing

    def _ask(self, ask: Ask, requests: list[Any]) -> list[Any]:
        return list(ask(requests)) if requests or self._ask_for_nothing else []

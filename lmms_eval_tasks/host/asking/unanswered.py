"""Answers that never came: failed requests as lmms-eval's adapters put them, clips that cannot be decoded, and a run in
which nothing was answered.
"""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_eval_tasks.host.asking.samples import sample_of
from lmms_eval_tasks.host.asking.servers import sends_each_alone
from lmms_eval_tasks.host.asking.stages import Ask, AskingStage, is_padding, secrets_of
from lmms_eval_tasks.host.model.identity import find_arguments, is_ours
from lmms_eval_tasks.host.model.readers import ClipReader, find_reader
from lmms_eval_tasks.host.ranks import describe_exception, gather_objects
from lmms_eval_tasks.host.tasks.running import Evaluation, TaskRequests, TaskState
from lmms_eval_tasks.host.tasks.task_view import describe_seen
from lmms_eval_tasks.utils.answers.reply import EMPTY, NOTHING_SAID, Reply
from lmms_eval_tasks.utils.core.text import first_line
from lmms_eval_tasks.utils.data.clips import FrameStream
from lmms_eval_tasks.utils.data.home import placeholder_path
from lmms_eval_tasks.utils.data.release import UnreadableClip
from lmms_eval_tasks.utils.scoring.record import UnscoredReason


class NotedReplies(AskingStage):
    """Notes, for who grades an item, what its text and counts do not say of a reply."""

    def __init__(self, tasks: Mapping[str, TaskRequests]) -> None:
        self._tasks = tasks

    def answer(self, ask: Ask, requests: list[Any]) -> list[Reply]:
        replies = ask(requests)
        for request, reply in zip(requests, replies, strict=True):
            of_task = self._tasks.get(request.task_name)
            if of_task and not reply.is_plain and not is_padding(request):
                of_task.note(request.doc_id, sample_of(request), reply)
        return replies


class FailedRequests(AskingStage):
    """Marks empty texts of lmms-eval's adapters that stand for failed requests as such, with the reason."""

    def __init__(self, model: Any) -> None:
        self._is_ours, self._secrets = is_ours(type(model)), secrets_of(model)
        self._heard: list[str] = []

    @contextmanager
    def during(self) -> Iterator[None]:
        listener = None if self._is_ours else logger.add(self._hear, level="WARNING", filter="lmms_eval.models")
        try:
            yield
        finally:
            with suppress(ValueError):  # lmms-eval has taken all listeners away
                if listener is not None:
                    logger.remove(listener)

    def _hear(self, message: object) -> None:
        if isinstance(error := sys.exc_info()[1], Exception):
            self._heard.append(describe_exception(error))

    def answer(self, ask: Ask, requests: list[Any]) -> list[Reply]:
        if self._is_ours:
            return ask(requests)
        self._heard.clear()
        return list(map(self._explain, ask(requests)))

    def _explain(self, reply: Reply) -> Reply:
        """Return a reply; what an adapter logged is the reason where it is empty and no server says anything of it."""
        is_heard = reply.silence != EMPTY or reply.finish != NOTHING_SAID
        return reply if is_heard or not self._heard else Reply.failed(self._heard[-1], reply.counts, self._secrets)


def describe_silence(tasks: Sequence[TaskState]) -> str | None:
    """Return why a run is not worth saving, in which nothing was answered; None of any other run."""
    is_heard = any(gather_objects(any(state.is_heard for state in tasks)))
    own = {(state.name, item): why for state in tasks for item, why in state.silent.items()}
    silent = {item: why for rank in gather_objects(own) for item, why in rank.items()}
    if not silent:
        return None
    number = f"{len(silent):,} {'item has' if len(silent) == 1 else 'items have'} no answer"
    texts = Counter(": ".join(filter(None, (reason.value, detail))) for reason, detail in silent.values())
    reasons = [f"{text} ({count:,})" if len(texts) > 1 else text for text, count in texts.most_common(3)]
    why = "; ".join(reasons).rstrip(".")
    if is_heard:
        logger.warning("{} and are unscored: {}. The same command asks them again.", number, why)
        return None
    return f"Nothing was answered, so no result was saved: {number}: {why}. The same command asks again."


FRAMES = 8
"""How many frames of a clip a model's reader is tried with; fewer of a shorter one."""
ENOUGH = 3
"""After so many failed requests in a row about clips that can be decoded, others are taken to have failed likewise."""


class UnreadableClips(AskingStage):
    """Leaves out items whose clip cannot be decoded, over which lmms-eval's adapters would end the run."""

    def __init__(self, model: Any, evaluation: Evaluation) -> None:
        self._model, self._evaluation = model, evaluation
        # What shares a batch with such a clip fails with it.
        self._fails_alone = sends_each_alone(model)

    def answer(self, ask: Ask, requests: list[Any]) -> list[Reply]:
        """Answer requests, and ask again for those that failed with one whose clip is at fault."""
        if not self._evaluation.clips_needed:
            return ask(requests)
        places: Sequence[int] = range(len(requests))
        try:
            replies = ask(requests)
        except Exception as error:  # of a decoder, in whatever adapter
            faults = {} if self._fails_alone else self._find_faults(requests, places)
            if not faults:
                shown = (state.shown_last for state in self._evaluation.tasks.values() if state.shown_last)
                if last := max(shown, key=lambda one: one.when, default=None):
                    where = f"{last.item}, of which it was shown {describe_seen(last.visuals)}"
                    logger.error("The model failed at {}: {}", where, describe_exception(error))
                raise
            replies = [Reply()] * len(requests)
        else:
            places = [place for place, reply in enumerate(replies) if reply.missing is UnscoredReason.FAILED]
            faults = self._find_faults(requests, places, patience=ENOUGH)
        if not faults:
            return replies
        rest = [place for place in places if place not in faults] if not self._fails_alone else []
        again = dict(zip(rest, ask([requests[place] for place in rest]) if rest else (), strict=False))
        return [faults.get(place) or again.get(place, reply) for place, reply in enumerate(replies)]

    def _find_faults(
        self, requests: Sequence[Any], places: Sequence[int], patience: int | None = None
    ) -> dict[int, Reply]:
        """Return, by their places, the replies to those of some requests of our tasks whose clips cannot be decoded."""
        faults: dict[int, Reply] = {}
        if not places:
            return faults
        reader = None
        with suppress(Exception):  # `ready_reader` has named it
            reader = find_reader(type(self._model), find_arguments(self._model) or {})
        find = functools.cache(functools.partial(find_fault, reader=reader))
        innocent = 0
        for place in places:
            state = self._evaluation.tasks.get(requests[place].task_name)
            if state is None or is_padding(requests[place]):
                continue
            if innocent == patience:
                break
            doc_id, task, split = requests[place].args[-3:]
            row, sound = self._model.task_dict[task][split][doc_id], placeholder_path(state.benchmark.name)
            fault = next(filter(None, (find(clip, sound) for clip in state.shown.clips(row))), None)
            innocent = 0 if fault else innocent + 1
            if fault:
                logger.warning("{} of {} is unscored: {}", row["item_id"], state.name, fault)
                faults[place] = Reply(missing=UnscoredReason.UNREADABLE_CLIP, detail=fault)
        return faults


def find_fault(clip: Path, sound: Path, reader: ClipReader | None) -> str | None:
    try:
        with FrameStream(clip) as stream:
            count = sum(1 for _ in stream.frames(as_stored=True))
    except UnreadableClip as error:
        return str(error)
    problem = _try_to_read(reader, clip, count) if reader else None
    return problem if problem and reader and not _try_to_read(reader, sound, FRAMES) else None


def _try_to_read(reader: ClipReader, clip: Path, count: int) -> str | None:
    try:
        reader.read(clip, max(2, min(FRAMES, count) // 2 * 2))
    except Exception as error:  # whatever a reader raises
        return f"Expected {clip} to be read by {reader.name}, but {type(error).__name__}: {first_line(error)}"
    return None

"""Answers that never came: how lmms-eval's adapters say so in place of an answer, and a run that got none."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from loguru import logger

from lmms_eval_tasks.host.asking.stages import Ask, AskingStage
from lmms_eval_tasks.host.model.answer_forms import is_ours
from lmms_eval_tasks.host.ranks import describe_exception, gather_objects
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.utils.answers.opening import FAILED, NO_CONTENT


class FailedRequests(AskingStage):
    """Marks empty texts of lmms-eval's adapters that stand for failed requests as such, with the reason."""

    def __init__(self, model: Any) -> None:
        self._is_ours = is_ours(type(model))
        self._heard: list[str] = []

    @contextmanager
    def during(self) -> Iterator[None]:
        """Listen to the exceptions that adapters log."""
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

    def answer(self, ask: Ask, requests: list[Any]) -> list[Any]:
        """Answer requests, and name the failures among them."""
        if self._is_ours:
            return ask(requests)
        self._heard.clear()
        return [as_answer(response, self._heard) for response in ask(requests)]


def as_answer(response: Any, heard: Sequence[str] = ()) -> Any:
    """Return an adapter's response, without its text if that stands for no answer; exceptions that it logged give the
    reason."""
    from lmms_eval.api.instance import GenerationResult, unwrap_generation_output

    text, counts = (None, None) if response is None else unwrap_generation_output(response)
    if text is None or text == NO_CONTENT:
        text = ""
    elif not isinstance(text, str) or text.strip():
        return response
    if heard and not (counts and counts.output_tokens):
        text = f"{FAILED} {heard[-1]}"
    return text if counts is None else GenerationResult(text, counts)


def describe_silence(evaluation: Evaluation) -> str | None:
    """Return the message about a run in which nothing was answered, or None for any other run."""
    is_heard = any(gather_objects(evaluation.is_heard))
    unanswered = {item: why for rank in gather_objects(evaluation.unanswered) for item, why in rank.items()}
    if not unanswered:
        return None
    number = f"{len(unanswered):,} {'item has' if len(unanswered) == 1 else 'items have'} no answer"
    texts = Counter(": ".join(filter(None, (reason.value, detail))) for reason, detail in unanswered.values())
    why = "; ".join(f"{text} ({count:,})" if len(texts) > 1 else text for text, count in texts.most_common(3)).rstrip(
        "."
    )
    if is_heard:
        logger.warning("{} and are unscored: {}. The same command asks them again.", number, why)
        return None
    return f"Nothing was answered, so no result was saved: {number}: {why}. The same command asks again."

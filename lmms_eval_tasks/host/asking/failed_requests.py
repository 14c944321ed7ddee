"""Answers that never came: how lmms-eval's adapters say so in place of an answer, and a run that got none."""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from loguru import logger

from lmms_eval_tasks.host.model.answer_forms import FAILED, NO_CONTENT, is_ours
from lmms_eval_tasks.host.ranks import describe_exception, gather_objects
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.host.wrapping import replaced_method


@contextmanager
def name_failures(model: Any) -> Iterator[None]:
    """Mark empty texts that stand for failed requests as such, with the reason, as long as the context lasts."""
    if is_ours(type(model)):
        yield
        return
    heard: list[str] = []

    def hear(message: object) -> None:
        if isinstance(error := sys.exc_info()[1], Exception):
            heard.append(describe_exception(error))

    ask = model.generate_until

    @functools.wraps(ask)
    def generate_until(requests: list[Any]) -> list[Any]:
        heard.clear()
        return [as_answer(response, heard) for response in ask(requests)]

    listener = logger.add(hear, level="WARNING", filter="lmms_eval.models")
    try:
        with replaced_method(model, "generate_until", generate_until):
            yield
    finally:
        with suppress(ValueError):  # lmms-eval has taken all listeners away
            logger.remove(listener)


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

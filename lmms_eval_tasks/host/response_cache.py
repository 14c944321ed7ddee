"""lmms-eval's own response cache on several ranks."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lmms_eval_tasks.host.failed_requests import NO_CONTENT, why_no_answer
from lmms_eval_tasks.host.wrapping import replaced_method

GENERATE = "generate_until"


@contextmanager
def keep_failures_out(cache: Any) -> Iterator[None]:
    """As long as it lasts, lmms-eval's response cache neither keeps nor gives what stands in place of an answer."""
    look_up, is_valid = getattr(cache, "_lookup", None), getattr(cache, "_is_valid_response", None)
    if look_up is None or is_valid is None:
        yield
        return

    def is_answer(response: Any) -> bool:
        text = getattr(response, "text", response)
        return text != NO_CONTENT and not why_no_answer(text)

    with (
        replaced_method(cache, "_lookup", lambda key: one if is_answer(one := look_up(key)) else None),
        replaced_method(cache, "_is_valid_response", lambda one, kind: is_valid(one, kind) and is_answer(one)),
    ):
        yield


@contextmanager
def ask_on_every_rank(model: Any, cache: Any) -> Iterator[None]:
    """As long as it lasts, a model's `generate_until` is called on every rank, with nothing where a cache knows all."""
    execute = getattr(cache, "execute", None)
    if execute is None or int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield
        return
    generate, calls = model.generate_until, 0

    @functools.wraps(generate)
    def generate_and_count(requests: list[Any]) -> Any:
        nonlocal calls
        calls += 1
        return generate(requests)

    @functools.wraps(execute)
    def execute_on_every_rank(lm: Any, reqtype: str, requests: list[Any]) -> Any:
        before = calls
        responses = execute(lm, reqtype, requests)
        if reqtype == GENERATE and calls == before:
            model.generate_until([])
        return responses

    with (
        replaced_method(model, GENERATE, generate_and_count),
        replaced_method(cache, "execute", execute_on_every_rank),
    ):
        yield

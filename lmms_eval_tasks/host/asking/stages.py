"""One wrapper of the model that lmms-eval asks, with a list of stages that each request goes through."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from typing import Any
from unittest.mock import patch

from lmms_eval_tasks.host.model.identity import is_ours
from lmms_eval_tasks.utils.answers.opening import NO_CONTENT, why_no_answer

GENERATE = "generate_until"
"""The method by which a model answers every one of our tasks."""
EACH = "generate_each"
"""A model's method that gives answers as they come, if it has one; its `generate_until` then calls it."""
SINGLE = "maybe_forward_with_tool"
"""The method by which `async_openai` answers one request. This adapter is asked for all at once, and its answers are
taken from here: its connections belong to one call, and in a second call it would send requests twice."""
PADDING = "__padding_only__"
"""The entry of a request's metadata that lmms-eval gives those that are there only so that ranks have as many."""

Ask = Callable[[list[Any]], list[Any]]


def is_padding(request: Any) -> bool:
    """Whether a request is there only to make ranks equal; nobody reads its answer."""
    return bool((getattr(request, "metadata", None) or {}).get(PADDING))


class AskingStage:
    """One thing that happens around a model's answers; by itself it changes nothing."""

    def during(self) -> AbstractContextManager[object]:
        """Return a context for the evaluation."""
        return nullcontext()

    def answer(self, ask: Ask, requests: list[Any]) -> list[Any]:
        """Answer requests in order; `ask` is the next stage, or the model."""
        return ask(requests)

    def call(self, requests: list[Any]) -> AbstractContextManager[object]:
        """Return a context for a call of the model's own method, of which there may be several."""
        return nullcontext()


class AskedModel:
    """A model in one evaluation, with its stages, the outermost first."""

    def __init__(self, model: Any, *stages: AskingStage) -> None:
        self._model, self._stages, self._calls = model, stages, 0

    @contextmanager
    def lasting(self, cache: Any = None) -> Iterator[None]:
        """Have the model's answers go through the stages, also behind lmms-eval's response cache."""
        with ExitStack() as stack:

            def replace(owner: Any, name: str, method: Callable[..., Any]) -> None:
                original = getattr(owner, name)
                stack.enter_context(patch.object(owner, name, functools.wraps(original)(partial(method, original))))

            if hasattr(self._model, EACH):
                replace(self._model, EACH, self._call_each)
            replace(self._model, GENERATE, self._answer)
            if hasattr(cache, "_lookup") and hasattr(cache, "_is_valid_response"):
                replace(cache, "_lookup", lambda find, key: one if _is_answer(one := find(key)) else None)
                replace(cache, "_is_valid_response", lambda check, one, kind: check(one, kind) and _is_answer(one))
            if hasattr(cache, "execute") and int(os.environ.get("WORLD_SIZE", "1")) > 1:
                replace(cache, "execute", self._execute)
            for stage in reversed(self._stages):
                stack.enter_context(stage.during())
            yield

    def _answer(self, generate: Ask, requests: list[Any]) -> list[Any]:
        self._calls += 1
        ask: Ask = partial(self._call, generate)
        for stage in reversed(self._stages):
            ask = partial(stage.answer, ask)
        return ask(requests)

    def _call(self, generate: Ask, requests: list[Any]) -> list[Any]:
        # An adapter of lmms-eval is never called without a request; our own models then work for other ranks.
        if not requests and not is_ours(type(self._model)):
            return []
        if hasattr(self._model, EACH):
            return generate(requests)
        with self._calling(requests):
            return generate(requests)

    def _call_each(self, generate: Callable[[list[Any]], Iterator[Any]], requests: list[Any]) -> Iterator[Any]:
        with self._calling(requests):
            yield from generate(requests)

    @contextmanager
    def _calling(self, requests: list[Any]) -> Iterator[None]:
        with ExitStack() as stack:
            for stage in self._stages:
                stack.enter_context(stage.call(requests))
            yield

    def _execute(self, execute: Callable[..., Any], lm: Any, reqtype: str, requests: list[Any]) -> Any:
        """Call the model on every rank, with no requests where the cache knows all: stages talk to other ranks."""
        before = self._calls
        responses = execute(lm, reqtype, requests)
        if reqtype == GENERATE and self._calls == before:
            self._model.generate_until([])
        return responses


def _is_answer(response: Any) -> bool:
    """Whether the response cache may keep, or give, a response: not what stands in place of an answer."""
    text = getattr(response, "text", response)
    return text != NO_CONTENT and not why_no_answer(text)

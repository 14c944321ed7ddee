"""One wrapper of the model that lmms-eval asks, with a list of stages that each request goes through."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from time import perf_counter
from typing import Any
from unittest.mock import patch

from lmms_eval_tasks.host.model.identity import find_arguments, get_nested_attr, is_ours
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.core.text import secret_forms

GENERATE = "generate_until"
"""The method by which a model answers every one of our tasks."""
EACH = "generate_each"
"""A model's method that gives answers as they come, with the places of their requests, if it has one; it is then asked
by this one alone."""
PADDING = "__padding_only__"
"""The entry of a request's metadata that lmms-eval gives those that are there only so that ranks have as many."""

Ask = Callable[[list[Any]], list[Reply]]


def is_padding(request: Any) -> bool:
    """Whether a request is there only to make ranks equal; nobody reads its answer."""
    return bool((getattr(request, "metadata", None) or {}).get(PADDING))


class AskingStage:
    """One thing that happens around a model's answers; by itself it changes nothing."""

    def during(self) -> AbstractContextManager[object]:
        """Return a context for the evaluation."""
        return nullcontext()

    def answer(self, ask: Ask, requests: list[Any]) -> list[Reply]:
        """Answer requests in order; `ask` is the next stage, or the model."""
        return ask(requests)

    def facts(self) -> Mapping[str, Any]:
        """Return what it has found when the evaluation has ended, by the names of `FinishedRun`."""
        return {}

    def before(self, requests: list[Any]) -> None:
        """Prepare a call of the model's own method, of which there may be several."""

    def after(self, requests: list[Any], seconds: float) -> None:
        """Note such a call that did not fail."""


class AskedModel:
    """A model in one evaluation, with its stages, the outermost first."""

    def __init__(self, model: Any, *stages: AskingStage) -> None:
        self._model, self._stages, self._calls = model, stages, 0
        # A model may be called for each request: what a stage has not of its own is passed over.
        self._answering = [stage for stage in stages if type(stage).answer is not AskingStage.answer]
        self._before = [stage.before for stage in stages if type(stage).before is not AskingStage.before]
        self._after = [stage.after for stage in stages if type(stage).after is not AskingStage.after]
        self._secrets = None if is_ours(type(model)) else secrets_of(model)

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
                replace(cache, "_lookup", lambda find, key: one if _may_be_kept(one := find(key)) else None)
                replace(cache, "_is_valid_response", lambda check, one, kind: check(one, kind) and _may_be_kept(one))
            if hasattr(cache, "execute") and int(os.environ.get("WORLD_SIZE", "1")) > 1:
                replace(cache, "execute", self._execute)
            for stage in reversed(self._stages):
                stack.enter_context(stage.during())
            yield

    def facts(self) -> dict[str, Any]:
        """Return what all stages have found."""
        return {name: value for stage in self._stages for name, value in stage.facts().items()}

    def _answer(self, generate: Callable[[list[Any]], list[Any]], requests: list[Any]) -> list[Any]:
        self._calls += 1
        ask: Ask = partial(self._call, generate)
        for stage in reversed(self._answering):
            ask = partial(stage.answer, ask)
        return list(map(as_output, ask(requests)))

    def _call(self, generate: Callable[[list[Any]], list[Any]], requests: list[Any]) -> list[Reply]:
        # An adapter of lmms-eval is never called without a request; our own models then work for other ranks.
        if not requests and not is_ours(type(self._model)):
            return []
        if hasattr(self._model, EACH):
            replies = dict(self._model.generate_each(requests))
            return [replies.get(place) or Reply() for place in range(len(requests))]
        with self._calling(requests):
            return list(map(self._read, generate(requests)))

    def _call_each(
        self, generate: Callable[[list[Any]], Iterator[Any]], requests: list[Any]
    ) -> Iterator[tuple[int, Reply]]:
        with self._calling(requests):
            for number, response in generate(requests):
                yield number, self._read(response)

    def _read(self, response: Any) -> Reply:
        return read_response(response, self._secrets)

    @contextmanager
    def _calling(self, requests: list[Any]) -> Iterator[None]:
        for prepare in self._before:
            prepare(requests)
        begun = perf_counter()
        yield
        seconds = perf_counter() - begun
        for note in self._after:
            note(requests, seconds)

    def _execute(self, execute: Callable[..., Any], lm: Any, reqtype: str, requests: list[Any]) -> Any:
        """Call the model on every rank, with no requests where the cache knows all: stages talk to other ranks."""
        before = self._calls
        responses = execute(lm, reqtype, requests)
        if reqtype == GENERATE and self._calls == before:
            self._model.generate_until([])
        return responses


def _may_be_kept(response: Any) -> bool:
    """Whether the response cache may keep, or give, a response: not what stands in place of an answer."""
    return not read_response(response).missing


def secrets_of(model: Any) -> tuple[str, ...]:
    """Return the keys that a model may have sent: those of the environment, of its arguments and of its client."""
    arguments = find_arguments(model) or {}
    of_client = str(get_nested_attr(model, "client", "api_key") or "")
    return secret_forms({**os.environ, **arguments, "client_api_key": of_client})


def read_response(response: Any, secrets: Sequence[str] | None = None) -> Reply:
    """Return the reply in what a model returned to lmms-eval; without `secrets` the text is not a server's."""
    if isinstance(response, Reply):
        return response
    content, counts = response, None
    if hasattr(response, "token_counts"):
        content, counts = response.text, response.token_counts
    elif isinstance(response, tuple) and len(response) == 2 and isinstance(response[0], str):
        content, counts = response
    return Reply.of_response(content, _read_counts(**counts) if isinstance(counts, Mapping) else counts, secrets)


def _read_counts(**numbers: Any) -> Any:
    from lmms_eval.api.instance import TokenCounts

    return TokenCounts(**{name: numbers.get(name) for name in TokenCounts.__dataclass_fields__})


def as_output(reply: Reply) -> Any:
    """Return a reply as models return it to lmms-eval."""
    from lmms_eval.api.instance import GenerationResult

    return reply.text if reply.counts is None else GenerationResult(reply.text, reply.counts)

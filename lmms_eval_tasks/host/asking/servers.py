"""Replies of servers, read where the clients of lmms-eval's `openai` and `async_openai` receive them: one by one, with
what a server says beside the text.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial, wraps
from typing import Any
from unittest.mock import patch

from lmms_eval_tasks.host.asking.stages import Ask, AskingStage, secrets_of
from lmms_eval_tasks.host.model.identity import get_nested_attr
from lmms_eval_tasks.host.ranks import describe_exception
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.core.text import hide_forms, hide_secrets, printable

SINGLE = "maybe_forward_with_tool"
"""The method by which `async_openai` answers one request. This adapter is asked for all at once, and its answers are
taken from here: its connections belong to one call, and in a second call it would send requests twice."""
THREADED = ("lmms_eval.models.chat.openai", "lmms_eval.models.simple.openai")
"""Modules of `openai`, which answers each request in a thread of its own."""
POOL = "ThreadPoolExecutor"
"""What makes these threads, as a module of `THREADED` names it."""
IN_A_ROW = 50
"""After so many requests in a row that cannot even be written, others are taken to fail likewise: more than a clip that
cannot be read has questions."""
TOOL_CALLS = "tool_calls"

Take = Callable[[Any, Reply], None]
"""Is given a request and the reply to it, in whatever thread."""

_HEARD: ContextVar[list[Reply] | None] = ContextVar("heard", default=None)
"""The replies that a client has received in answering one request."""


def sends_each_alone(model: Any) -> bool:
    """Whether a model answers each of many requests by itself, and its replies can be taken one by one."""
    return hasattr(model, SINGLE) or _is_threaded(model)


def _is_threaded(model: Any) -> bool:
    return _module_of(model).get("__name__") in THREADED and POOL in _module_of(model)


def _module_of(model: Any) -> dict[str, Any]:
    """Return the names of the module by whose code a model answers."""
    # Of the class: the object's own method is wrapped as long as an evaluation lasts.
    answer = inspect.unwrap(getattr(type(model), "generate_until", _module_of))
    return getattr(answer, "__globals__", {})


class ServerReplies(AskingStage):
    """Reads replies where they are received; the stage next to the model."""

    def __init__(self, model: Any) -> None:
        self._model, self._secrets = model, secrets_of(model)
        self._is_single, self._is_threaded = hasattr(model, SINGLE), _is_threaded(model)
        self._take: Take | None = None
        self._replies: dict[int, Reply] = {}
        """The replies to requests that are being answered, by the requests' identities."""
        self._written: Any = None
        """The request whose message was written last."""

    @contextmanager
    def during(self) -> Iterator[None]:
        client = get_nested_attr(self._model, "client", "chat", "completions")
        with ExitStack() as stack:
            sends_each = self._is_single or self._is_threaded
            if sends_each and callable(create := getattr(client, "create", None)):
                receive = self._receive_later if self._is_single else self._receive
                stack.enter_context(patch.object(client, "create", wraps(create)(partial(receive, create))))
            yield

    @contextmanager
    def taken_by(self, take: Take) -> Iterator[None]:
        """Have each reply taken as soon as it is there."""
        self._take = take
        try:
            yield
        finally:
            self._take = None

    def answer(self, ask: Ask, requests: list[Any]) -> list[Reply]:
        if self._is_single:
            with patch.object(self._model, SINGLE, partial(self._answer_one, getattr(self._model, SINGLE), requests)):
                replies = ask(requests)
            replies = [self._replies.get(id(one), reply) for one, reply in zip(requests, replies, strict=True)]
        elif self._is_threaded:
            replies = self._answer_threaded(ask, requests)
        else:
            return ask(requests)
        self._replies.clear()
        return replies

    async def _answer_one(self, answer: Callable[..., Any], requests: list[Any], request: Any, number: int) -> Any:
        heard: list[Reply] = []
        _HEARD.set(heard)
        text, _, counts = result = await answer(request, number)
        said = Reply.of_response(text, counts, self._secrets)
        if heard:  # of several, with tools between them, the adapter joins the texts
            said = replace(heard[-1], text="" if heard[-1].missing else said.text, counts=counts)
        self._note(requests[number], said)
        return result

    def _answer_threaded(self, ask: Ask, requests: list[Any]) -> list[Reply]:
        """Answer requests; one that cannot be written, as where its clip cannot be read, costs itself alone."""
        failed = 0
        with patch.dict(_module_of(self._model), {POOL: partial(WatchedThreads, self)}):
            while missing := [one for one in requests if id(one) not in self._replies]:
                before, self._written = len(self._replies), None
                try:
                    replies = ask([self._watched(one) for one in missing])
                except Exception as error:
                    failed = 1 if len(self._replies) > before else failed + 1
                    if self._written is None or failed >= IN_A_ROW:
                        raise
                    message = describe_exception(error)
                    self._replies[id(self._written)] = Reply.failed(message, secrets=self._secrets)
                else:
                    for one, reply in zip(missing, replies, strict=True):
                        self._replies.setdefault(id(one), reply)
        return [self._replies[id(one)] for one in requests]

    def _watched(self, request: Any) -> Any:
        """Return a copy of a request which says when its message is being written."""

        def note(write: Callable[..., Any], *arguments: Any) -> Any:
            self._written = request
            return write(*arguments)

        watched = copy.copy(request)
        watched.arguments = tuple(partial(note, one) if callable(one) else one for one in request.args)
        return watched

    def answer_in_thread(self, request: Any, answer: Callable[..., Any], *arguments: Any) -> Any:
        heard: list[Reply] = []
        _HEARD.set(heard)
        result = answer(*arguments)
        if heard:
            self._note(request, heard[-1])
        return result

    @property
    def written(self) -> Any:
        return self._written

    def _note(self, request: Any, reply: Reply) -> None:
        self._replies[id(request)] = reply
        if self._take:
            self._take(request, reply)

    def _receive(self, create: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        try:
            return self._read(create(*arguments, **named))
        except Exception as error:
            hide_in_error(error, self._secrets)
            raise

    async def _receive_later(self, create: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        try:
            return self._read(await create(*arguments, **named))
        except Exception as error:
            hide_in_error(error, self._secrets)
            raise

    def _read(self, completion: Any) -> Any:
        """Note a reply, and return it in the one shape that lmms-eval's adapters can read."""
        from lmms_eval.api.instance import TokenCounts

        choices, usage = getattr(completion, "choices", None), getattr(completion, "usage", None)
        if not choices:
            raise ValueError("The server's reply has no choices.")
        counts = None
        if usage:
            reasoning = get_nested_attr(usage, "completion_tokens_details", "reasoning_tokens") or 0
            counts = TokenCounts(usage.prompt_tokens or 0, usage.completion_tokens or 0, reasoning)
        reply = Reply.of_choice(choices[0], counts, self._secrets)
        if (heard := _HEARD.get()) is not None:
            heard.append(reply)
        choices[0].message.content = reply.text
        if choices[0].finish_reason == TOOL_CALLS and get_nested_attr(self._model, "mcp_client") is None:
            choices[0].finish_reason = "stop"  # nobody runs the tools, and `async_openai` would try to
        return completion


class WatchedThreads(ThreadPoolExecutor):
    """The threads of `openai`, each of which answers the request whose message was written before it began."""

    def __init__(self, replies: ServerReplies, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._of = replies

    def submit(self, answer: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        return super().submit(self._of.answer_in_thread, self._of.written, partial(answer, **named), *arguments)


def hide_in_error(error: Exception, secrets: Sequence[str]) -> None:
    """Take keys, and what a terminal would obey, out of an error in a server's words, before anybody logs it."""

    def clean(value: Any) -> Any:
        return printable(hide_secrets(hide_forms(value, secrets), {})) if isinstance(value, str) else value

    error.args = tuple(map(clean, error.args))
    if isinstance(getattr(error, "message", None), str):
        error.message = clean(error.message)  # type: ignore[attr-defined]

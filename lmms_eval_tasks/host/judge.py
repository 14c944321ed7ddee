"""Judges through lmms-eval's own ``llm_judge`` providers: any server that speaks OpenAI's protocol.

The providers are used for how they talk to a server, not for how they try again: theirs repeat after a fixed delay, the
OpenAI client below them repeats by itself, and neither knows of the other. Both are set to one try, and
`lmms_eval_tasks.utils.judge.client` alone decides what is asked again and when.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

from loguru import logger
from pydantic import BaseModel, ValidationError

from lmms_eval_tasks.host.local_judge import LocalModel
from lmms_eval_tasks.utils.core.arguments import parse_arguments
from lmms_eval_tasks.utils.core.problems import InputError, Problems
from lmms_eval_tasks.utils.core.redaction import hide_known_secrets, hide_secrets
from lmms_eval_tasks.utils.core.variables import JUDGE
from lmms_eval_tasks.utils.judge.cache import Reply, ReplyCache
from lmms_eval_tasks.utils.judge.client import Case, Judge, Send
from lmms_eval_tasks.utils.judge.record import ReplyRecord
from lmms_eval_tasks.utils.judge.server import message_content, server_error
from lmms_eval_tasks.utils.judge.settings import JudgeSettings

NO_JUDGE = "none"
LOCAL_MODEL = "transformers"
PROVIDERS = "lmms_eval.llm_judge.providers"
EXAMPLE = f"{JUDGE}=model=NAME,url=http://localhost:8000/v1,max_tokens=4096"

R = TypeVar("R", bound=BaseModel)
T = TypeVar("T")


def read_settings(text: str | None = None, optional: bool = False) -> JudgeSettings | None:
    """The judge that a user chose.

    Args:
        text: ``model=NAME,max_tokens=4096,…`` or a model's name alone; by default $LMMS_EVAL_TASKS_JUDGE. Where the
            text names no model or provider, lmms-eval's own MODEL_VERSION and API_TYPE do.
        optional: Whether an empty text means ``none``.

    Returns:
        The settings; None where the text is ``none``: nothing is judged in this run.

    Raises:
        InputError: where no model is named, or a setting is unknown or out of its range; all are listed.
    """
    choice = (os.environ.get(JUDGE, "") if text is None else text).strip()
    if choice == NO_JUDGE or (optional and not choice):
        return None
    problems = Problems()
    values: dict[str, str] = {}
    if model := os.environ.get("MODEL_VERSION"):
        values["model"] = model
    if provider := os.environ.get("API_TYPE"):
        values["provider"] = provider.lower()
    if choice and "=" not in choice:
        choice = f"model={choice}"
    values |= parse_arguments(choice)
    if "model" not in values:
        problems.add(
            "model",
            "Expected the name of the judge's model but found none.",
            f"name it, for instance {EXAMPLE}, or set {JUDGE}={NO_JUDGE} to run without a judge and judge later.",
        )
    try:
        settings = JudgeSettings.model_validate({"model": "?", **values})
    except ValidationError as error:
        for fault in error.errors(include_url=False):
            # The value of a setting that does not exist may be a key.
            got = "" if fault["type"] == "extra_forbidden" else f", but got {fault['input']!r}"
            problems.add(".".join(map(str, fault["loc"])), hide_secrets(f"{fault['msg']}{got}.", os.environ))
    problems.raise_if_any("The judge cannot be asked")
    return settings


def check_judge(optional: bool = False) -> None:
    """Refuse a choice of judge that could not be asked, before anything is. Nothing is sent to find out.

    Arguments and errors as for `read_settings`; errors also as for `open_judge`.
    """
    settings = read_settings(optional=optional)
    if settings is not None:
        _sender(settings)


def open_judge(
    schema: type[R],
    settings: JudgeSettings,
    cache: ReplyCache | None = None,
    record: ReplyRecord | None = None,
    spend: Callable[[], None] | None = None,
) -> Judge[R]:
    """A judge whose replies are of a schema, asked through lmms-eval; threads may share it.

    Accepted replies are kept in the cache, by default that of the data home; or every reply in a record, where there is
    one. `spend` is called before each request that is sent, and may raise ServerError to refuse it.

    Raises:
        InputError: where the server's address or key is missing. Nothing is sent to find out.
    """
    send = _sender(settings) if spend is None else _spending(_sender(settings), spend)
    if record is not None:
        return Judge(record.recording(send, settings.sampling), settings.sampling, schema, record, settings.limits)
    return Judge(send, settings.sampling, schema, cache or ReplyCache(), settings.limits)


def _spending(send: Send, spend: Callable[[], None]) -> Send:
    """What calls `spend` before it sends."""

    def send_once(case: Case) -> Reply:
        spend()
        return send(case)

    return send_once


def _sender(settings: JudgeSettings) -> Send:
    """What sends one case to a judge, without trying again."""
    if settings.provider == LOCAL_MODEL:
        if given := [name for name in ("url", "json_mode") if getattr(settings, name)]:
            raise InputError(f"Expected no {given[0]} for the provider {LOCAL_MODEL}, which asks no server.")
        return LocalModel(settings.sampling).reply
    server = _connect(settings)

    def send(case: Case) -> Reply:
        from lmms_eval.llm_judge import Request

        request = Request(messages=[{"role": "user", "content": message_content(case)}])
        try:
            with _quiet_provider():
                response = _within(settings.timeout, lambda: server.evaluate(request))
            texts = (str(response.content), str(response.model_used or settings.model))
            return Reply(*(hide_known_secrets(text, os.environ) for text in texts))
        except Exception as error:
            # Not `from error`: its text and its request hold the key.
            raise server_error(error) from None

    return send


def _connect(settings: JudgeSettings) -> Any:
    """One of lmms-eval's providers, set to try once."""
    from lmms_eval.llm_judge import ServerConfig, get_server

    config = ServerConfig(
        model_name=settings.model,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        top_p=settings.top_p,
        timeout=settings.timeout,
        num_retries=1,
        response_format="json" if settings.json_mode else None,
    )
    if settings.provider == "azure" and settings.url:
        raise InputError("Expected no url for the provider azure: it reads AZURE_ENDPOINT.")
    # After the import above, with which lmms-eval reads a .env file.
    settings.check_variables()
    server = get_server(settings.provider, config)
    if getattr(server, "use_client", False):
        # The client would repeat by itself, and wait ten minutes whatever the provider's timeout.
        address = {"base_url": settings.url} if settings.url else {}
        server.client = server.client.with_options(max_retries=0, timeout=settings.timeout, **address)
    elif settings.url:
        server.base_url = settings.url
        server.api_url = f"{settings.url.rstrip('/')}/chat/completions"
    return server


def _within(seconds: float, call: Callable[[], T]) -> T:
    """What a call returns or raises, unless it takes longer; it then goes on in a thread that nothing waits for.

    A client's own timeout starts anew with each byte, so that a server which sends slowly is never given up.

    Raises:
        TimeoutError: where it takes longer.
    """
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(call())
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=run, daemon=True, name="judge request").start()
    return result.result(seconds)


_under_way: set[object] = set()
_under_way_lock = threading.Lock()


@contextmanager
def _quiet_provider() -> Iterator[None]:
    """While our requests are under way, the providers do not log "All 1 attempts failed": it is not the last one.

    loguru switches a module's messages on and off for the whole process, so the requests are counted for all of it.
    """
    request = object()
    with _under_way_lock:
        _under_way.add(request)
        logger.disable(PROVIDERS)
    try:
        yield
    finally:
        with _under_way_lock:
            _under_way.remove(request)
            if not _under_way:
                logger.enable(PROVIDERS)

"""Judges through lmms-eval's own ``llm_judge`` providers: any server that speaks OpenAI's protocol.

The providers are used for how they talk to a server, not for how they try again: theirs repeat after a fixed delay, the
OpenAI client below them repeats by itself, and neither knows of the other. Both are set to one try, and
`lmms_eval_tasks.utils.judge.client` alone decides what is asked again and when.
"""

from __future__ import annotations

import base64
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any, Literal, TypeVar

from loguru import logger
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lmms_eval_tasks.host.local_judge import LocalModel
from lmms_eval_tasks.utils.core.arguments import parse_arguments
from lmms_eval_tasks.utils.core.problems import InputError, Problems
from lmms_eval_tasks.utils.core.redaction import hide_known_secrets, hide_secrets
from lmms_eval_tasks.utils.core.variables import JUDGE
from lmms_eval_tasks.utils.judge.cache import Reply, ReplyCache
from lmms_eval_tasks.utils.judge.client import Case, Judge, Limits, Sampling, ServerError
from lmms_eval_tasks.utils.judge.record import ReplyRecord

NO_JUDGE = "none"
LOCAL_MODEL = "transformers"
PROVIDERS = "lmms_eval.llm_judge.providers"
NEEDED = {"openai": ("OPENAI_API_KEY",), "azure": ("AZURE_API_KEY", "AZURE_ENDPOINT"), "local": ()}
ADDRESSES = {"openai": "OPENAI_API_URL", "azure": "AZURE_ENDPOINT", "local": "LLM_JUDGE_URL"}
EXAMPLE = f"{JUDGE}=model=NAME,url=http://localhost:8000/v1,max_tokens=4096"
SHOWN = 200
READ_OF_ERROR = 10_000
"""Characters of a server's error text that are looked at: it may be of any length."""

R = TypeVar("R", bound=BaseModel)
T = TypeVar("T")


class JudgeSettings(BaseModel):
    """How to reach a judge and how to ask it.

    Attributes:
        model: Name of the model, as its server knows it.
        provider: Which of lmms-eval's providers asks; ``local`` sends no key. ``transformers`` asks no server: the
            model is loaded in this process.
        url: Address of the server up to and with ``/v1``; None leaves it to the provider's own variable
            (OPENAI_API_URL, AZURE_ENDPOINT, LLM_JUDGE_URL).
        timeout: Seconds after which a request is given up, also where the server still sends.

    The others are those of `Sampling` and `Limits`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(min_length=1)
    provider: Literal["openai", "azure", "local", "transformers"] = "openai"
    url: str | None = None
    timeout: float = Field(default=120.0, gt=0.0, allow_inf_nan=False)
    temperature: float = Field(default=Sampling.temperature, ge=0.0, allow_inf_nan=False)
    top_p: float | None = Field(default=Sampling.top_p, gt=0.0, le=1.0)
    max_tokens: int = Field(default=Sampling.max_tokens, ge=1)
    json_mode: bool = Sampling.json_mode
    concurrent: int = Field(default=Limits.concurrent, ge=1, le=256)
    requests: int = Field(default=Limits.requests, ge=1, le=20)
    unreadable: int = Field(default=Limits.unreadable, ge=1, le=20)
    first_delay: float = Field(default=Limits.first_delay, ge=0.0, allow_inf_nan=False)
    longest_delay: float = Field(default=Limits.longest_delay, ge=0.0, allow_inf_nan=False)
    give_up_after: int = Field(default=Limits.give_up_after, ge=1)
    seed: int = Limits.seed

    @property
    def server(self) -> str:
        """Provider and address, the latter as given or as the provider's own variable says; empty for its default."""
        address = (self.url or os.environ.get(ADDRESSES.get(self.provider, ""), "")).rstrip("/")
        return f"{self.provider} {address.removesuffix('/chat/completions')}".rstrip()

    @property
    def sampling(self) -> Sampling:
        """What decides what the judge says."""
        return Sampling(**{name: getattr(self, name) for name in Sampling.__dataclass_fields__})

    @property
    def limits(self) -> Limits:
        """How much is asked at once, and how often again."""
        return Limits(**{name: getattr(self, name) for name in Limits.__dataclass_fields__})


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
    schema: type[R], settings: JudgeSettings, cache: ReplyCache | None = None, record: ReplyRecord | None = None
) -> Judge[R]:
    """A judge whose replies are of a schema, asked through lmms-eval; threads may share it.

    Accepted replies are kept in the cache, by default that of the data home; or every reply in a record, where there is
    one.

    Raises:
        InputError: where the server's address or key is missing. Nothing is sent to find out.
    """
    send = _sender(settings)
    if record is not None:
        return Judge(record.recording(send, settings.sampling), settings.sampling, schema, record, settings.limits)
    return Judge(send, settings.sampling, schema, cache or ReplyCache(), settings.limits)


def _sender(settings: JudgeSettings) -> Callable[[Case], Reply]:
    """What sends one case to a judge, without trying again."""
    if settings.provider == LOCAL_MODEL:
        if given := [name for name in ("url", "json_mode") if getattr(settings, name)]:
            raise InputError(f"Expected no {given[0]} for the provider {LOCAL_MODEL}, which asks no server.")
        return LocalModel(settings.sampling).reply
    server = _connect(settings)

    def send(case: Case) -> Reply:
        from lmms_eval.llm_judge import Request

        request = Request(messages=[{"role": "user", "content": _content(case)}])
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
    if unset := [name for name in NEEDED[settings.provider] if not os.environ.get(name)]:
        raise InputError(
            f"The judge {settings.model} cannot be asked: Expected {' and '.join(unset)} to be set.\n"
            "For a server that asks for no key, any text will do, or choose provider=local."
        )
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


def _content(case: Case) -> str | list[dict[str, Any]]:
    """A case as a message of OpenAI's protocol."""
    text = case.text.encode("utf-8", "replace").decode("utf-8")
    if not case.images:
        return text
    urls = [f"data:image/jpeg;base64,{base64.b64encode(image).decode('ascii')}" for image in case.images]
    return [{"type": "text", "text": text}, *({"type": "image_url", "image_url": {"url": url}} for url in urls)]


def server_error(error: Exception) -> ServerError:
    """What an exception of a provider says about asking again.

    Too many requests, timeouts, lost connections, errors of the server and replies without content may pass; a request
    that the server refuses, and a used-up quota, will not. This is the one place where a server's text enters ours, so
    keys and passwords in it are hidden here.
    """
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    kind = type(error).__name__
    if not isinstance(status, int):
        if isinstance(error, (AttributeError, IndexError, KeyError, TypeError)):
            # The provider looked for the text where OpenAI's protocol has it.
            return ServerError("reply without text", again=True)
        reason = "timed out" if "timeout" in kind.lower() else f"no reply ({kind}: {error})"
        return ServerError(_one_line(reason), again=True)
    headers: Mapping[str, str] = getattr(response, "headers", None) or {}
    if status == 429:
        if getattr(error, "code", None) == "insufficient_quota":
            return ServerError("quota used up (429)", again=False)
        return ServerError("too many requests (429)", again=True, wait=retry_after(headers))
    if status in (408, 409, 425) or status >= 500:
        return ServerError(f"server error ({status})", again=True, wait=retry_after(headers))
    if status in (401, 403):
        # Servers quote the key in their message, and the reason goes into logs.
        return ServerError(f"key refused ({status})", again=False)
    return ServerError(_one_line(f"request refused ({status}): {error}"), again=False)


def _one_line(text: str) -> str:
    """The beginning of a text as one line without secrets."""
    return " ".join(hide_secrets(text[:READ_OF_ERROR], os.environ).split())[:SHOWN]


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait, from ``Retry-After`` (seconds or a date); None where it does not say."""
    text = headers.get("retry-after") or headers.get("Retry-After")
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            until = parsedate_to_datetime(text)
        except (ValueError, TypeError, OverflowError, IndexError):
            return None
        if until.tzinfo is None:
            until = until.replace(tzinfo=timezone.utc)
        seconds = (until - datetime.now(timezone.utc)).total_seconds()
    return max(0.0, seconds) if isfinite(seconds) else None


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

"""Judges, language models that grade answers that no rule can grade, and the strict reading of their replies."""

from __future__ import annotations

import io
import logging
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel, ValidationError
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from lmms_eval_tasks.utils.answers.opening import content
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.forms import read_json
from lmms_eval_tasks.utils.core.text import JUDGE, first_line, hide_secrets, parse_arguments
from lmms_eval_tasks.utils.core.work import Progress, no_progress
from lmms_eval_tasks.utils.judge.replies import (
    LOCAL_MODEL,
    Case,
    JudgeReply,
    JudgeSettings,
    Limits,
    ReplyCache,
    ReplyRecord,
    Sampling,
    Send,
    ServerError,
    reply_key,
)

SHOWN = 200

M = TypeVar("M", bound=BaseModel)


class UnreadableReply(Exception):
    """A reply that is not what was asked for; the text is the reason, in one line."""


def read_reply(text: str, schema: type[M]) -> M:
    """Read a reply strictly: one JSON object of the schema and nothing else, no value converted, clamped or guessed."""
    answer = content(text)
    try:
        read_json(answer)
        return schema.model_validate_json(answer, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UnreadableReply(one_line(f"{where}: {first['msg']}" if where else first["msg"])) from None
    except ValueError as error:
        raise UnreadableReply(one_line(str(error))) from None


def one_line(text: str) -> str:
    return " ".join(text.split())[:SHOWN]


UNREADABLE = "unreadable reply: "
"""How the reason begins why replies could not be used."""
GIVEN_UP = "not asked"
"""How the reason begins why a case was not asked, because its server failed too often before."""

logger = logging.getLogger(__name__)

R = TypeVar("R")


@dataclass(frozen=True)
class Verdict(Generic[R]):
    """Outcome of one case: a reply, or the reason why there is none.

    Attributes:
        reply: The reply in the form that was asked for; None where the case is unscored.
        reason: Why it is unscored, in one line; None where it is scored.
        model: The model that replied, as its server names it; where the case is unscored, the model that was asked.
        prompt: Signature of the prompt: its id and the first eight digits of its SHA-256.
    """

    reply: R | None
    reason: str | None
    model: str
    prompt: str

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as JSON values."""
        reply = self.reply.model_dump(mode="json") if isinstance(self.reply, BaseModel) else self.reply
        return {**vars(self), "reply": reply}


NOT_JUDGED = "not judged in the run whose responses these are"


class LoggedVerdicts:
    """The verdicts of a finished run, given again to the same cases: `Restored.verdicts`.

    Args:
        verdicts: Cases and their verdicts in the log's order. Of equal cases each gets its own.
    """

    def __init__(self, verdicts: Iterable[tuple[Case, Verdict[Any]]]) -> None:
        self._waiting: dict[str, list[Verdict[Any]]] = {}
        for case, verdict in verdicts:
            self._waiting.setdefault(case.text, []).append(verdict)

    def judge(self, case: Case) -> Verdict[Any]:
        """The verdict on a case; one without a reply where the run had it not judged."""
        waiting = self._waiting.get(case.text)
        if not waiting:
            return Verdict(None, NOT_JUDGED, "none", case.prompt.signature)
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]


class Judge(Generic[R]):
    """Asks a judge; threads may share it.

    Replies are read strictly. An unreadable one and a failure that may pass are asked for again, as often as the limits
    say; then the case is unscored, with the reason. An accepted reply is kept, and its case is not asked again.

    Args:
        send: Sends one request and returns its reply, a text and the model's name, without trying again.
        sampling: How the model is asked; `sampling.model` is its name.
        schema: What a reply must be: a pydantic model of a JSON object, or a function that reads a text and raises
            `UnreadableReply`.
        cache: Where accepted replies are kept, by a digest of all that decides them.
        limits: How much is asked at once, and how often again; by default 8 requests at once, and for a case 6 requests
            and 3 unreadable replies.
    """

    def __init__(
        self,
        send: Send,
        sampling: Sampling,
        schema: type[R] | Callable[[str], R],
        cache: ReplyCache,
        limits: Limits | None = None,
    ) -> None:
        self.sampling = sampling
        self.limits = limits or Limits()
        self._send = send
        read: Any = schema
        if isinstance(schema, type) and issubclass(schema, BaseModel):
            read = partial(read_reply, schema=schema)
        self._read = cast(Callable[[str], R], read)
        self._cache = cache
        self._slots = threading.BoundedSemaphore(self.limits.concurrent)
        self._lock = threading.Lock()
        self._asked: dict[str, Future[Verdict[R]]] = {}
        """Key to the verdict of a case that is under way, or whose replies were unreadable."""
        self._resume_at = 0.0
        self._failed_in_a_row = 0

    def judge(self, case: Case) -> Verdict[R]:
        """Judge one case; raises nothing, whatever the server does.

        Equal cases at the same time are asked once, and those whose replies were unreadable are not asked again.
        """
        key, own = reply_key(self.sampling, case), Future[Verdict[R]]()
        with self._lock:
            first = self._asked.setdefault(key, own)
        if first is not own:
            return first.result()
        verdict: Verdict[R] | None = None
        try:
            verdict = self._find(key, case) or self._ask(key, case)
            own.set_result(verdict)
            return verdict
        except BaseException as error:
            own.set_exception(error)
            raise
        finally:
            if verdict is None or not (verdict.reason or "").startswith(UNREADABLE):
                with self._lock:
                    del self._asked[key]

    def judge_all(
        self, cases: Sequence[Case | Callable[[], Case | Verdict[R]]], progress: Progress = no_progress
    ) -> list[Verdict[R]]:
        """Judge cases, several at once.

        Args:
            cases: The cases, or what makes each when its turn comes, so that not all images are held at once; it may
                return a verdict in place of a case that cannot be asked about. What such a maker raises ends the
                whole, with the replies accepted until then kept.
            progress: Called after each case.

        Returns:
            The verdicts, in the order of the cases.
        """

        def judge_one(case: Case | Callable[[], Case | Verdict[R]]) -> Verdict[R]:
            made = case if isinstance(case, Case) else case()
            return self.judge(made) if isinstance(made, Case) else made

        with ThreadPoolExecutor(self.limits.concurrent, thread_name_prefix="judge") as pool:
            futures = [pool.submit(judge_one, case) for case in cases]
            try:
                for done, future in enumerate(as_completed(futures), start=1):
                    future.result()
                    progress("judging", done, len(futures))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return [future.result() for future in futures]

    def _find(self, key: str, case: Case) -> Verdict[R] | None:
        stored = self._cache.find(key)
        with suppress(UnreadableReply):
            if stored is not None:
                return Verdict(self._read(stored.text), None, stored.model, case.prompt.signature)
        return None

    def _ask(self, key: str, case: Case) -> Verdict[R]:
        unreadable = count(1)

        def may_repeat(error: BaseException) -> bool:
            if isinstance(error, UnreadableReply):
                return next(unreadable) < self.limits.unreadable
            return isinstance(error, ServerError) and error.again and (error.wait or 0.0) <= self.limits.longest_delay

        retrying = Retrying(
            stop=stop_after_attempt(self.limits.requests),
            wait=lambda state: self._delay(key, state),
            retry=retry_if_exception(may_repeat),
            before_sleep=self._announce_repeat,
            reraise=True,
        )
        try:
            return retrying(self._ask_once, key, case)
        except Exception as error:
            reason = _reason(error)
            logger.warning("judge: a case is unscored: %s", reason)
            if not isinstance(error, UnreadableReply):
                with self._lock:
                    self._failed_in_a_row += 1
                    if self._failed_in_a_row == self.limits.give_up_after:
                        logger.error("judge: %d cases in a row failed; the rest is not asked", self._failed_in_a_row)
            return self._unscored(case, reason)

    def _ask_once(self, key: str, case: Case) -> Verdict[R]:
        if self._failed_in_a_row >= self.limits.give_up_after:
            reason = f"{GIVEN_UP}: the judge could not answer {self.limits.give_up_after} cases in a row"
            return self._unscored(case, reason)
        time.sleep(max(0.0, self._resume_at - time.monotonic()))
        with self._slots:
            reply = self._send(case)
        with self._lock:
            self._failed_in_a_row = 0
        read = self._read(reply.text)
        self._cache.store(key, reply)
        return Verdict(read, None, reply.model, case.prompt.signature)

    def _delay(self, key: str, state: RetryCallState) -> float:
        """Seconds before a repeat: longer after each failure of the server, none after an unreadable reply."""
        if isinstance(_error(state), UnreadableReply):
            return 0.0
        chance = random.Random(f"{self.limits.seed} {key} {state.attempt_number - 1}").uniform(0.5, 1.0)
        return chance * wait_exponential(self.limits.first_delay, self.limits.longest_delay)(state)

    def _announce_repeat(self, state: RetryCallState) -> None:
        """Log a repeat; where the server says how long to wait, no thread asks before that."""
        error = _error(state)
        wait = error.wait or 0.0 if isinstance(error, ServerError) else 0.0
        logger.info("judge: %s; asking again in %.1f s", _reason(error), max(state.upcoming_sleep, wait))
        with self._lock:
            self._resume_at = max(self._resume_at, time.monotonic() + wait)

    def _unscored(self, case: Case, reason: str) -> Verdict[R]:
        return Verdict(None, reason, self.sampling.model, case.prompt.signature)


def _error(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None


def _reason(error: BaseException | None) -> str:
    if isinstance(error, UnreadableReply):
        return f"{UNREADABLE}{error}"
    return error.reason if isinstance(error, ServerError) else one_line(f"{type(error).__name__}: {error}")


NO_JUDGE = "none"


def read_settings(text: str | None = None, optional: bool = False) -> JudgeSettings | None:
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
            remedy=f"name it, for instance {JUDGE}=model=NAME,url=http://localhost:8000/v1,max_tokens=4096, or set "
            f"{JUDGE}={NO_JUDGE} to run without a judge and judge later.",
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
    settings = read_settings(optional=optional)
    if settings is not None:
        judge_sender(settings)


def open_judge(
    schema: type[M],
    settings: JudgeSettings,
    cache: ReplyCache | None = None,
    record: ReplyRecord | None = None,
) -> Judge[M]:
    """Open a judge whose replies are of a schema; threads may share it."""
    send = judge_sender(settings)
    if record is not None:
        send, cache = record.recording(send, settings.sampling), record
    return Judge(send, settings.sampling, schema, cache or ReplyCache(), settings)


def open_named_judge(
    schema: type[M], name: str, option: str = "--judge", record: ReplyRecord | None = None
) -> Judge[M]:
    """The judge that an option of a command names; nothing is sent to open it.

    Accepted replies are kept in ``judge_cache`` in the data home, so that no case is paid for twice.

    Args:
        schema: The form of a reply, a pydantic model.
        name: ``model=NAME,provider=openai,url=…,max_tokens=4096``, or a model's name alone. Providers are ``openai``,
            ``azure``, ``local`` (a server without a key) and ``transformers`` (a model loaded in this process).
        option: The option, for the message where it names no judge.
        record: Where every reply is kept, in place of the cache; of a build whose steps follow from each other.

    Raises:
        InputError: where it names no model, a setting is unknown or out of its range, or the server's address or key is
            missing or cannot be used.
    """
    settings = read_settings(name)
    if settings is None:
        raise InputError(f"Expected {option} to name a model, but got none.")
    return open_judge(schema, settings, record=record)


def judge_sender(settings: JudgeSettings) -> Send:
    """Return the sender of cases to a judge, a server or a model in this process; it repeats no request."""
    if settings.provider == LOCAL_MODEL:
        if given := [name for name in ("url", "json_mode") if getattr(settings, name)]:
            raise InputError(f"Expected no {given[0]} for the provider {LOCAL_MODEL}, which asks no server.")
        return LocalModel(settings.sampling).reply
    # With this import lmms-eval reads a .env file, which may hold the key.
    import lmms_eval.llm_judge  # noqa: F401
    from lmms_eval.models.model_utils.usage_metrics import log_usage

    from lmms_eval_tasks.utils.judge.server import open_sender

    # For lmms-eval's summary of tokens and its budget.
    return open_sender(settings, lambda model, asked, said: log_usage(model, None, asked, said, 0, "judge"))


class LocalModel:
    """A vision-language model of transformers, loaded in this process for the first case; threads may share it."""

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling
        self._lock = threading.Lock()

    def reply(self, case: Case) -> JudgeReply:
        with self._lock:
            try:
                return JudgeReply(self._generate(case), self._sampling.model)
            except Exception as error:  # whatever loading, a processor or a GPU raises
                reason = f"the model failed: {type(error).__name__}: {first_line(error)}"
                raise ServerError(reason, again=False) from error

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        import torch
        from transformers import AutoModelForImageTextToText, AutoProcessor

        model = AutoModelForImageTextToText.from_pretrained(self._sampling.model, dtype="auto")
        device = "cuda" if torch.cuda.is_available() else "cpu"
        return AutoProcessor.from_pretrained(self._sampling.model), model.to(device).eval()

    def _generate(self, case: Case) -> str:
        from PIL import Image

        processor, model = self._loaded
        images = [{"type": "image", "image": Image.open(io.BytesIO(image)).convert("RGB")} for image in case.images]
        messages = [{"role": "user", "content": [*images, {"type": "text", "text": case.text}]}]
        inputs = processor.apply_chat_template(
            messages, tokenize=True, add_generation_prompt=True, return_dict=True, return_tensors="pt"
        ).to(model.device)
        sampling: dict[str, Any] = {"do_sample": False}
        if self._sampling.temperature > 0:
            sampling = {"do_sample": True, "temperature": self._sampling.temperature, "top_p": self._sampling.top_p}
        given = model.generate(**inputs, max_new_tokens=self._sampling.max_tokens, **sampling)
        new = given[:, inputs["input_ids"].shape[1] :]
        return str(processor.batch_decode(new, skip_special_tokens=True)[0])

"""Judges, language models that grade answers that no rule can grade, and the strict reading of their replies."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel, ValidationError
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from lmms_eval_tasks.utils.answers.opening import content
from lmms_eval_tasks.utils.core.forms import read_json
from lmms_eval_tasks.utils.core.work import Progress, no_progress
from lmms_eval_tasks.utils.judge.replies import Case, Limits, ReplyCache, Sampling, Send, ServerError, reply_key

SHOWN = 200

Form = TypeVar("Form")
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


def reader_of(schema: type[Form] | Callable[[str], Form]) -> Callable[[str], Form]:
    """Return the reader of replies: strict, as `read_reply`, if a form is given, else the given function."""
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return cast(Callable[[str], Form], partial(read_reply, schema=schema))
    return cast(Callable[[str], Form], schema)


def one_line(text: str) -> str:
    """The beginning of a text, as one line."""
    return " ".join(text.split())[:SHOWN]


UNREADABLE = "unreadable reply: "
"""How the reason begins why replies could not be used."""
NOT_ASKED = "not asked"
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
        """The verdict as JSON values, for the record."""
        reply = self.reply.model_dump(mode="json") if isinstance(self.reply, BaseModel) else self.reply
        return {**vars(self), "reply": reply}


NOT_JUDGED = "not judged in the run whose responses these are"


class LoggedVerdicts:
    """The verdicts of a finished run, given again to the same cases: `RestoredContext.verdicts`.

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
        self._read: Callable[[str], R] = reader_of(schema)
        self._cache = cache
        self._slots = threading.BoundedSemaphore(self.limits.concurrent)
        self._lock = threading.Lock()
        self._under_way: dict[str, Future[Verdict[R]]] = {}
        self._unreadable: dict[str, Verdict[R]] = {}
        self._resume_at = 0.0
        self._failed_in_a_row = 0

    def judge(self, case: Case) -> Verdict[R]:
        """Judge one case; raises nothing, whatever the server does.

        Equal cases at the same time are asked once, and those whose replies were unreadable are not asked again.
        """
        key = reply_key(self.sampling, case)
        with self._lock:
            if key in self._unreadable:
                return self._unreadable[key]
            other = self._under_way.get(key)
            own: Future[Verdict[R]] = Future()
            if other is None:
                self._under_way[key] = own
        if other is not None:
            return other.result()
        try:
            verdict = self._find(key, case) or self._ask(key, case)
            if verdict.reason and verdict.reason.startswith(UNREADABLE):
                with self._lock:
                    self._unreadable[key] = verdict
            own.set_result(verdict)
            return verdict
        except BaseException as error:
            own.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._under_way[key]

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
        with ThreadPoolExecutor(self.limits.concurrent, thread_name_prefix="judge") as pool:
            futures = [pool.submit(self._judge_made, case) for case in cases]
            try:
                for done, future in enumerate(as_completed(futures), start=1):
                    future.result()
                    progress("judging", done, len(futures))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return [future.result() for future in futures]

    def _judge_made(self, case: Case | Callable[[], Case | Verdict[R]]) -> Verdict[R]:
        made = case if isinstance(case, Case) else case()
        return self.judge(made) if isinstance(made, Case) else made

    def _find(self, key: str, case: Case) -> Verdict[R] | None:
        stored = self._cache.find(key)
        if stored is None:
            return None
        try:
            return Verdict(self._read(stored.text), None, stored.model, case.prompt.signature)
        except UnreadableReply:
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
            reason = f"{NOT_ASKED}: the judge could not answer {self.limits.give_up_after} cases in a row"
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
    """One line for the record."""
    if isinstance(error, UnreadableReply):
        return f"{UNREADABLE}{error}"
    return error.reason if isinstance(error, ServerError) else one_line(f"{type(error).__name__}: {error}")

"""Steps of a pipeline over rows, the models of a build, one for each role within a budget of requests, and what a step
asks them about a row, with the strict reading of their replies."""

from __future__ import annotations

import inspect
import json
import os
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict

from lmms_eval_tasks.construct.engine.config import BuildConfig, RoleSettings
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.forms import RowForm
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.judge.client import GIVEN_UP, UNREADABLE, Judge, UnreadableReply, judge_sender, read_reply
from lmms_eval_tasks.utils.judge.replies import LOCAL_MODEL, Case, JudgeReply, ReplyRecord, Send, ServerError, reply_key


class PipelineRow(RowForm):
    id: str


def check_ids(rows: Sequence[PipelineRow], where: str) -> None:
    if repeated := [name for name, number in Counter(row.id for row in rows).items() if number > 1]:
        raise InputError(f"Expected each id once in {where}, but got again: {summarize_names(repeated)}.")


class Removed(Exception):
    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


Remove = Callable[[str, Removed], None]
"""Removes the row of an id."""


@dataclass(frozen=True)
class Forecast:
    requests: float = 0.0
    characters: int = 0
    images: int = 0
    reply_tokens: int = 200
    rows: float = 1.0


P = ParamSpec("P")
"""What a step's function takes by keyword, beside rows and whom it may ask."""


@dataclass(frozen=True, eq=False)
class Step(Generic[P]):
    """A step of a pipeline: a function, how it is called in tables, whom it asks, and what it is expected to leave."""

    name: str
    run: Callable[Concatenate[Any, Any, P], Any]
    takes: type[PipelineRow]
    gives: type[PipelineRow]
    of_all: bool
    """Whether the function looks at all rows at once."""
    roles: tuple[str, ...] = ()
    paper: str = ""
    """What a paper says that the step leaves."""
    forecast: Forecast | Callable[[Sequence[Any]], Forecast] = Forecast()
    """What is expected, or a function of the rows that a build starts with which says so."""

    def given(self, *none: P.args, **values: P.kwargs) -> Step[[]]:
        """Return the step with all values that its function takes by keyword."""
        inspect.signature(self.run).bind(None, None, *none, **values)
        return cast("Step[[]]", replace(self, run=partial(self.run, **values)))


ReadyStep = Step[[]]
"""A step that lacks no value."""


def step(
    name: str,
    *,
    asks: Sequence[str] = (),
    paper: str = "",
    passes: float = 1.0,
    requests: float = 0.0,
    **forecast: int,
) -> Callable[[Callable[Concatenate[Any, Any, P], Any]], Step[P]]:
    """Make a function a step.

    A function of a row and an `Asking` looks at one row at a time, many at once in threads; it returns the row or rows
    made of it, or raises `Removed`, and depends on nothing but its arguments and the replies. A function of a sequence
    of rows and a `Remove` looks at all of them, and asks nobody. What else it takes, by keyword alone, a build gives it
    (`Step.given`). `paper` is what a paper says that the step leaves,
    `passes` the share of rows that is expected to go on, `requests` and `forecast` what is asked about a row.
    """

    def decorate(run: Callable[Concatenate[Any, Any, P], Any]) -> Step[P]:
        hints = get_type_hints(run)
        given, made = next(iter(hints.values())), hints["return"]
        (takes,), (gives,) = get_args(given) or (given,), get_args(made) or (made,)
        of_all = get_origin(given) is not None
        expected = Forecast(requests=requests, rows=passes, **forecast)
        return Step(name, run, takes, gives, of_all, tuple(asks), paper, expected)

    return decorate


Row = TypeVar("Row", bound=PipelineRow)


def keep_each(rows: Sequence[Row], remove: Remove, change: Callable[[Row], Row]) -> list[Row]:
    kept = []
    for row in rows:
        try:
            kept.append(change(row))
        except Removed as why:
            remove(row.id, why)
    return kept


def roles_of(steps: Sequence[ReadyStep]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(role for step in steps for role in step.roles))


# ---- models, and what they reply -----------------------------------------------------------------------------------

NO_REPLY = "no usable reply"

_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am)? (?:can(?:no|')t|sorry|unable|not able|won't|will not|must decline|apologi[sz]e)"
    r"|(?:sorry|apologies),|as an ai\b|against (?:my|our|the) (?:policy|policies|guidelines))",
    re.IGNORECASE,
)


class Form(BaseModel):
    """Base of the forms of replies: exactly their keys, no value changed into another type."""

    model_config = ConfigDict(extra="forbid", frozen=True)


F = TypeVar("F", bound=Form)


def read_form(text: str, form: type[F]) -> F:
    try:
        return read_reply(text, form)
    except UnreadableReply as error:
        # What `read_json` finds wrong has no colon; what the form does names its field first.
        kind = "another form" if ":" in str(error) else "malformed JSON"
        if "{" not in text:
            kind = "refusal" if is_refusal(text) else "no JSON"
        raise UnreadableReply(f"{kind}: {error}") from None


def is_refusal(text: str) -> bool:
    """Whether a text says that its writer will not or cannot do what was asked."""
    return _REFUSAL.search(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")[:1000]) is not None


def fault_kind(reason: str) -> str:
    """The kind of a fault, from the reason of a verdict: `timed out`, `malformed JSON`, `server error (500)`."""
    kind = reason.removeprefix(UNREADABLE).partition(":")[0]
    return "no connection" if kind.startswith("no reply (") else kind


T = TypeVar("T")


class Models:
    """Models of a build, ready to be asked, within a budget of requests; threads share it."""

    def __init__(self, config: BuildConfig, folder: Path, max_requests: int | None = None) -> None:
        self._config = config
        self._records = {name: ReplyRecord(folder / name) for name in ("", *config.reply_folders.values())}
        self._left = max_requests
        self.sent = 0
        """Requests that were sent."""
        self._lock = threading.Lock()
        # By settings and folder of replies, so that two roles of one model that ask the same at once ask it once.
        self._senders: dict[tuple[RoleSettings, str], Send] = {}
        self._judges: dict[tuple[RoleSettings, str, Any], Judge[Any]] = {}
        self.cores = threading.BoundedSemaphore(os.cpu_count() or 1)
        """Held by work that takes processor time or memory."""
        self.server_faults: Counter[str] = Counter()
        """What servers failed at since `take_server_faults`, also where the next request succeeded."""

    def judge(self, role: str, read: Callable[[str], T]) -> Judge[T]:
        with self._lock:
            settings, place = self._config.role(role), self._config.reply_folders.get(role, "")
            if (settings, place, read) not in self._judges:
                sender = self._sender(role)
                # What is bounded is the requests, not what is made of their replies.
                limits = settings.model_copy(update={"concurrent": self.threads((role,))})
                judge = Judge(sender, settings.sampling, read, self._records[place], limits)
                self._judges[settings, place, read] = judge
            return self._judges[settings, place, read]

    def model(self, role: str) -> str:
        return self._config.role(role).model

    def check(self, roles: Sequence[str]) -> None:
        """Refuse roles that cannot be asked: want of a key, or a provider of another protocol."""
        faults: defaultdict[str, list[str]] = defaultdict(list)
        for role in roles:
            try:
                self._sender(role)
            except InputError as error:
                faults[str(error)].append(role)
        problems = Problems()
        for fault, names in faults.items():
            problems.add(f"roles, {', '.join(names)}", fault)
        problems.raise_if_any("Nothing can be built", "nothing was asked")

    def unreadable(self, role: str, key: str) -> list[str]:
        """The texts of the replies to a role's request in this build that could not be read, in their order."""
        return self._records[self._config.reply_folders.get(role, "")].unreadable(key)

    def threads(self, roles: tuple[str, ...]) -> int:
        """In how many threads roles are asked: twice as many as requests may be under way, so that none is missing
        while replies are kept and read.
        """
        return 2 * max(self._config.role(role).concurrent for role in roles)

    def check_budget(self) -> None:
        if self._left is not None and self._left < 0:
            raise InputError(
                f"{self.sent:,} requests were sent, as many as --max-requests allows; no set was written.\n"
                "Every reply is kept: the same command resumes from here, with as many requests more."
            )

    def take_server_faults(self) -> Counter[str]:
        with self._lock:
            faults, self.server_faults = self.server_faults, Counter()
        return faults

    def _sender(self, role: str) -> Send:
        settings, place = self._config.role(role), self._config.reply_folders.get(role, "")
        if (settings, place) not in self._senders:
            slots = threading.BoundedSemaphore(settings.concurrent)
            from lmms_eval_tasks.utils.judge.server import open_sender

            # A server is asked without lmms-eval, whose import takes longer than a small build.
            sender = judge_sender if settings.provider == LOCAL_MODEL else open_sender
            send = partial(self._send, sender(settings), slots)
            self._senders[settings, place] = self._records[place].recording(send, settings.sampling)
        return self._senders[settings, place]

    def _send(self, send: Send, slots: threading.BoundedSemaphore, case: Case) -> JudgeReply:
        with self._lock:
            if self._left is not None:
                self._left = max(self._left - 1, -1)
                if self._left < 0:
                    raise ServerError("the budget is reached", again=False)
            self.sent += 1
        try:
            with slots:
                return send(case)
        except ServerError as error:
            with self._lock:
                self.server_faults[fault_kind(error.reason)] += 1
            raise


# ---- what a step asks about a row ----------------------------------------------------------------------------------

V = TypeVar("V")

PARTS_AT_ONCE = 8
"""Parts of a row that are asked about at once."""


@dataclass(frozen=True)
class AskedReply:
    role: str
    prompt: str
    model: str
    key: str
    unreadable: tuple[str, ...]
    reply: Any
    reason: str | None
    problem: str | None = None
    about: str | None = None
    """The part of the row, where one was asked about."""

    def facts(self) -> dict[str, Any]:
        optional = ("problem", "about")
        return {name: value for name, value in asdict(self).items() if value is not None or name not in optional}


class Asking:
    def __init__(self, models: Models, about: str | None = None) -> None:
        self._models, self._about = models, about
        self.asked: list[AskedReply] = []
        self.without_reply = False
        """Whether a server gave no reply to something, so that a later build may."""

    def ask(self, role: str, prompt_id: str, form: type[F], images: Sequence[bytes] = (), **material: Any) -> F:
        reply: F = self.ask_text(role, prompt_id, _reader(form), images, **material)
        return reply

    def ask_text(
        self, role: str, prompt_id: str, read: Callable[[str], T], images: Sequence[bytes] = (), **material: Any
    ) -> T:
        case = make_case(prompt_id, images, **material)
        judge = self._models.judge(role, read)
        verdict = judge.judge(case)
        self._models.check_budget()
        if verdict.reason and verdict.reason.startswith(GIVEN_UP):
            raise InputError(
                f"The model of the role {role} gave no reply to {judge.limits.give_up_after} requests in a row; no set "
                "was written.\nEvery reply is kept: the same command resumes from here."
            )
        key = reply_key(judge.sampling, case)
        unreadable = tuple(_fault(text, read) for text in self._models.unreadable(role, key))
        reply = verdict.reply.model_dump(mode="json") if isinstance(verdict.reply, BaseModel) else verdict.reply
        self.asked.append(
            AskedReply(
                role, case.prompt.signature, verdict.model, key, unreadable, reply, verdict.reason, about=self._about
            )
        )
        if verdict.reply is None:
            assert verdict.reason is not None
            self.without_reply |= not verdict.reason.startswith(UNREADABLE)
            raise Removed(f"{NO_REPLY}: {fault_kind(verdict.reason)}", f"{role}: {verdict.reason}")
        return verdict.reply

    def each(self, parts: Sequence[T], about: Callable[[T], str], ask: Callable[[T, Asking], V]) -> list[V | None]:
        """Ask about the parts of a row, several at once, as `ask` does; None for a part without a usable reply."""
        askings = [Asking(self._models, about(part)) for part in parts]

        def ask_about(part: T, asking: Asking) -> V | None:
            try:
                return ask(part, asking)
            except Removed:
                return None

        with ThreadPoolExecutor(PARTS_AT_ONCE) as pool:
            made = list(pool.map(ask_about, parts, askings))
        for asking in askings:
            self.asked += asking.asked
            self.without_reply |= asking.without_reply
        return made

    def leave_out(self, role: str, prompt_id: str, reason: str) -> None:
        """Say why a role is not asked, so that it stands among what was asked, without a reply."""
        model = self._models.model(role)
        self.asked.append(AskedReply(role, read_prompt(prompt_id).signature, model, "", (), None, reason))

    def note(self, problem: str) -> None:
        """Say why the last reply is not used, or not all of it."""
        self.asked[-1] = replace(self.asked[-1], problem=problem)

    def heavy(self) -> AbstractContextManager[Any]:
        """For work that takes processor time or memory, such as decoding a clip: as much at once as there are cores."""
        return self._models.cores


def make_case(prompt_id: str, images: Sequence[bytes] = (), **material: Any) -> Case:
    """Return the case shown to a model: a prompt, and the material as JSON, of which no text can end its quotation."""
    prompt = read_prompt(prompt_id)
    return Case(prompt.render(case=json.dumps(material, ensure_ascii=False)), prompt, tuple(images))


@cache
def _reader(form: type[Form]) -> Callable[[str], Any]:
    """Return the one function that reads replies of a form."""
    return partial(read_form, form=form)


def _fault(text: str, read: Callable[[str], Any]) -> str:
    try:
        read(text)
    except UnreadableReply as error:
        return fault_kind(str(error))
    return "read later"

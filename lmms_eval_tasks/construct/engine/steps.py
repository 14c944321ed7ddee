"""Steps of a pipeline, the base of its rows, and the questions that a step asks models about a row."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from lmms_eval_tasks.construct.engine.roles import NO_REPLY, Form, Models, fault_kind, read_form
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.forms import RowForm
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.judge.client import NOT_ASKED, UNREADABLE, UnreadableReply
from lmms_eval_tasks.utils.judge.replies import Case, reply_key


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


@dataclass(frozen=True, eq=False)
class Step:
    """A step of a pipeline: a function, how it is called in tables, whom it asks, and what it is expected to leave."""

    name: str
    run: Callable[..., Any]
    takes: type[PipelineRow]
    gives: type[PipelineRow]
    of_all: bool
    """Whether the function looks at all rows at once."""
    roles: tuple[str, ...] = ()
    paper: str = ""
    """What a paper says that the step leaves."""
    forecast: Forecast | Callable[[Sequence[Any]], Forecast] = Forecast()
    """What is expected, or a function of the rows that a build starts with which says so."""

    def given(self, *values: Any, **changes: Any) -> Step:
        """Return the step with values of its function's last parameters, and with changed fields."""
        run = self.run
        return replace(self, run=lambda rows, other: run(rows, other, *values), **changes)


def step(
    name: str,
    *,
    asks: Sequence[str] = (),
    paper: str = "",
    passes: float = 1.0,
    requests: float = 0.0,
    **forecast: int,
) -> Callable[[Callable[..., Any]], Step]:
    """Make a function a step.

    A function of a row and an `Asking` looks at one row at a time, many at once in threads; it returns the row or rows
    made of it, or raises `Removed`, and depends on nothing but its arguments and the replies. A function of a sequence
    of rows and a `Remove` looks at all of them, and asks nobody. `paper` is what a paper says that the step leaves,
    `passes` the share of rows that is expected to go on, `requests` and `forecast` what is asked about a row.
    """

    def decorate(run: Callable[..., Any]) -> Step:
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


def roles_of(steps: Sequence[Step]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(role for step in steps for role in step.roles))


F = TypeVar("F", bound=Form)
T = TypeVar("T")
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
        if verdict.reason and verdict.reason.startswith(NOT_ASKED):
            raise InputError(
                f"The model of the role {role} gave no reply to {judge.limits.give_up_after} requests in a row; no set "
                "was written.\nEvery reply is kept: the same command goes on from here."
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

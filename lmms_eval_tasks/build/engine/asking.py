"""How a step asks models about a row, and what is kept of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from lmms_eval_tasks.build.engine.models import Models
from lmms_eval_tasks.build.engine.replies import NO_REPLY, Form, fault_kind, read_form
from lmms_eval_tasks.build.engine.steps import Removed
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.judge.client import NOT_ASKED, UNREADABLE, UnreadableReply
from lmms_eval_tasks.utils.judge.replies import Case, reply_key

F = TypeVar("F", bound=Form)
T = TypeVar("T")


@dataclass(frozen=True)
class AskedReply:
    """One thing that a row made a step ask."""

    role: str
    prompt: str
    model: str
    key: str
    unreadable: tuple[str, ...]
    reply: Any
    reason: str | None
    problem: str | None = None

    def facts(self) -> dict[str, Any]:
        """It as JSON values; a problem is among them where there is one."""
        values = asdict(self)
        return values if self.problem else {name: value for name, value in values.items() if name != "problem"}


class Asking:
    """Asks about one row."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self.asked: list[AskedReply] = []
        self.without_reply = False
        """Whether a server gave no reply to something, so that a later build may."""

    def ask(self, role: str, prompt_id: str, form: type[F], images: Sequence[bytes] = (), **material: Any) -> F:
        """Ask for a JSON object."""
        return self.ask_text(role, prompt_id, _form_reader(form), images, **material)

    def ask_text(
        self, role: str, prompt_id: str, read: Callable[[str], T], images: Sequence[bytes] = (), **material: Any
    ) -> T:
        """Ask for a text that a function reads."""
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
            AskedReply(role, case.prompt.signature, verdict.model, key, unreadable, reply, verdict.reason)
        )
        if verdict.reply is None:
            assert verdict.reason is not None
            self.without_reply |= not verdict.reason.startswith(UNREADABLE)
            raise Removed(f"{NO_REPLY}: {fault_kind(verdict.reason)}", f"{role}: {verdict.reason}")
        return verdict.reply

    def leave_out(self, role: str, prompt_id: str, reason: str) -> None:
        """Say why a role is not asked, so that it stands among what was asked, without a reply."""
        model = self._models.model(role)
        self.asked.append(AskedReply(role, read_prompt(prompt_id).signature, model, "", (), None, reason))

    def note(self, problem: str) -> None:
        """Say why the last reply is not used, or not all of it."""
        self.asked[-1] = replace(self.asked[-1], problem=problem)

    @contextmanager
    def heavy(self) -> Iterator[None]:
        """For work that takes processor time or memory, such as decoding a clip: as much at once as there are cores."""
        with self._models.cores:
            yield


def make_case(prompt_id: str, images: Sequence[bytes] = (), **material: Any) -> Case:
    """Return the case shown to a model: a prompt with the material as JSON, so that no text can end its own
    quotation."""
    prompt = read_prompt(prompt_id)
    return Case(prompt.render(case=json.dumps(material, ensure_ascii=False)), prompt, tuple(images))


def _form_reader(form: type[F]) -> Callable[[str], F]:
    """The one function that reads replies of a form."""
    return cast(Callable[[str], F], _reader(form))


@cache
def _reader(form: type[Form]) -> Callable[[str], Form]:
    return partial(read_form, form=form)


def _fault(text: str, read: Callable[[str], Any]) -> str:
    """The kind of what is wrong with a reply."""
    try:
        read(text)
    except UnreadableReply as error:
        return fault_kind(str(error))
    return "read later"

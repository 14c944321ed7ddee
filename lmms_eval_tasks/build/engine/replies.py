"""Reading the replies of models in a pipeline, and naming what is wrong with one that cannot be used."""

from __future__ import annotations

import re
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from lmms_eval_tasks.utils.judge.client import UNREADABLE, UnreadableReply, read_reply

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
    """A reply of a form, read as strictly as a judge's."""
    try:
        return read_reply(text, form)
    except UnreadableReply as error:
        raise UnreadableReply(f"{_kind(text, str(error))}: {error}") from None


def _kind(text: str, message: str) -> str:
    if "{" not in text:
        return "refusal" if is_refusal(text) else "no JSON"
    # What `read_json` finds wrong has no colon; what the form does names its field first.
    return "another form" if ":" in message else "malformed JSON"


def is_refusal(text: str) -> bool:
    """Whether a text says that its writer will not or cannot do what was asked."""
    return _REFUSAL.search(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")[:1000]) is not None


def fault_kind(reason: str) -> str:
    """The kind of a fault, from the reason of a verdict: `timed out`, `malformed JSON`, `server error (500)`."""
    kind = reason.removeprefix(UNREADABLE).partition(":")[0]
    return "no connection" if kind.startswith("no reply (") else kind

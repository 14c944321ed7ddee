"""Reading the replies of models strictly: exactly what was asked for, or a reason why not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar, cast

from pydantic import BaseModel, ValidationError

from lmms_eval_tasks.utils.answers.opening import content
from lmms_eval_tasks.utils.core.strict_json import read_json

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
    """What reads replies: strictly as `read_reply` does where a form is given, else the function that is given."""
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return cast(Callable[[str], Form], partial(read_reply, schema=schema))
    return cast(Callable[[str], Form], schema)


def one_line(text: str) -> str:
    """The beginning of a text, as one line."""
    return " ".join(text.split())[:SHOWN]

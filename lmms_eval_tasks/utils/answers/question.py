"""Interface between a row, its task and its grader: settings, prompt of a choice, context, stratum and fields of a
record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.prompt import list_options
from lmms_eval_tasks.utils.data.card import Row
from lmms_eval_tasks.utils.scoring.record import GradedItem

if TYPE_CHECKING:
    from pydantic import BaseModel

    from lmms_eval_tasks.utils.core.prompt import Prompt
    from lmms_eval_tasks.utils.judge.client import Verdict
    from lmms_eval_tasks.utils.judge.replies import Case


@dataclass(frozen=True)
class TaskSettings:
    """Settings chosen by a task's configuration and the environment; a benchmark may add to them.

    Attributes:
        prompt: How its items are asked; None where the model is shown no prompt of ours.
    """

    prompt: Prompt | None = None

    @property
    def signature(self) -> str | None:
        """The prompt's id and digest, for records."""
        return self.prompt.signature if self.prompt else None

    def facts(self) -> Mapping[str, Any]:
        """Return the facts about the settings that a run card lists besides the prompt."""
        return {}


class Grader(Protocol):
    """Grader of single answers: a judge, or a judge's earlier verdicts; threads may share it."""

    def judge(self, case: Case) -> Verdict[Any]:
        """The verdict on a case; raises nothing."""


class TaskContext(Protocol):
    """Context of the evaluation that is available when an item is graded."""

    @property
    def settings(self) -> Any:
        """The task's settings, of the type that `TaskKind.read_settings` returns."""

    @property
    def model(self) -> Any:
        """The model that runs; None where none does."""

    def judge(self, schema: type[BaseModel]) -> Grader | None:
        """The run's judge for replies of a schema; None where nothing is to be judged."""


def ask_choice(row: Mapping[str, Any], settings: TaskSettings) -> str:
    """The prompt of a row with its question, and where the prompt lists options, these one per line: ``(A) …``."""
    assert settings.prompt is not None
    if "options" in settings.prompt.fields and not row["options"]:
        raise InputError(
            f"Expected item {row['item_id']} to have options, which the prompt {settings.prompt.prompt_id} lists, but "
            "it has none.\nRemedy: name another prompt in the task's YAML, under lmms_eval_specific_kwargs, default."
        )
    return settings.prompt.render(question=row["question"], options=list_options(row["options"]))


Ask = Callable[[Row, Any], str]
"""Writes the prompt of a row, given the task's settings."""
Grade = Callable[[Row, object, TaskContext], GradedItem]
"""Grades a response, which is whatever the model returned, to a row with ``asked``. It raises nothing."""
Warn = Callable[[Sequence[GradedItem], TaskContext], Sequence[str]]
"""What to log once all items are graded."""
Stratum = Sequence[str] | Callable[[Row], Mapping[str, str]]
"""Columns by which scores are broken down, or names and values from a row."""
Fields = Sequence[str] | Callable[[Row, object, TaskContext], Mapping[str, Any]]
"""Columns that a record repeats among its fields, or names and values from a row, the response and the task."""


def stratum_of(row: Row, stratum: Stratum) -> dict[str, str]:
    """Names and values by which the scores of a row are broken down."""
    return dict(stratum(row)) if callable(stratum) else {name: row[name] for name in stratum}


def fields_of(row: Row, response: object, context: TaskContext, fields: Fields) -> dict[str, Any]:
    """The fields of a record, the last of them how its item was asked."""
    own = fields(row, response, context) if callable(fields) else {name: row[name] for name in fields}
    return {**own, "prompt": context.settings.signature}

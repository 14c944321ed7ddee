"""A task that runs, as its hooks see it: the prompt and settings with which it asks, and the hooks of lmms-eval that
its YAML names.
"""

from __future__ import annotations

import functools
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import Formatter, ascii_uppercase
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, TypeVar, cast

from lmms_eval_tasks.utils.answers.opening import ends_in_reasoning, why_unread
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.card import Row
from lmms_eval_tasks.utils.scoring.record import CUT_OFF, GradedItem, Outcome, Record, UnparsedReason

if TYPE_CHECKING:
    import datasets
    from pydantic import BaseModel


DEFAULT = "mcq_letter"
OFFICIAL = "official"
OPTIONS_PROMPT = "mcq_options"
"""The prompt that asks with lettered options and without the question."""
QUESTION_AND_OPTIONS = frozenset({"question", "options"})
NO_CLIP = "(The clip of this question is missing. The answer will not be scored.)"


@dataclass(frozen=True)
class Prompt:
    """A prompt text with its fields in braces.

    Attributes:
        prompt_id: Name by which a task's configuration chooses it.
        text: The text, for `str.format`.
    """

    prompt_id: str
    text: str

    @property
    def fields(self) -> frozenset[str]:
        """Names of the fields that the text has."""
        return frozenset(name for _, name, _, _ in Formatter().parse(self.text) if name is not None)

    @functools.cached_property
    def sha256(self) -> str:
        """Hexadecimal SHA-256 of the text in UTF-8."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def signature(self) -> str:
        """Id and the digest's first eight digits, as written into every record."""
        return f"{self.prompt_id}:{self.sha256[:8]}"

    @staticmethod
    def literal(text: str) -> str:
        """A part of a prompt's text that stands for just this: braces are doubled."""
        return text.replace("{", "{{").replace("}", "}}")

    def render(self, **fields: str) -> str:
        """The prompt with its fields filled in; braces inside the fields stay as they are.

        Raises:
            KeyError: where the text names a field that is not given.
        """
        return self.text.format(**fields)


class PromptSource(Protocol):
    """Source of a benchmark's official prompt; `OfficialPrompt` explains its parts."""

    @property
    def file(self) -> str: ...

    @property
    def replaces(self) -> str: ...

    @property
    def for_items(self) -> bool: ...

    def find(self, name: str) -> Prompt: ...

    def import_from(self, checkout: Path, accept_other: bool = False) -> Prompt: ...


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


def ask_choice(row: Mapping[str, Any], settings: TaskSettings) -> str:
    """The prompt of a row with its question, and where the prompt lists options, these one per line: ``(A) …``."""
    assert settings.prompt is not None
    if "options" in settings.prompt.fields and not row["options"]:
        raise InputError(
            f"Expected item {row['item_id']} to have options, which the prompt {settings.prompt.prompt_id} lists, but "
            "it has none.\nRemedy: name another prompt in the task's YAML, under lmms_eval_specific_kwargs, default."
        )
    options = (f"({letter}) {option}" for letter, option in zip(ascii_uppercase, row["options"], strict=False))
    return settings.prompt.render(question=row["question"], options="\n".join(options))


def without_clip(text: str, asked: bool) -> str:
    """A prompt, in other words where the clip is missing."""
    return text if asked else "\n".join(filter(None, (NO_CLIP, text)))


class Grader(Protocol):
    """Grader of single answers: a judge, or a judge's earlier verdicts; threads may share it."""

    def judge(self, case: Any) -> Any:
        """The `Verdict` on a `Case`; raises nothing."""


@dataclass(frozen=True)
class Restored:
    """What a finished run used, as its log says.

    Attributes:
        settings: The settings of its task; None where those of the task's configuration, with the prompt that was
            asked, serve.
        verdicts: Each `Case` that its judge was asked, with the `Verdict`, in the log's order; None where none was
            asked. Of equal cases each gets its own.
    """

    settings: TaskSettings | None = None
    verdicts: Sequence[tuple[Any, Any]] | None = None


class RunningTask(ABC):
    """A task of an evaluation, or of a finished run that is scored again, as its hooks see it.

    Each hook gets it as its first argument, and so does what grades a reply.

    Attributes:
        settings: The task's settings, of the type that `TaskKind.read_settings` returns.
        kwargs: The task's ``lmms_eval_specific_kwargs`` of today.
        ask: Writes the prompt of an item, as the task's kind says.
        grade: Grades a reply to an item, as the task's kind says.
        warn: What to log once all items are graded, as the task's kind says; None where nothing is.
    """

    ask: Ask
    grade: Grade
    warn: Warn | None
    settings: Any
    kwargs: Mapping[str, Any]

    @property
    @abstractmethod
    def model(self) -> Any:
        """The model that runs; None where none does."""

    @abstractmethod
    def judge(self, schema: type[BaseModel]) -> Grader | None:
        """The run's judge for replies of a schema; None where nothing is to be judged."""

    @abstractmethod
    def open_table(self) -> datasets.Dataset:
        """The prepared table, for the one-row pointer that lmms-eval has read."""

    @abstractmethod
    def show(self, doc: Row) -> list[Any]:
        """Return the visuals of the item's clips: paths of videos, or pictures."""

    @abstractmethod
    def put(self, doc: Row, kwargs: Mapping[str, Any] | None, ask: Ask) -> str:
        """The item's prompt, as the task's view puts it.

        Args:
            doc: The item.
            kwargs: The task's ``lmms_eval_specific_kwargs``; its settings are read from those of the first call.
            ask: The prompt of the whole item.
        """

    @abstractmethod
    def grade_first(self, doc: Row, results: Sequence[Any], grade: Grade) -> dict[str, Any]:
        """Return the item's record, that of the first reply with the others' in it, and an entry for each score that it
        counts in, without which lmms-eval would print no score.

        Args:
            doc: The item.
            results: What lmms-eval has of the replies, one for each sample of the item.
            grade: Grades a reply to the whole item.
        """

    @abstractmethod
    def score(self, name: str) -> float | int | None:
        """Return a score of all graded items, in its unit; None where nothing enters it, 0 for counts."""

    @abstractmethod
    def finish(self, items: Sequence[Mapping[str, Any]], args: Any, warn: Warn | None = None) -> int | None:
        """Once the items of all ranks are graded: log warnings, and write the files for the leaderboard.

        Returns how many rows the task's file has; None where lmms-eval's command line names no output path.
        """


Ask = Callable[[Row, Any], str]
"""Writes the prompt of a row, given the task's settings."""
Grade = Callable[[Row, Reply, RunningTask], GradedItem]
"""What makes of a row and the reply to it an item's record; it raises nothing on any reply."""
Warn = Callable[[Sequence[GradedItem], RunningTask], Sequence[str]]
"""What to log once all items are graded."""
Stratum = Sequence[str] | Callable[[Row], Mapping[str, str]]
"""Columns by which scores are broken down, or names and values from a row."""
Fields = Sequence[str] | Callable[[Row, Reply, RunningTask], Mapping[str, Any]]
"""Columns that a record repeats among its fields, or names and values from a row, the reply and the task."""


def grader(
    read: Callable[[Row, Reply], str | None],
    why: Callable[[Row, str], UnparsedReason],
    stratum: Stratum,
    fields: Fields,
) -> Grade:
    """Return a grader by what reads the answer to a row, and what says why a text has none.

    Where there is no answer, nothing is read.
    """

    def grade(row: Row, reply: Reply, task: RunningTask) -> GradedItem:
        answered = None if reply.missing else read(row, reply)
        parts = stratum(row) if callable(stratum) else {name: row[name] for name in stratum}
        own = fields(row, reply, task) if callable(fields) else {name: row[name] for name in fields}
        reason = None if answered is not None else why_unread(reply) or why(row, reply.text)
        record = Record.of(
            row,
            answered,
            parts,
            {**own, "prompt": task.settings.signature},
            missing=reply.missing,
            unparsed_reason=reason,
        )
        return GradedItem(record)

    return grade


def explain(record: Record, reply: Reply, silence: str) -> Record:
    """Return the record of a reply with how it ended, and with why there is no answer or nothing was read.

    `silence` is that of the reply as it came: of a text there may be nothing left to grade.
    """
    if reply.missing:
        return replace(record, outcome=Outcome.UNSCORED, unscored_reason=reply.missing, detail=reply.detail)
    unparsed = record.outcome is Outcome.UNPARSED
    if unparsed or not record.detail:
        if reply.cut_off or (record.answered is None and ends_in_reasoning(reply.text)):
            record = replace(record, detail=CUT_OFF)
        elif unparsed:
            record = replace(record, detail=record.detail or silence)
    if unparsed and not record.unparsed_reason:
        record = replace(record, unparsed_reason=why_unread(reply))
    return record


Function = TypeVar("Function", bound=Callable[..., Any])
MARK = "_lmms_eval_tasks_hook"


class UnboundHook(RuntimeError):
    """A hook was called by itself, without what it belongs to."""


def hook(function: Function) -> Function:
    """Mark a function as a hook, whose first parameter is the `RunningTask`.

    The package binds it when lmms-eval loads the task. Called without it, a hook raises `UnboundHook`, a RuntimeError.
    """

    @functools.wraps(function)
    def call(owner: object = None, *arguments: Any, **named: Any) -> Any:
        if not isinstance(owner, RunningTask):
            raise UnboundHook(unbound_message(function))
        return function(owner, *arguments, **named)

    setattr(call, MARK, True)
    return cast(Function, call)


def is_hook(function: object) -> TypeGuard[Callable[..., Any]]:
    """Whether a function is a hook that is to be bound, and is not yet."""
    return bool(getattr(function, MARK, False))


def unbound_message(function: Callable[..., Any]) -> str:
    return (
        f"The hook {function.__module__}.{function.__qualname__} was called without its task. lmms-eval-tasks binds it "
        "when lmms-eval loads a task whose data_files name a pointer of an installed benchmark. `lmms-eval power` "
        "loads no plugin: run `lmms-eval --power-analysis --tasks NAME`."
    )


@hook
def process_docs(task: RunningTask, dataset: datasets.Dataset) -> datasets.Dataset:
    """The prepared table, for the one-row pointer that lmms-eval has read."""
    return task.open_table()


@hook
def doc_to_visual(task: RunningTask, doc: Row) -> list[Any]:
    """Return the visuals of the item's clips: paths of videos, or pictures."""
    return task.show(doc)


@hook
def doc_to_text(task: RunningTask, doc: Row, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The prompt of an item, as its kind asks: by default a question, with its options where the prompt lists them."""
    return task.put(doc, lmms_eval_specific_kwargs, task.ask)


@hook
def doc_to_target(task: RunningTask, doc: Row) -> str:
    """Return the target that lmms-eval logs for an item: its key, empty if withheld."""
    return str(doc["answer"] or "")


@hook
def process_results(task: RunningTask, doc: Row, results: Sequence[Any]) -> dict[str, Any]:
    """The record of a reply, as the task's kind grades it, and an entry for each score that it counts in."""
    return task.grade_first(doc, results, task.grade)


@hook
def aggregate(task: RunningTask, score: str, items: Sequence[Any]) -> float | int | None:
    """A score in its unit, computed from the records of all items; None where nothing enters it, 0 for counts."""
    return task.score(score)


@hook
def write_submission(task: RunningTask, items: Sequence[Mapping[str, Any]], args: Any) -> int | None:
    """Write the file for the leaderboard, log the kind's warnings, and return how many rows the file has.

    None where lmms-eval has no output path.
    """
    return task.finish(items, args, task.warn)

"""The sample log of a task of ours: the one place where its lines are read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.benchmark.data_set import UNKNOWN_SET, DataSet, SetKind
from lmms_eval_tasks.utils.core.json_rows import validate_value
from lmms_eval_tasks.utils.core.problems import GroupedIssues, Problems
from lmms_eval_tasks.utils.core.strict_json import read_written_json
from lmms_eval_tasks.utils.core.wording import describe
from lmms_eval_tasks.utils.runs.results_file import BYPASS, DATA_SET, EARLIER_SAMPLE
from lmms_eval_tasks.utils.scoring.log_forms import LogLine
from lmms_eval_tasks.utils.scoring.records import GradedItem, Record

SEVERAL_WRITERS = "Two runs that started in the same second wrote this log: run each again."
MAKE_AGAIN = "The same command with the same output path writes it again, from the answers that were kept."
_EXPECTED = "Expected logged items of one of our tasks, but got"


@dataclass(frozen=True)
class LoggedItem:
    """One line."""

    where: str
    record: Record
    values: Mapping[str, Any]

    @property
    def only_predicted(self) -> bool:
        """Whether the run kept the answer and graded nothing."""
        return BYPASS in self.values

    @property
    def data_set(self) -> DataSet:
        """What its set is; of an earlier version's line only whether it is sample data is known."""
        if (logged := self.values["record"].get(DATA_SET)) is not None:
            return DataSet.model_validate(logged)
        scored, predicted = EARLIER_SAMPLE
        is_sample = scored in self.values or self.values.get(predicted) is True
        return DataSet(kind=SetKind.SAMPLE) if is_sample else UNKNOWN_SET

    @property
    def responses(self) -> list[str]:
        """The responses that were scored; empty where the line does not hold them."""
        logged = self.values.get("filtered_resps")
        responses: list[Any] = logged if isinstance(logged, list) else [logged]
        return responses if all(isinstance(response, str) for response in responses) else []

    def graded(self) -> GradedItem:
        """The item with what the submission needs of it."""
        submission: Mapping[str, Any] = self.values.get("submission_rows") or {}
        return GradedItem(self.record, {name: part for name, part in submission.items() if name != "record"})


@dataclass(frozen=True)
class SampleLog:
    """A log without faults."""

    items: tuple[LoggedItem, ...]
    torn: bool = False


def read_sample_log(path: Path, form: type[LogLine], problems: Problems, is_ours: bool = True) -> SampleLog | None:
    """Read a task's sample log; None where no line has a record of ours and none has to have one."""
    lines = path.read_bytes().split(b"\n")
    if not is_ours and any(lines) and not any(b'"record"' in line for line in lines):
        return None
    issues = GroupedIssues()
    items: list[LoggedItem] = []
    torn = False
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        where = f"line {number}"
        try:
            value = read_written_json(line.decode("utf-8"))
        except ValueError as error:
            torn = number == len(lines)
            if not torn:
                what = "bytes that are not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
                issues.add("lines", _EXPECTED, f"{what} ({where})")
            continue
        if (record := _read_record(value, form, where, issues)) is not None:
            items.append(LoggedItem(f"{path.name}, {where}", record, value))
    _note_doubled(items, issues)
    problems.extend(issues.as_problems(f"{path.name}, ", MAKE_AGAIN))
    return SampleLog(tuple(items), torn)


def _read_record(value: Any, form: type[LogLine], where: str, issues: GroupedIssues) -> Record | None:
    only_predicted = isinstance(value, dict) and BYPASS in value
    if validate_value(value, LogLine if only_predicted else form, issues, where) is None:
        return None
    try:
        return Record.from_json(value["record"])
    except ValueError as error:
        issues.add("lines", _EXPECTED, f"{error} ({where})")
        return None


def _note_doubled(items: list[LoggedItem], issues: GroupedIssues) -> None:
    seen: set[str] = set()
    for item in items:
        name = item.record.item_id
        if name in seen:
            issues.add("items", "Expected each once, but got again", describe(name), SEVERAL_WRITERS)
        seen.add(name)

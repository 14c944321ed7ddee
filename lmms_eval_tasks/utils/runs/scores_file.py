"""The file of a run's scores with their intervals, which lies beside the host's results: its form and its place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field

from lmms_eval_tasks.utils.benchmark.data_set import DataSet
from lmms_eval_tasks.utils.core.files import open_regular
from lmms_eval_tasks.utils.core.json_rows import RowForm, validate_value
from lmms_eval_tasks.utils.core.problems import GroupedIssues, InputError
from lmms_eval_tasks.utils.core.strict_json import read_written_json
from lmms_eval_tasks.utils.runs.results_file import RESULTS
from lmms_eval_tasks.utils.scoring.metrics import Kind

SCORES = "_scores.json"

Value = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]


class _Part(RowForm):
    """Part of the file: every field is described, and there is no other."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


Entry = TypeVar("Entry", bound=_Part)


class ScoreEntry(_Part):
    """One score of a task or group."""

    metric: str
    """Its name in lmms-eval's results."""
    title: str
    """Its name in tables."""
    kind: Kind
    """How values become a score: a mean, a number of groups, or a sum."""
    unit: str
    """Of the value and its interval; empty for plain numbers."""
    higher_is_better: bool | None
    """Null where neither is."""
    value: Value | None
    """The score; null where nothing counts in it."""
    low: Value | None
    """Lower end of its 95% interval; null of counts, and where the file says why there is none."""
    high: Value | None
    """Upper end."""
    groups: Count | None
    """How many groups (pairs, clips, scenes) it stands on; null where the items are not known."""
    items: Count | None
    """How many items it stands on."""


class PartScores(_Part):
    """The scores of a task, or of a group of tasks."""

    name: str
    """The task or group."""
    tasks: Annotated[list[str], Field(min_length=1)]
    """Its tasks; their scores count equally."""
    benchmark: str
    """Its benchmark; empty where this package knows none."""
    version: str
    """Its version N-X; scores of another N are not comparable."""
    view: str
    """What the model was shown of each item; empty of whole items."""
    data: list[DataSet]
    """What the sets of its tasks are, each once."""
    apart: str
    """Why no published score stands beside its own; empty of all items of the official release."""
    outcomes: dict[str, Count]
    """How many items are correct, wrong, unparsed and unscored; empty where the items are not known."""
    leading: str
    """The metric that the benchmark's paper leads with."""
    scores: list[ScoreEntry]
    """All scores that apply to it."""

    def score(self, metric: str) -> ScoreEntry:
        return _named(self.scores, "metric", metric)


class ScoresFile(_Part):
    """The scores of one run, with their intervals and what they stand on."""

    form: Literal[1]
    """Number of this form."""
    lmms_eval_tasks: str
    """Version of the package that computed the scores."""
    results: str
    """The results file that it lies beside."""
    model: str
    """The model, with its arguments' checkpoint where it has one."""
    method: str
    """How every interval is computed, with draws and seed."""
    without_intervals: str
    """Why there are no intervals; empty where there are."""
    parts: list[PartScores]
    """Tasks and groups."""

    def part(self, name: str) -> PartScores:
        """The scores of a task or group."""
        return _named(self.parts, "name", name)


def _named(entries: Sequence[Entry], field: str, name: str) -> Entry:
    for entry in entries:
        if getattr(entry, field) == name:
            return entry
    raise KeyError(name)


def scores_path(results: Path) -> Path:
    """The file of scores beside a run's results file; it need not exist."""
    return results.with_name(f"{results.name.removesuffix(RESULTS)}{SCORES}")


def scores_text(scores: ScoresFile) -> str:
    """The file's text; the same scores give the same bytes."""
    return json.dumps(scores.model_dump(mode="json"), ensure_ascii=True, indent=2, allow_nan=False) + "\n"


def read_scores(path: Path) -> ScoresFile:
    with open_regular(path) as file:
        content = file.read()
    try:
        value = read_written_json(content.decode("utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is not a scores file: Expected JSON, but got {error}.") from None
    issues = GroupedIssues()
    form = validate_value(value, ScoresFile, issues, "")
    issues.raise_if_any(f"{path} is not a scores file")
    assert form is not None
    return form


def scores_schema() -> dict[str, Any]:
    """The JSON Schema of the file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **ScoresFile.model_json_schema()}

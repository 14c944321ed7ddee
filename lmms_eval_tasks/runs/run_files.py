"""Files of a run: the results file as lmms-eval writes it, the places of the others, and parts of a run."""

from __future__ import annotations

import json
import os
import re
from codecs import BOM_UTF8
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from lmms_eval_tasks.runs.run_card import CARD, Sections
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import RowForm, read_json, read_written_object
from lmms_eval_tasks.utils.core.text import SHARD, parse_arguments, summarize_names

MERGE = "lmms-eval-tasks merge PART… --out DIR"
"""The command that makes a whole run of the runs of all parts."""
RESULTS = "_results.json"
SAMPLES = "_samples_"
SUBMISSIONS = "submissions"
PER_TASK = ("results", "groups", "configs", "group_subtasks", "versions", "n-shot", "higher_is_better", "n-samples")
"""The fields of a results file that have an entry for each task or group."""
SHARD_OF_RUN = "shard"
"""The field of a results file that says which part of a run it is of, as `ShardOfRun`."""
MISCOUNTED = "Expected {:,} items, as the results file counts, but got {:,}"
LISTED = 20
"""So many runs of a folder are listed by name."""
BYPASS = "bypass"
"""The one score of a run with ``--predict_only``; the lines of its sample logs have it, too."""
DATA_SET = "data_set"
"""What the set of a line of a sample log is, as a `DataSet`, beside the record's own fields."""
PARTS, SWEEP, LAUNCHED = "parts", "sweep", "launch.json"
"""The folder in which `launch` keeps the runs of parts, below the run that they are merged into; that of `sweep`, with
what belongs to no run; and a file in both."""

Count = Annotated[int, Field(ge=0, le=1_000_000_000)]
Limit = Annotated[float, Field(allow_inf_nan=False)]


class Shard(NamedTuple):
    part: int
    of: int

    def __str__(self) -> str:
        return f"{self.part}/{self.of}"


def parse_shard(text: str) -> Shard:
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    shard = Shard(int(match[1]), int(match[2])) if match else None
    if shard is None or not 1 <= shard.part <= shard.of:
        raise InputError(f"Expected {SHARD} to be i/N, one of N parts counted from 1, such as 3/7, but got {text!r}.")
    return shard


def read_shard() -> Shard | None:
    text = os.environ.get(SHARD, "")
    return parse_shard(text) if text else None


class _Part(RowForm, extra="ignore", populate_by_name=True):
    """Part of a results file: what we read of it; the rest is not looked at."""


class RunConfig(_Part):
    model: str = "unknown model"
    model_args: str | dict[str, Any] | None = None
    limit: Limit | None = None
    offset: Count | None = None
    bootstrap_iters: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    resolved_cli_args: dict[str, Any] = Field(default_factory=dict)

    @property
    def logs_samples(self) -> bool:
        return any(self.resolved_cli_args.get(option) is True for option in ("log_samples", "predict_only"))


class SampleCount(_Part):
    original: Count
    effective: Count

    def after(self, offset: int) -> int:
        """Return how many items are asked of a task whose first ones are passed over."""
        return min(self.effective, max(0, self.original - offset))


class ShardOfRun(_Part):
    """Part of a run that the file covers, with the numbers of items of the whole run's tasks."""

    part: Annotated[int, Field(ge=1)]
    of: Annotated[int, Field(ge=1)]
    n_samples: dict[str, SampleCount] = Field(alias="n-samples")

    @property
    def shard(self) -> Shard:
        return Shard(self.part, self.of)


class ResultsFile(_Part):
    """A results file of lmms-eval."""

    configs: dict[str, Any]
    group_subtasks: dict[str, list[str]]
    results: dict[str, dict[str, Any]] = Field(default_factory=dict)
    groups: dict[str, dict[str, Any]] = Field(default_factory=dict)
    versions: dict[str, Any] = Field(default_factory=dict)
    n_samples: dict[str, SampleCount] = Field(default_factory=dict, alias="n-samples")
    config: RunConfig = Field(default_factory=RunConfig)
    shard: ShardOfRun | None = None

    def expected_items(self, task: str) -> int | None:
        count = self.n_samples.get(task)
        return None if count is None else count.after(self.config.offset or 0)

    def is_predicted(self, task: str) -> bool:
        return any(name.startswith(f"{BYPASS},") for name in self.results.get(task, {}))

    def groups_within(self, tasks: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the groups all of whose tasks are among some, each with its tasks."""
        return {
            name: tuple(dict.fromkeys(members))
            for name, members in self.group_subtasks.items()
            if members and all(member in tasks for member in members)
        }

    @property
    def model_name(self) -> str:
        return name_model(self.config.model, self.config.model_args)

    @property
    def limits(self) -> str:
        """Options that leave items out, such as ``--limit 3`` or ``part 3/7``; empty if nothing does."""
        options = (("limit", self.config.limit), ("offset", self.config.offset))
        given = [f"--{name} {value:g}" for name, value in options if value is not None and value > 0]
        return ", ".join([*given, *([f"part {self.shard.shard}"] if self.shard else [])])


def name_model(model: str, arguments: str | Mapping[str, Any] | None) -> str:
    """Return the name of a model in reports: its name, with the checkpoint of its arguments if it has one."""
    given = parse_arguments(arguments)
    checkpoint = next((given[name] for name in ("pretrained", "model_version", "model") if given.get(name)), "")
    return f"{model} {Path(checkpoint).name}".strip() if checkpoint else model


class CutShort(InputError):
    """A run that ended while lmms-eval wrote its files, so that they hold only part of it."""


def read_results(path: Path) -> ResultsFile:
    return read_results_with_all(path)[0]


def read_results_with_all(path: Path) -> tuple[ResultsFile, Mapping[str, Any]]:
    return read_written_object(path, ResultsFile, "a results file of lmms-eval", CutShort)


def run_files(source: Path, pattern: str) -> list[Path]:
    files = {path for path in source.rglob(pattern) if path.parent.name != SUBMISSIONS}
    launched = {path.parent for path in source.rglob(f"{PARTS}/{LAUNCHED}")} if files else set()
    found = (path for path in files if path.is_file() and launched.isdisjoint(path.parents))
    return sorted(found, key=lambda path: (path.name, path))


def results_files(source: Path, ends: Sequence[str] = (RESULTS,)) -> list[Path]:
    """The results files in a folder and below, by date; with other `ends` also those of which such a file is left."""
    found = [source] if source.is_file() else [path for end in ends for path in run_files(source, f"*{end}")]
    end_of = re.compile("|".join(rf"{re.escape(end)}\Z" for end in ends))
    results = {path.with_name(end_of.sub(RESULTS, path.name)) for path in found}
    return sorted(results, key=lambda path: (path.name, path))


def list_runs(source: Path, files: Sequence[Path]) -> str:
    def name(path: Path) -> str:
        try:
            model = f" ({read_results(path).model_name})"
        except (InputError, OSError):
            model = ""
        return f"{path.relative_to(source) if path.is_relative_to(source) else path}{model}"

    return f"{source} holds {len(files):,} runs: {summarize_names(map(name, files), LISTED)}"


def sample_log(results: Path, task: str) -> Path:
    return results.with_name(f"{results.name.removesuffix(RESULTS)}{SAMPLES}{task}.jsonl")


def task_of(log: Path) -> str | None:
    return log.stem.partition(SAMPLES)[2] or None


def results_beside(log: Path) -> Path:
    return log.with_name(f"{log.name.partition(SAMPLES)[0]}{RESULTS}")


def split_log(log: Path) -> tuple[list[bytes], bytes]:
    """Return the lines of a log, and apart from them the last one where it breaks off, as of a run that was killed."""
    *lines, last = log.read_bytes().removeprefix(BOM_UTF8).split(b"\n")
    try:
        read_json(last or b"null", exact=False)
    except ValueError:
        return lines, last
    return [*lines, last], b""


def card_path(results: Path) -> Path:
    return results.with_name(f"{results.name.removesuffix(RESULTS)}{CARD}")


def write_card(results: Path, card: Sections) -> None:
    write_file(card_path(results), json.dumps(card, ensure_ascii=False, indent=2) + "\n")

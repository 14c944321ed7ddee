"""The result file that YoCausal's leaderboard takes: its form, and whether its numbers follow from its pairs.

Source: youzhe0305/YoCausal, README and evaluation/evaluate.py at 2cee25b, and evaluation/metrics.py at f219ba6.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from lmms_eval_tasks.api import Checked, Problems, RowForm, Table
from lmms_eval_tasks.api.release import describe, read_object
from lmms_eval_tasks.api.submission import Attendance
from lmms_eval_tasks.yocausal.card import CARD
from lmms_eval_tasks.yocausal.rsi import Winner, compare_losses, official_dataset, official_metrics
from lmms_eval_tasks.yocausal.table import SPLIT

TOLERANCE = 1e-6
"""Largest difference of a fraction or a loss from the recomputed one: it allows for rounding in print."""
NO_PARAMETERS = "model_info.parameters is null: fill it in before you send the file."
Number = Annotated[float | None, Field(allow_inf_nan=False)]
"""A loss, a fraction or a count; null where there is none."""


class OpenRow(RowForm):
    """An object that may have further fields."""

    model_config = ConfigDict(extra="allow")


class LossesEntry(OpenRow):
    """One direction's losses."""

    total_accumulated_loss: Number
    step_losses: dict[str, Number]


class ComparisonEntry(OpenRow):
    """Winning direction of a pair, and its margin."""

    loss_diff: Number
    winner: Literal["forward", "backward", "tie"]


def _read_id(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise PydanticCustomError("id_type", "a whole number or a text")
    return value


class PairEntry(OpenRow):
    """One pair of clips."""

    id: Annotated[Any, BeforeValidator(_read_id)]
    dataset_source: str | None = None
    dataset: str | None = None
    vlm_causality: bool | None = None
    human_discriminable: bool | None = None
    forward_metrics: LossesEntry
    backward_metrics: LossesEntry
    comparison: ComparisonEntry

    @property
    def winner(self) -> Winner:
        """The winner by the losses; a loss that is null is one that was not finite."""
        forward, backward = self.forward_metrics.total_accumulated_loss, self.backward_metrics.total_accumulated_loss
        return Winner.TIE if forward is None or backward is None else compare_losses(forward, backward)

    @property
    def official_dataset(self) -> str:
        """The dataset under which the official code counts the pair."""
        return self.dataset if self.dataset is not None else official_dataset(self.dataset_source or "")

    @property
    def name(self) -> str:
        """Name of the pair in messages."""
        return f"{describe(self.id)} of {describe(self.official_dataset)}"


class ResultFile(OpenRow):
    """The file."""

    model_info: dict[str, Any]
    eval_settings: dict[str, Any]
    per_dataset_metrics: dict[str, dict[str, Number]]
    overall_metrics: dict[str, Number]
    per_video_results: list[PairEntry]


def check(path: Path, prepared: Mapping[str, Table], allow_incomplete: bool, issues: Problems) -> Checked:
    """Check a file's form, its numbers against its pairs, and its pairs against the prepared table where there is
    one."""
    table = prepared.get(SPLIT)
    result = read_object(path, ResultFile, issues)
    notes: list[str] = []
    if result is not None:
        if not result.per_video_results:
            issues.add("per_video_results", "Expected at least one pair, but", "there is none")
        attendance = Attendance({}, "per_video_results.id", "each pair of a dataset", issues)
        for number, pair in enumerate(result.per_video_results, 1):
            attendance.add((pair.official_dataset, pair.id), pair.name, f"entry {number}")
            _check_pair(pair, f"{pair.name}, entry {number}", issues)
        _check_metrics(result, issues)
        if result.model_info.get("parameters") is None:
            notes.append(NO_PARAMETERS)
        if table:
            notes += _compare_with_table(result.per_video_results, table, allow_incomplete, issues)
    ids = f"the pairs against {table}" if table else "no ids: the data is not prepared here"
    checked = f"the form, the metrics against the pairs, and {ids}"
    rows = len(result.per_video_results) if result else 0
    return Checked(f"{CARD.title}, split {SPLIT}", rows, 0, checked, tuple(notes), table)


def _check_pair(pair: PairEntry, where: str, issues: Problems) -> None:
    """Note totals, a winner and a difference that do not follow from the losses."""
    field = "per_video_results"
    directions = {"forward": pair.forward_metrics, "backward": pair.backward_metrics}
    for name, losses in directions.items():
        total, mean = losses.total_accumulated_loss, _mean(list(losses.step_losses.values()))
        if losses.step_losses and not _same(total, mean):
            case = f"{_number(total)} ({where}, mean {_number(mean)})"
            clause = "Expected the mean of step_losses, but got"
            issues.add(f"{field}.{name}_metrics.total_accumulated_loss", clause, case)
    winner = pair.winner.value
    if pair.comparison.winner != winner:
        case = f"{describe(pair.comparison.winner)} ({where})"
        issues.add(f"{field}.comparison.winner", f"Expected {winner} by the losses, but got", case)
    forward, backward = (losses.total_accumulated_loss for losses in directions.values())
    difference = backward - forward if forward is not None and backward is not None else None
    if not _same(pair.comparison.loss_diff, difference):
        expected = "null" if difference is None else "the backward loss less the forward one"
        case = f"{_number(pair.comparison.loss_diff)} ({where})"
        issues.add(f"{field}.comparison.loss_diff", f"Expected {expected}, but got", case)


def _check_metrics(result: ResultFile, issues: Problems) -> None:
    """Note metrics that are not what the official functions give for the losses of the file's own pairs."""
    metrics = official_metrics(
        (pair.official_dataset, pair.winner.value, pair.vlm_causality, pair.human_discriminable)
        for pair in result.per_video_results
    )
    _compare("overall_metrics", result.overall_metrics, metrics["overall_metrics"], issues)
    field, expected, written = "per_dataset_metrics", metrics["per_dataset_metrics"], result.per_dataset_metrics
    for dataset in dict.fromkeys([*expected, *written]):
        if dataset not in expected:
            issues.add(field, "Expected the datasets of the pairs, but got", describe(dataset))
        elif dataset not in written:
            issues.add(field, "Expected every dataset of the pairs, but there is none for", describe(dataset))
        else:
            _compare(field, written[dataset], expected[dataset], issues, f" of {dataset[:60]}")


def _compare(
    field: str, written: Mapping[str, float | None], expected: Mapping[str, Any], issues: Problems, of: str = ""
) -> None:
    for name, value in expected.items():
        if name not in written:
            issues.add(field, "Expected all official metrics, but there is no", f"{name}{of}")
        elif not _same(written[name], value) and not (name.startswith("num_") and not written[name] and not value):
            case = f"{_number(written[name])} for {name}{of} (they give {_number(value)})"
            issues.add(field, "Expected what the pairs give, but got", case)


def _compare_with_table(
    pairs: Sequence[PairEntry], table: Table, allow_incomplete: bool, issues: Problems
) -> list[str]:
    """Note pairs that the release does not have and those that are missing; return what else differs from it."""
    released = {
        (official_dataset(row["dataset_source"] or row["subset"]), json.loads(row["released"])["id"]): row
        for row in table.rows
    }
    missing = dict(released)
    relabelled = 0
    for number, pair in enumerate(pairs, 1):
        key = (pair.official_dataset, pair.id)
        row = released.get(key)
        if row is None:
            case = f"{pair.name} (entry {number})"
            issues.add("per_video_results.id", f"Expected pairs of split {SPLIT}, but got", case)
            continue
        missing.pop(key, None)
        relabelled += any(getattr(pair, name) != row[name] for name in ("vlm_causality", "human_discriminable"))
    if not allow_incomplete:
        for row in missing.values():
            expected = f"Expected every pair of split {SPLIT}, but there is none for"
            issues.add("per_video_results", expected, describe(row["item_id"]))
    notes = [f"Incomplete: {len(missing):,} of {len(released):,} pairs have no entry."] if missing else []
    if relabelled:
        notes.append(f"Pairs with other labels than the prepared table: {relabelled:,}.")
    return notes


def _number(value: float | None) -> str:
    return "null" if value is None else f"{value:.10g}"


def _mean(losses: Sequence[Number]) -> Number:
    known = [loss for loss in losses if loss is not None]
    mean = sum(known) / len(known) if known and len(known) == len(losses) else math.inf
    return mean if math.isfinite(mean) else None


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)

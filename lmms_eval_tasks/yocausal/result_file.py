"""The result file that YoCausal's leaderboard takes, made by anybody: its form, and whether its numbers follow from its
pairs.

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

from lmms_eval_tasks.utils.core.json_rows import Row, read_object
from lmms_eval_tasks.utils.core.problems import GroupedIssues
from lmms_eval_tasks.utils.core.wording import describe, printable
from lmms_eval_tasks.utils.submission.form import Checked, Table
from lmms_eval_tasks.yocausal.card import CARD
from lmms_eval_tasks.yocausal.rsi import (
    Winner,
    compare_losses,
    official_dataset,
    official_overall,
    official_per_dataset,
)
from lmms_eval_tasks.yocausal.table import SPLIT

TOLERANCE = 1e-6
"""Largest difference of a fraction or a loss from the recomputed one: room for printed numbers, not for other ones."""
NO_PARAMETERS = "model_info.parameters is null: fill it in before you send the file."
Number = Annotated[float | None, Field(allow_inf_nan=False)]
"""A loss, a fraction or a count; null where there is none."""


class Open(Row):
    """An object whose further fields are the sender's affair."""

    model_config = ConfigDict(extra="allow")


class Side(Open):
    """One direction's losses."""

    total_accumulated_loss: Number
    step_losses: dict[str, Number]


class Comparison(Open):
    """Which direction won, and by how much."""

    loss_diff: Number
    winner: Literal["forward", "backward", "tie"]


def _read_id(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise PydanticCustomError("id_type", "a whole number or a text")
    return value


class Pair(Open):
    """One pair of clips."""

    id: Annotated[Any, BeforeValidator(_read_id)]
    dataset_source: str | None = None
    dataset: str | None = None
    vlm_causality: bool | None = None
    human_discriminable: bool | None = None
    forward_metrics: Side
    backward_metrics: Side
    comparison: Comparison

    @property
    def won(self) -> Winner:
        """The winner by the losses; a loss that is null is one that was not finite."""
        forward, backward = self.forward_metrics.total_accumulated_loss, self.backward_metrics.total_accumulated_loss
        return Winner.TIE if forward is None or backward is None else compare_losses(forward, backward)

    @property
    def filed(self) -> str:
        """The dataset under which the official code counts the pair."""
        return self.dataset if self.dataset is not None else official_dataset(self.dataset_source or "")


class ResultFile(Open):
    """The file."""

    model_info: dict[str, Any]
    eval_settings: dict[str, Any]
    per_dataset_metrics: dict[str, dict[str, Number]]
    overall_metrics: dict[str, Number]
    per_video_results: list[Pair]


def check(path: Path, prepared: Mapping[str, Table], allow_incomplete: bool, issues: GroupedIssues) -> Checked:
    """Hold a file against the form, its numbers against its pairs, and its pairs against the table where prepared."""
    table = prepared.get(SPLIT)
    found = read_object(path, ResultFile, issues)
    notes: list[str] = []
    pairs: Sequence[Pair] = ()
    if found is not None:
        pairs = found.per_video_results
        if not pairs:
            issues.add("per_video_results", "Expected at least one pair, but", "there is none")
        _check_winners(pairs, issues)
        _check_metrics(found, issues)
        if found.model_info.get("parameters") is None:
            notes.append(NO_PARAMETERS)
        if table:
            notes += _check_pairs(pairs, table, allow_incomplete, issues)
    ids = f"the pairs against {table}" if table else "no ids: the data is not prepared here"
    return Checked(
        f"{CARD.title}, split {SPLIT}",
        len(pairs),
        0,
        f"the form, the metrics against the pairs, and {ids}",
        tuple(notes),
    )


def _check_winners(pairs: Sequence[Pair], issues: GroupedIssues) -> None:
    """Note doubled pairs, and totals, winners and differences that do not follow from the losses."""
    seen: dict[tuple[str, Any], int] = {}
    for number, pair in enumerate(pairs, 1):
        where = f"{_name(pair)}, entry {number}"
        key = (pair.filed, pair.id)
        if key in seen:
            issues.add(
                "per_video_results.id", "Expected each pair of a dataset once, but got again",
                f"{_name(pair)} (entry {number}, first in entry {seen[key]})",
            )  # fmt: skip
        seen.setdefault(key, number)
        forward, backward = (side.total_accumulated_loss for side in (pair.forward_metrics, pair.backward_metrics))
        for name, side in (("forward", pair.forward_metrics), ("backward", pair.backward_metrics)):
            mean = _mean(list(side.step_losses.values()))
            if side.step_losses and not _same(side.total_accumulated_loss, mean):
                issues.add(
                    f"per_video_results.{name}_metrics.total_accumulated_loss",
                    "Expected the mean of step_losses, but got",
                    f"{_shown(side.total_accumulated_loss)} ({where}, mean {_shown(mean)})",
                )
        won = pair.won
        if pair.comparison.winner != won.value:
            issues.add(
                "per_video_results.comparison.winner", f"Expected {won.value} by the losses, but got",
                f"{describe(pair.comparison.winner)} ({where})",
            )  # fmt: skip
        expected = backward - forward if forward is not None and backward is not None else None
        if not _same(pair.comparison.loss_diff, expected):
            issues.add(
                "per_video_results.comparison.loss_diff",
                f"Expected {'null' if expected is None else 'the backward loss less the forward one'}, but got",
                f"{_shown(pair.comparison.loss_diff)} ({where})",
            )  # fmt: skip


def _check_metrics(found: ResultFile, issues: GroupedIssues) -> None:
    """Note metrics that are not what the official functions give for the losses of the file's own pairs."""
    winners: dict[str, list[dict[str, Any]]] = {}
    causal: dict[str, dict[Any, object]] = {}
    discriminable: dict[str, dict[Any, object]] = {}
    for number, pair in enumerate(found.per_video_results):
        # The number stands for the id: a doubled one is told elsewhere and must not change the labels here.
        winners.setdefault(pair.filed, []).append({"id": number, "winner": pair.won.value})
        for label, kept in ((pair.vlm_causality, causal), (pair.human_discriminable, discriminable)):
            if label is not None:
                kept.setdefault(pair.filed, {})[number] = label
    _compare("overall_metrics", found.overall_metrics, official_overall(winners, causal, discriminable), issues)
    expected = official_per_dataset(winners, causal, discriminable)
    for dataset in dict.fromkeys([*expected, *found.per_dataset_metrics]):
        if dataset not in expected:
            issues.add("per_dataset_metrics", "Expected the datasets of the pairs, but got", describe(dataset))
        elif dataset not in found.per_dataset_metrics:
            issues.add(
                "per_dataset_metrics", "Expected every dataset of the pairs, but there is none for", describe(dataset)
            )
        else:
            _compare(
                "per_dataset_metrics",
                found.per_dataset_metrics[dataset],
                expected[dataset],
                issues,
                f" of {printable(dataset[:60])}",
            )


def _compare(
    where: str, given: Mapping[str, float | None], expected: Mapping[str, Any], issues: GroupedIssues, of: str = ""
) -> None:
    for name, value in expected.items():
        if name not in given:
            issues.add(where, "Expected all official metrics, but there is no", f"{name}{of}")
        elif not _same(given[name], value) and not (name.startswith("num_") and not given[name] and not value):
            issues.add(
                where, "Expected what the pairs give, but got",
                f"{_shown(given[name])} for {name}{of} (they give {_shown(value)})",
            )  # fmt: skip


def _check_pairs(pairs: Sequence[Pair], table: Table, allow_incomplete: bool, issues: GroupedIssues) -> list[str]:
    """Note pairs that the release does not have and those that lack; what else differs from it, in words."""
    released = {
        (official_dataset(row["dataset_source"] or row["subset"]), json.loads(row["released"])["id"]): row
        for row in table.rows
    }
    names = {key: row["item_id"] for key, row in released.items()}
    seen = set()
    relabelled = 0
    for number, pair in enumerate(pairs, 1):
        row = released.get((pair.filed, pair.id))
        if row is None:
            issues.add(
                "per_video_results.id", f"Expected pairs of split {SPLIT}, but got", f"{_name(pair)} (entry {number})"
            )
            continue
        seen.add((pair.filed, pair.id))
        relabelled += any(getattr(pair, name) != row[name] for name in ("vlm_causality", "human_discriminable"))
    lost = [name for key, name in names.items() if key not in seen]
    for name in () if allow_incomplete else lost:
        issues.add("per_video_results", f"Expected every pair of split {SPLIT}, but there is none for", describe(name))
    notes = [f"Incomplete: {len(lost):,} of {len(names):,} pairs have no entry."] if lost else []
    if relabelled:
        notes.append(f"Pairs with other labels than the prepared table: {relabelled:,}.")
    return notes


def _name(pair: Pair) -> str:
    return f"{describe(pair.id)} of {describe(pair.filed)}"


def _shown(value: float | None) -> str:
    return "null" if value is None else f"{value:.10g}"


def _mean(losses: Sequence[Number]) -> Number:
    """Mean of losses; None where one of them is, or where it is too large for a number."""
    known = [loss for loss in losses if loss is not None]
    mean = sum(known) / len(known) if known and len(known) == len(losses) else math.inf
    return mean if math.isfinite(mean) else None


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)

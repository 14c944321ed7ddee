"""Asking and grading of YoCausal's pairs of denoising losses, and of directions in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator, Field

from lmms_eval_tasks.api import (
    GradedItem,
    Outcome,
    Record,
    Reply,
    Row,
    RunningTask,
    UnscoredReason,
    choice_grader,
    hook,
)
from lmms_eval_tasks.api.losses import read_denoising
from lmms_eval_tasks.api.prompts import TaskSettings
from lmms_eval_tasks.api.release import summarize_names
from lmms_eval_tasks.api.runs import LogForm, log_line
from lmms_eval_tasks.yocausal.card import FORWARD, LABELS, REVERSED, UNKNOWN, Winner, compare_losses, stratum
from lmms_eval_tasks.yocausal.result_file import PairLosses, TimedForm, mixed_versions

if TYPE_CHECKING:
    import datasets

__all__ = ["doc_to_target"]

NO_LOSSES = (
    "The response is no denoising losses: run this task with --model video_diffusion; for a model that answers in "
    "words, the task is yocausal_vlm."
)
NAMED = 5
STRATUM = ("subset",)
"""The stratum over which scores are a mean."""


@hook
def doc_to_target(task: RunningTask, doc: Row) -> str:
    """The direction whose loss should be the smaller one."""
    return "forward"


def ask(row: Row, settings: TaskSettings) -> str:
    """The forward clip's caption, with which the model prompts; empty without one, or where the clip is missing."""
    return (row["caption"] or "") if row["asked"] else ""


class LossForm(LogForm):
    forward: float
    backward: float


class PairFields(TimedForm):
    vlm_causality: bool | None
    human_discriminable: bool | None
    motion_symmetric: bool | None
    loss: LossForm | None = None
    model: str | None = None
    settings_digest: str | None = None


class DirectionFields(LogForm):
    human_credit: Annotated[float, Field(ge=0, le=100)] | None


def _without_record(value: object) -> object:
    """Return the values logged for the file besides the record; None if there are none, as for a pair without
    losses."""
    return None if isinstance(value, dict) and not value.keys() - {"record"} else value


PairLine = log_line(
    PairFields,
    STRATUM,
    answered=Annotated[Winner, Field(strict=False)] | None,
    submission=Annotated[PairLosses | None, BeforeValidator(_without_record)],
)
DirectionLine = log_line(DirectionFields, STRATUM)


def grade(row: Row, reply: Reply, context: RunningTask) -> GradedItem:
    """Grade one pair; without losses it is unparsed or unscored, and its record says why."""
    answer = read_denoising(reply.text)
    losses = PairLosses.of(answer) if answer is not None and answer.loss is not None else None
    winner, outcome, reason, detail = None, Outcome.UNSCORED, reply.missing, ""
    if answer is None:
        outcome, detail = (Outcome.UNSCORED, "") if reply.missing else (Outcome.UNPARSED, NO_LOSSES)
    elif answer.item_id != row["item_id"]:
        reason, detail = UnscoredReason.OTHER_ITEM, f"The response is about {answer.item_id}, not about this pair."
    elif losses is not None:
        winner = compare_losses(losses.forward, losses.backward).value
        outcome = Outcome.CORRECT if winner == "forward" else Outcome.WRONG
    elif answer.error is not None:
        reason, detail = UnscoredReason.of_error(answer.error.kind), answer.error.message
    fields = {name: row[name] for name in (*LABELS, "motion_symmetric")}
    fields["loss"] = losses and losses.model_dump(include={"forward", "backward"})
    if losses is not None and winner:
        fields |= losses.model_dump(include={"steps", "timesteps"})
    fields["model"] = answer and answer.settings.get("model")
    fields["settings_digest"] = answer and answer.settings_digest
    record = Record(
        item_id=row["item_id"],
        group_id=row["group_id"],
        stratum=stratum(row),
        expected="forward",
        answered=winner,
        outcome=outcome,
        unscored_reason=reason,
        detail=detail,
        fields=fields,
    )
    return GradedItem(record, losses.model_dump() if losses is not None and winner else {})


def warnings(items: Sequence[GradedItem], context: RunningTask) -> list[str]:
    """Name the pairs without losses and why, those with losses that are not finite, and mixed software versions."""
    messages = []
    unscored: dict[str, list[str]] = {}
    for item in items:
        if item.record.answered is None:
            unscored.setdefault(item.record.detail or item.record.why, []).append(item.record.item_id)
    if unscored:
        number = sum(map(len, unscored.values()))
        lines = [f"yocausal: {number} of {len(items)} pairs have no losses and leave every score:"]
        for reason, names in sorted(unscored.items(), key=lambda entry: (-len(entry[1]), entry[0]))[:NAMED]:
            lines.append(f"  {summarize_names(names, NAMED)}: {reason}")
        if len(unscored) > NAMED:
            lines.append(f"  … and {len(unscored) - NAMED} more reasons; the sample log has them all")
        messages.append("\n".join(lines))
    if non_finite := [item.record.item_id for item in items if item.record.answered == Winner.NON_FINITE.value]:
        messages.append(
            f"yocausal: {len(non_finite)} of {len(items)} pairs have a loss that is NaN or infinite, which is no win "
            f"and stays in the denominator: {summarize_names(non_finite, NAMED)}. If it is most of them, try "
            "dtype=float32."
        )
    if mixed := mixed_versions([item.submission for item in items if item.submission]):
        messages.append(
            f"yocausal: pairs were measured with several versions ({mixed}), and their losses may differ slightly. To "
            "measure all with those of today, give --model_args an empty folder as cache."
        )
    return messages


# The task `yocausal_vlm`: a pair's clip and its reversal are two items.


def both_directions(table: datasets.Dataset) -> datasets.Dataset:
    """Each pair's clip and its reversal as two items, one after the other."""
    doubled = table.select([row for row in range(len(table)) for _ in range(2)])
    sides = (("fwd", FORWARD), ("bwd", REVERSED)) * len(table)
    columns = {
        "item_id": [f"{name}_{side}" for name, (side, _) in zip(doubled["item_id"], sides, strict=True)],
        "answer": [answer for _, answer in sides],
        "clip": [row[column] for row in table for column in ("clip", "clip_backward")],
    }
    doubled = doubled.remove_columns(["clip_backward", *columns])
    for name, column in columns.items():
        doubled = doubled.add_column(name, column)
    return doubled


grade_choice = choice_grader(stratum=stratum)


def grade_direction(row: Row, reply: Reply, context: RunningTask) -> GradedItem:
    """Grade one clip; its credit by the protocol of the paper's study of people is among the record's fields."""
    record = grade_choice(row, reply, context).record
    credit = None if record.correct is None else 100.0 if record.correct else 50.0 * (record.answered == UNKNOWN)
    return GradedItem(record.with_fields(human_credit=credit))

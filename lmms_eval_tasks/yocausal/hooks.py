"""The hooks of YoCausal's tasks, and how a pair of denoising losses is graded, for the task `yocausal`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lmms_eval_tasks.api import (
    GradedItem,
    Outcome,
    Record,
    Row,
    RunningTask,
    TaskContext,
    UnscoredReason,
    hook,
)
from lmms_eval_tasks.api.losses import read_denoising
from lmms_eval_tasks.api.prompts import TaskSettings
from lmms_eval_tasks.api.release import summarize_names
from lmms_eval_tasks.yocausal import vlm
from lmms_eval_tasks.yocausal.rsi import Winner, compare_losses
from lmms_eval_tasks.yocausal.submission import losses_by_timestep, mixed_versions, submission_item
from lmms_eval_tasks.yocausal.table import stratum

__all__ = ["doc_to_target", "doc_to_text", "process_results", "vlm_process_results", "write_submission"]

NO_LOSSES = (
    "The response is no denoising losses: run this task with --model video_diffusion; for a model that answers in "
    "words, the task is yocausal_vlm."
)
NAMED = 5


@hook
def doc_to_text(task: RunningTask, doc: Row, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The forward clip's caption, with which the model itself prompts."""
    return task.put(doc, lmms_eval_specific_kwargs, ask)


@hook
def doc_to_target(task: RunningTask, doc: Row) -> str:
    """The direction whose loss should be the smaller one."""
    return "forward"


@hook
def process_results(task: RunningTask, doc: Row, results: Sequence[Any]) -> dict[str, Any]:
    """The record of a pair of losses, and what it contributes to each score."""
    return task.grade_first(doc, results, grade)


@hook
def write_submission(task: RunningTask, items: Sequence[Mapping[str, Any]], args: Any) -> int | None:
    """Write the file for the leaderboard, and name the pairs that are not in it; the number of rows."""
    return task.finish(items, args, warnings)


@hook
def vlm_process_results(task: RunningTask, doc: Row, results: Sequence[Any]) -> dict[str, Any]:
    """The record of a clip's direction, and what it contributes to each score."""
    return task.grade_first(doc, results, vlm.grade)


def ask(row: Row, settings: TaskSettings) -> str:
    """The forward clip's caption; empty where it has none, or the clip is missing."""
    return (row["caption"] or "") if row["asked"] else ""


def grade(row: Row, response: object, context: TaskContext) -> GradedItem:
    """Grade one pair; without losses it is unparsed or unscored, and its record says why."""
    answer = read_denoising(response)
    winner, outcome, reason, detail = None, Outcome.UNSCORED, None, ""
    if not row["asked"]:
        reason = UnscoredReason.NO_CLIP
    elif answer is None:
        outcome, detail = Outcome.UNPARSED, NO_LOSSES
    elif answer.item_id != row["item_id"]:
        reason, detail = UnscoredReason.OTHER_ITEM, f"The response is about {answer.item_id}, not about this pair."
    elif answer.loss is not None:
        winner = compare_losses(answer.loss.forward, answer.loss.backward).value
        outcome = Outcome.CORRECT if winner == "forward" else Outcome.WRONG
    elif answer.error is not None:
        reason, detail = UnscoredReason.of_error(answer.error.kind), answer.error.message
    record = Record(
        item_id=row["item_id"],
        group_id=row["group_id"],
        stratum=stratum(row),
        expected="forward",
        answered=winner,
        outcome=outcome,
        unscored_reason=reason,
        detail=detail,
        fields={
            **{name: row[name] for name in ("vlm_causality", "human_discriminable", "motion_symmetric")},
            "loss": None if answer is None or answer.loss is None else answer.loss.model_dump(mode="json"),
            **(
                {"steps": losses_by_timestep(answer), "timesteps": answer.timesteps}
                if answer is not None and winner
                else {}
            ),
            "model": None if answer is None else answer.settings.get("model"),
            "settings_digest": None if answer is None else answer.settings_digest,
        },
    )
    return GradedItem(record, submission_item(answer) if answer is not None and winner is not None else {})


def warnings(items: Sequence[GradedItem], context: TaskContext) -> list[str]:
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

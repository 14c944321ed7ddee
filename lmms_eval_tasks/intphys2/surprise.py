"""How the two clips of a matched pair are compared by their losses, for the task `intphys2_surprise`."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from lmms_eval_tasks.api import GradedItem, InputError, Outcome, Record, Row, TaskContext, UnscoredReason
from lmms_eval_tasks.api.answers import POSSIBLE
from lmms_eval_tasks.api.clips import most_symmetric, symmetry
from lmms_eval_tasks.api.losses import lowest_clip, read_clip_losses
from lmms_eval_tasks.intphys2.card import CARD

if TYPE_CHECKING:
    import datasets

CLIPS = ("clip", "clip_other")
"""Columns of the two clips, in the order in which they are shown."""
MOTIONS = ("motion", "motion_other")
"""How much moves in each."""
LETTERS = ("A", "B")
NO_LOSSES = (
    "The response does not give a loss for each of the two clips: run this task with --model video_diffusion, or with "
    'a model that has answer_forms = ("clip losses",); for a model that answers in words, the task is intphys2_main.'
)
_ENDING = "_pair"


def matched_pairs(table: datasets.Dataset) -> datasets.Dataset:
    """Each matched pair as an item: its group is the scene, and its key the letter of the possible clip."""
    import datasets

    if "motion" not in table.column_names:
        raise InputError(
            f"{CARD.title} was prepared by a version that measured no motion, which the tasks of surprise need; its "
            f"other tasks do not.\nRun:  {CARD.prepare_command}"
        )
    found: dict[tuple[str, str, str], dict[bool, Row]] = {}
    for row in table.to_list():
        members = found.setdefault((row["group_id"], row["coding"], row["pair"]), {})
        members[row["answer"] == POSSIBLE] = row
    pairs = [_pair(members[True], members[False]) for members in found.values()]
    equal = most_symmetric({pair["item_id"]: _equality(pair) for pair in pairs})
    features = datasets.Features(
        {
            **table.features,
            CLIPS[1]: table.features["clip"],
            MOTIONS[1]: table.features["motion"],
            "motion_equal": table.features["clip_present"],
        }
    )
    rows = [{**pair, "motion_equal": pair["item_id"] in equal} for pair in pairs]
    return datasets.Dataset.from_list(rows, features=features)


def _pair(possible: Row, impossible: Row) -> dict[str, Any]:
    item_id = possible["item_id"] + _ENDING
    place = hashlib.sha256(item_id.encode()).digest()[0] % 2
    clips = (impossible, possible) if place else (possible, impossible)
    return {
        **possible,
        "item_id": item_id,
        "answer": LETTERS[place],
        **{column: row["clip"] for column, row in zip(CLIPS, clips, strict=True)},
        **{column: row["motion"] for column, row in zip(MOTIONS, clips, strict=True)},
        **{column: possible[column] and impossible[column] for column in ("clip_present", "asked")},
    }


def _equality(pair: Row) -> float | None:
    """Return the equality of motion of the two clips, 0 to 1, or None if one of them is not known."""
    motions = [pair[column] for column in MOTIONS]
    return None if None in motions else symmetry(motions)


def possible_clip(item_id: str) -> str:
    """The prepared row that an item was made from: its possible clip's."""
    return item_id.removesuffix(_ENDING)


def grade(row: Row, response: object, context: TaskContext) -> GradedItem:
    """Grade the losses of a pair; raises nothing."""
    answer = read_clip_losses(response, len(CLIPS))
    answered, outcome, reason, detail = None, Outcome.UNSCORED, None, ""
    if not row["asked"]:
        reason = UnscoredReason.NO_CLIP
    elif row["answer"] is None:
        reason = UnscoredReason.NO_KEY
    elif answer is None:
        outcome, detail = Outcome.UNPARSED, NO_LOSSES
    elif answer.losses is not None:
        answered = lowest_clip(answer.losses)
        outcome = Outcome.CORRECT if answered == row["answer"] else Outcome.WRONG
    elif answer.error is not None:
        reason, detail = UnscoredReason.of_error(answer.error.kind), answer.error.message
    curves = answer.curves if answer else []
    record = Record(
        item_id=row["item_id"],
        group_id=row["group_id"],
        stratum={name: row[name] for name in CARD.strata_columns},
        expected=row["answer"],
        answered=answered,
        outcome=outcome,
        unscored_reason=reason,
        detail=detail,
        fields={
            "pair": row["pair"],
            "coding": row["coding"],
            "clips": [row.get(column) for column in CLIPS],
            "motions": [row.get(column) for column in MOTIONS],
            "motion_equal": bool(row.get("motion_equal")),
            "losses": json.loads(answer.to_json())["losses"] if answer else None,
            "timesteps": answer.timesteps if answer else [],
            "lowest": [lowest_clip(losses) for losses in zip(*curves, strict=True)],
            "model": answer.settings.get("model") if answer else None,
            "settings_digest": answer.settings_digest if answer else None,
        },
    )
    return GradedItem(record)

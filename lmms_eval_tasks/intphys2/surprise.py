"""The tasks `intphys2_surprise`: the losses of a matched pair's two clips, from the pair to the report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lmms_eval_tasks.api import (
    COMMON_METRICS,
    PAIRS_SCORED,
    SINGLE_ACCURACY,
    Column,
    GradedItem,
    InputError,
    Metric,
    Outcome,
    Panel,
    Record,
    Reply,
    Row,
    RunningTask,
    RunRecords,
    TaskKind,
    UnscoredReason,
)  # fmt: skip
from lmms_eval_tasks.api.answers import POSSIBLE
from lmms_eval_tasks.api.clips import most_symmetric, symmetry
from lmms_eval_tasks.api.losses import AnswerForm, guess_losses, lowest_clip, read_clip_losses
from lmms_eval_tasks.api.page import AnswerView, ItemView, ReferencedMetric, timestep_plot, usual_panels
from lmms_eval_tasks.api.runs import LogForm, log_line
from lmms_eval_tasks.intphys2.card import CARD, by_parts, says

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

# ---- pairs as items, and their grade -------------------------------------------------------------------------------


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
    motions = {pair["item_id"]: [pair[column] for column in MOTIONS] for pair in pairs}
    equal = most_symmetric({name: None if None in both else symmetry(both) for name, both in motions.items()})
    features = {
        **table.features,
        CLIPS[1]: table.features["clip"],
        MOTIONS[1]: table.features["motion"],
        "motion_equal": table.features["clip_present"],
    }
    rows = [{**pair, "motion_equal": pair["item_id"] in equal} for pair in pairs]
    return datasets.Dataset.from_list(rows, features=datasets.Features(features))


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


def possible_clip(item_id: str) -> str:
    """The prepared row that an item was made from: its possible clip's."""
    return item_id.removesuffix(_ENDING)


def grade(row: Row, reply: Reply, context: RunningTask) -> GradedItem:
    """Grade the losses of a pair; raises nothing."""
    answer = read_clip_losses(reply.text, len(CLIPS))
    fields = {
        "pair": row["pair"],
        "coding": row["coding"],
        "clips": [row.get(column) for column in CLIPS],
        "motions": [row.get(column) for column in MOTIONS],
        "motion_equal": bool(row.get("motion_equal")),
        "losses": json.loads(answer.to_json())["losses"] if answer else None,
        "timesteps": answer.timesteps if answer else [],
        "lowest": [lowest_clip(losses) for losses in zip(*(answer.curves if answer else []), strict=True)],
        "model": answer.settings.get("model") if answer else None,
        "settings_digest": answer.settings_digest if answer else None,
    }
    lowest = lowest_clip(answer.losses) if answer and answer.losses is not None else None
    stratum = {name: row[name] for name in CARD.strata_columns}
    record = Record.of(row, lowest, stratum, fields, missing=reply.missing)
    if record.outcome is Outcome.UNPARSED and answer and answer.error:
        reason = UnscoredReason.of_error(answer.error.kind)
        record = replace(record, outcome=Outcome.UNSCORED, unscored_reason=reason, detail=answer.error.message)
    elif record.outcome is Outcome.UNPARSED:
        record = replace(record, detail=NO_LOSSES)
    return GradedItem(record)


class LossFields(LogForm):
    clips: list[str | None]
    motions: list[float | None]
    motion_equal: bool
    losses: list[float | str] | None
    timesteps: list[float]
    lowest: list[str]


# ---- scores --------------------------------------------------------------------------------------------------------


def _moves_less(record: Record) -> float | None:
    motions = record.fields["motions"]
    if record.correct is None or None in motions:
        return None
    return 100.0 * (lowest_clip(motions) == record.expected)


def _unparsed(record: Record) -> float | None:
    return 100.0 * (record.outcome is Outcome.UNPARSED) if record.asked else None


def _won_at(timestep: float, record: Record) -> float | None:
    timesteps = record.fields["timesteps"]
    if record.correct is None or timestep not in timesteps:
        return None
    lowest: str = record.fields["lowest"][timesteps.index(timestep)]
    return 100.0 * (lowest == record.expected)


PREFERENCE = replace(SINGLE_ACCURACY, name="plausibility_preference", title="possible preferred")
"""Percent of scored pairs whose possible clip has the lower loss; a tie and a loss that is not finite are no win.

It is 100 less the plausibility preference error of LikePhys.
"""
EQUAL_MOTION = replace(PREFERENCE, errors="none").within("motion_equal", lambda record: record.fields["motion_equal"])
"""The same over the pairs whose two clips move the most equally."""
MOVES_LESS = Metric("motion_preference", "possible moves less", _moves_less, higher_is_better=None)
"""Percent of scored pairs whose possible clip moves less: what a loss that follows nothing but motion would score."""
TIE_RATE = Metric("tie_rate", "ties", partial(says, "tie"), higher_is_better=False)
NON_FINITE_RATE = Metric("non_finite_rate", "non-finite", partial(says, "non-finite"), higher_is_better=False)
UNPARSED_RATE = replace(COMMON_METRICS.unparsed, value=_unparsed)
"""Percent of pairs asked whose response is no losses; one with an error in their place is unscored."""
PAIRS = replace(PAIRS_SCORED, together=None)
"""Number of pairs that the scores are computed from."""
METRICS = (
    PREFERENCE,
    EQUAL_MOTION,
    MOVES_LESS,
    *by_parts(replace(PREFERENCE, errors="none")),
    TIE_RATE,
    NON_FINITE_RATE,
    PAIRS,
    UNPARSED_RATE,
    COMMON_METRICS.unscored,
    COMMON_METRICS.sample_data,
)


def preference_at(timestep: float) -> Metric:
    return Metric("plausibility_preference_at", PREFERENCE.title, partial(_won_at, timestep))


# ---- the report ----------------------------------------------------------------------------------------------------

CHANCE = CARD.chance[PREFERENCE.name]


def references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """The score, the same where motion is equal, and what motion alone would score."""
    return (
        ReferencedMetric(PREFERENCE, CHANCE, note="A pair is won where its possible clip has the lower loss."),
        ReferencedMetric(EQUAL_MOTION, CHANCE, note="Of the 30% of pairs whose two clips move the most equally."),
        ReferencedMetric(MOVES_LESS, CHANCE, note="What a loss would score that follows nothing but motion."),
    )


def panels(task: str, runs: Sequence[RunRecords]) -> list[Panel]:
    timed = [run for run in runs if any(record.fields["timesteps"] for record in run.records)]
    if not timed:
        return usual_panels(runs)
    timesteps = sorted({timestep for run in timed for record in run.records for timestep in record.fields["timesteps"]})
    curves = [(run.name, run, preference_at) for run in timed]
    figure = timestep_plot(f"{PREFERENCE.title} by timestep", timesteps, curves, rule=CHANCE)
    note = (
        "Percent of pairs whose possible clip has the lower loss at a timestep alone, from little noise to much; 50 is "
        "chance. Bars are 95% intervals over scenes."
    )
    return [Panel("Possible preferred, by timestep", figure, note), *usual_panels(runs)]


def item_view(record: Record, row: Row) -> ItemView:
    """The pair's two clips in the order in which they were shown."""
    clips = {letter: clip for letter, clip in zip(LETTERS, record.fields["clips"], strict=True) if clip}
    return ItemView(clips, text=f"Clip {record.expected} is possible, and should have the lower loss.")


def answer_view(record: Record, row: Row, response: str) -> AnswerView:
    facts: dict[str, str] = {}
    for name, numbers in (("loss", record.fields["losses"] or ()), ("motion", record.fields["motions"])):
        facts |= {
            f"{name} {letter}": number if isinstance(number, str) else f"{number:.6g}"
            for letter, number in zip(LETTERS, numbers, strict=False)
            if number is not None
        }
    answer = read_clip_losses(response, len(LETTERS))
    if answer is None or not answer.timesteps:
        return AnswerView(facts)
    curves = {
        f"{letter}, {'possible' if letter == record.expected else 'impossible'}": list(
            zip(answer.timesteps, losses, strict=True)
        )
        for letter, losses in zip(LETTERS, answer.curves, strict=True)
    }
    return AnswerView(facts, curves=curves, axes=("timestep", "loss"))


SURPRISE = TaskKind(
    metrics=METRICS,
    ask=lambda row, settings: "",
    grade=grade,
    columns=(
        Column(PREFERENCE, interval=True),
        Column(PREFERENCE, "vs 50", against=CHANCE),
        Column(EQUAL_MOTION, "equal motion", interval=True),
        Column(MOVES_LESS, "moves less"),
        Column(TIE_RATE),
        Column(NON_FINITE_RATE),
        Column(UNPARSED_RATE),
        Column(COMMON_METRICS.unscored),
        Column(PAIRS),
    ),
    references=references,
    panels=panels,
    item_view=item_view,
    answer_view=answer_view,
    visuals=CLIPS,
    guesses=lambda row: guess_losses(len(CLIPS)),
    answer_form=AnswerForm.CLIP_LOSSES,
    rows=matched_pairs,
    row_id=possible_clip,
    log_form=log_line(LossFields, CARD.strata_columns),
    views=(),
    no_submission="the leaderboard takes answers about single clips, and of the held-out ones alone.",
)

"""What a report shows of losses: the score beside that of motion alone, by timestep, and a pair's two clips."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_eval_tasks.api import COMMON_METRICS, Column, Panel, Record, Row, RunRecords
from lmms_eval_tasks.api.losses import read_clip_losses
from lmms_eval_tasks.api.page import AnswerView, ItemView, ReferencedMetric, timestep_plot, usual_panels
from lmms_eval_tasks.intphys2.card import CARD
from lmms_eval_tasks.intphys2.surprise import LETTERS
from lmms_eval_tasks.intphys2.surprise_metrics import (
    EQUAL_MOTION,
    MOVES_LESS,
    NON_FINITE_RATE,
    PAIRS,
    PREFERENCE,
    TIE_RATE,
    UNPARSED_RATE,
    preference_at,
)

CHANCE = CARD.chance[PREFERENCE.name]
COLUMNS = (
    Column(PREFERENCE, interval=True),
    Column(PREFERENCE, "vs 50", against=CHANCE),
    Column(EQUAL_MOTION, "equal motion", interval=True),
    Column(MOVES_LESS, "moves less"),
    Column(TIE_RATE),
    Column(NON_FINITE_RATE),
    Column(UNPARSED_RATE),
    Column(COMMON_METRICS[1]),
    Column(PAIRS),
)


def references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """The score, the same where motion is equal, and what motion alone would score."""
    return (
        ReferencedMetric(PREFERENCE, CHANCE, note="A pair is won where its possible clip has the lower loss."),
        ReferencedMetric(EQUAL_MOTION, CHANCE, note="Of the 30% of pairs whose two clips move the most equally."),
        ReferencedMetric(MOVES_LESS, CHANCE, note="What a loss would score that follows nothing but motion."),
    )


def panels(task: str, runs: Sequence[RunRecords]) -> list[Panel]:
    """The score by timestep, where a run has some, and which clip has the lower loss."""
    timesteps = sorted({timestep for run in runs for record in run.records for timestep in record.fields["timesteps"]})
    return [*([_by_timestep(runs, timesteps)] if timesteps else []), *usual_panels(runs)]


def _by_timestep(runs: Sequence[RunRecords], timesteps: Sequence[float]) -> Panel:
    """A line for each run that measured at one of the timesteps."""
    curves = [(run.name, run, preference_at) for run in runs if any(one.fields["timesteps"] for one in run.records)]
    figure = timestep_plot(f"{PREFERENCE.title} by timestep", timesteps, curves, rule=CHANCE)
    note = (
        "Percent of pairs whose possible clip has the lower loss at a timestep alone, from little noise to much; 50 is "
        "chance. Bars are 95% intervals over scenes."
    )
    return Panel("Possible preferred, by timestep", figure, note)


def item_view(record: Record, row: Row) -> ItemView:
    """The pair's two clips in the order in which they were shown."""
    clips = {letter: clip for letter, clip in zip(LETTERS, record.fields["clips"], strict=True) if clip}
    return ItemView(clips, text=f"Clip {record.expected} is possible, and should have the lower loss.")


def answer_view(record: Record, row: Row, response: str) -> AnswerView:
    """The loss of each clip, also along the timesteps, and how much moves in it."""
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

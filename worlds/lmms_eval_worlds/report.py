"""Worlds in a report: scores next to chance, profiles of models as panels, and evidence in clips."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from string import ascii_uppercase

from lmms_eval_tasks.api import (
    COMMON_METRICS,
    PAIR_ACCURACY,
    PAIRS_SCORED,
    SINGLE_ACCURACY,
    Column,
    Metric,
    Panel,
    Record,
    Row,
    RunRecords,
    share_plot,
)
from lmms_eval_tasks.api.answers import SAYS_POSSIBLE, VERDICT_ACCURACY, YES_RATE
from lmms_eval_tasks.api.evidence import read_truth
from lmms_eval_tasks.api.page import (
    AnswerView,
    ItemView,
    ReferencedMetric,
    evidence_answer_view,
    heat_map,
    timestep_plot,
    tracks_of,
    usual_panels,
)
from lmms_eval_worlds.card import ACCURACY, FAITHFUL, FRAME, IM_VIOU
from lmms_eval_worlds.profile import (
    ALL,
    CAUSAL,
    CONTROL_RIGHT,
    NO_FAILURE,
    SEEN_RIGHTLY,
    STEPS,
    ModelProfile,
    profiles_of_section,
)


def profile_panels(profiles: Sequence[ModelProfile]) -> list[Panel]:
    """Accuracy by step, the step that fails first, and accuracy over depth; none without a profile."""
    if not profiles:
        return []
    runs = [profile.run for profile in profiles]
    depths = sorted({float(depth) for profile in profiles for depth in profile.depths})
    return [
        *map(_steps_panel, profiles),
        Panel(
            "Which step fails first",
            share_plot(
                "Scenes of each run by the step that fails first",
                runs,
                [profile.first_failures() for profile in profiles],
                (*STEPS, NO_FAILURE),
            ),
            "Of each scene, the first step with a question that is not right: " + ", ".join(STEPS) + ". A model that "
            "guesses fails first at what is seen nearly everywhere.",
            wide=True,
        ),
        Panel(
            "Causal questions by depth",
            timestep_plot(
                "Accuracy of causal questions by the length of the chain",
                depths,
                [(profile.run.name, profile.run, _at_depth(profile)) for profile in profiles],
                along="links of the longest chain",
            ),
            "With 95% intervals over scenes. A model that follows each link does not get worse with their number.",
        ),
    ]


def _at_depth(profile: ModelProfile) -> Callable[[float], Metric]:
    return lambda depth: replace(profile.accuracy(ALL, CAUSAL, f"{depth:g}"), title="causal questions right")


def _steps_panel(profile: ModelProfile) -> Panel:
    rows = {ALL: STEPS, SEEN_RIGHTLY: CAUSAL, CONTROL_RIGHT: CAUSAL}
    cells = {
        (of, step): profile.run.estimate(profile.accuracy(of, [step])) for of, steps in rows.items() for step in steps
    }
    caption = "Accuracy by step, of all scenes and of what was seen rightly"
    right, asked = profile.questions(CONTROL_RIGHT, CAUSAL)
    guesses = ", ".join(f"{step} {chance:.1f}" for step in STEPS if (chance := profile.chance([step])) is not None)
    return Panel(
        "Profile: accuracy by step",
        heat_map(caption, list(rows), STEPS, cells, (0.0, 100.0), profile.run),
        "A scene is seen rightly where all its perception questions are right; what is lost there is lost in "
        "reasoning, not in seeing. The control of a causal question is the perception questions of its scene about one "
        f"of the same events: of {asked:,} causal questions whose control is right, {right:,} are right. Guessing "
        f"scores: {guesses}. The small number is the number of scenes behind a cell.",
    )


FOLDER = Path(__file__).parent

CHANCE: Mapping[str, Sequence[tuple[Metric, float | None]]] = {
    "perception": ((SINGLE_ACCURACY, None),),
    "paired": ((PAIR_ACCURACY, None), (SINGLE_ACCURACY, None)),
    "minimal": ((PAIR_ACCURACY, 25.0), (SINGLE_ACCURACY, 50.0)),
    "counterfactual": ((VERDICT_ACCURACY, 50.0), (PAIR_ACCURACY, 25.0)),
    "evidence": ((ACCURACY, None), (FAITHFUL, None), (IM_VIOU, None)),
    "possible": ((SINGLE_ACCURACY, 50.0), (PAIR_ACCURACY, 25.0)),
    "reversal": ((PAIR_ACCURACY, 25.0), (SINGLE_ACCURACY, 50.0)),
}
"""The leading scores of each task, and what guessing scores; None where questions have two to four options."""

_COMMON = (Column(COMMON_METRICS.unparsed), Column(COMMON_METRICS.unscored))
_OTHERS: Mapping[str, tuple[Metric, ...]] = {"counterfactual": (YES_RATE,), "possible": (SAYS_POSSIBLE,)}

OTHER_WORLDS = {"remove": "without the {}", "freeze": "with the {} held", "delay": "with the {} held for a time"}
"""Kind of intervention to the world that it makes."""


def references(subset: str) -> Callable[[str, int], tuple[ReferencedMetric, ...]]:
    """The leading scores of a task beside chance; nothing is published, and no people were asked."""
    found = tuple(ReferencedMetric(metric, chance) for metric, chance in CHANCE[subset])
    return lambda task, items: found


def columns(subset: str) -> tuple[Column, ...]:
    leading = [metric for metric, _ in CHANCE[subset]]
    pairs = (Column(PAIRS_SCORED),) if PAIR_ACCURACY in leading else ()
    return (
        *(Column(metric, interval=True) for metric in leading),
        *map(Column, _OTHERS.get(subset, ())),
        *_COMMON,
        *(pairs or (Column(title="items"),)),
    )


def panels(task: str, runs: Sequence[RunRecords]) -> list[Panel]:
    """Return the panels of item outcomes, with a run's profile at its first causal task, which needs its other
    tasks."""
    return [*profile_panels(profiles_of_section(task, runs)), *usual_panels(runs)]


def counterfactual_answer(record: Record, row: Row, response: str) -> AnswerView:
    """The verdict that was read, what happens in the other world, and what a graph of what was seen says of it."""
    other = OTHER_WORLDS[row["intervention"]].format(row["changed"].replace(" and ", " and the "))
    happens = "it happens" if row["answer"] == "yes" else "it does not happen"
    facts = {"verdict read": record.answered or "none", "other world": f"{other}, {happens}"}
    return AnswerView({**facts, "by what was seen alone": row["seen"]})


def evidence_item_view(record: Record, row: Row) -> ItemView:
    return ItemView({"": row["clip"]}, frame=FRAME, tracks=tracks_of(read_truth(row["evidence"])))


def evidence_answer(record: Record, row: Row, response: str) -> AnswerView:
    return evidence_answer_view(record, response, FRAME)


def evidence_guesses(row: Row) -> list[str]:
    """Every option as an answer without evidence."""
    letters = ascii_uppercase[: len(row["options"])]
    return [json.dumps({"instances": [], "answer_choice": letter}) for letter in letters]

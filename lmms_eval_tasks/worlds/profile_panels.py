"""The panels of a page that show the profiles of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from lmms_eval_tasks.api import Metric, Panel, share_plot
from lmms_eval_tasks.api.page import heat_map, timestep_plot
from lmms_eval_tasks.worlds.profile import (
    ALL,
    CAUSAL,
    CONTROL_RIGHT,
    NO_FAILURE,
    SEEN_RIGHTLY,
    STEPS,
    ModelProfile,
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
        f"scores: {guesses}. The small number is how many scenes a cell stands on.",
    )

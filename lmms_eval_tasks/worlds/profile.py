"""The profile of a model: which step fails on scenes that it is asked about in several ways.

Steps are what it sees (perception), in which order (perception of order), why it happens (cause questions), what would
happen otherwise (counterfactuals) and where that is seen (evidence). All are of the same scenes, so that a model that
reasons well about what it saw wrongly can be told from one that saw rightly and reasons badly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from lmms_eval_tasks.api import SINGLE_ACCURACY, Metric, Panel, Record, RunRecords, share_plot
from lmms_eval_tasks.api.page import heat_map, timestep_plot

STEPS = ("seen", "ordered", "explained", "counterfactual", "grounded")
SEEN = STEPS[:2]
"""The controls: what is perceived, before any question of cause."""
NO_FAILURE = "none fails"
ALL, SEEN_RIGHTLY = "all scenes", "scenes seen rightly"

CAUSAL = replace(
    SINGLE_ACCURACY, name="causal_accuracy", title="causal questions", applies=lambda record: _step(record) in STEPS[2:]
)
"""Percent of scored causal questions that are right: explained, counterfactual and grounded."""


def _step(record: Record) -> str:
    return str(record.fields.get("step", ""))


def seen_rightly(records: Iterable[Record]) -> frozenset[str]:
    """The scenes whose perception controls were all right; a scene without a control is not among them."""
    verdicts: dict[str, bool] = {}
    for record in records:
        if _step(record) in SEEN:
            scene = str(record.fields["scene"])
            verdicts[scene] = verdicts.get(scene, True) and record.correct is True
    return frozenset(scene for scene, right in verdicts.items() if right)


def step_metrics(run: RunRecords) -> Mapping[tuple[str, str], Metric]:
    """The accuracy of a run at each step, of all scenes and of those that it saw rightly."""
    scenes = seen_rightly(run.records)
    return {
        (of, step): SINGLE_ACCURACY.within(f"{step}_{of}", partial(_counts, step, chosen))
        for of, chosen in ((ALL, None), (SEEN_RIGHTLY, scenes))
        for step in STEPS
    }


def _counts(step: str, scenes: frozenset[str] | None, record: Record) -> bool:
    return _step(record) == step and (scenes is None or record.fields["scene"] in scenes)


def first_failures(records: Iterable[Record]) -> Counter[str]:
    """How many scenes fail first at each step, in the order of `STEPS`: where a scored question of it is not right."""
    failed: dict[str, set[str]] = {}
    for record in records:
        if _step(record) in STEPS and record.correct is not None:
            steps = failed.setdefault(str(record.fields["scene"]), set())
            if not record.correct:
                steps.add(_step(record))
    return Counter(next((step for step in STEPS if step in steps), NO_FAILURE) for steps in failed.values())


def profile_panels(runs: Sequence[RunRecords]) -> list[Panel]:
    """The panels of a profile: accuracy by step, the step that fails first, and accuracy over depth.

    Runs without a causal question have none.
    """
    runs = [run for run in runs if any(_step(record) in STEPS[2:] for record in run.records)]
    if not runs:
        return []
    depths = sorted(
        {int(record.stratum["depth"]) for run in runs for record in run.records if "depth" in record.stratum}
    )
    at_depth = [
        (run.name, run, lambda depth: CAUSAL.within(f"depth {depth:g}", partial(_is_deep, depth))) for run in runs
    ]
    return [
        *(_steps_panel(run) for run in runs),
        Panel(
            "Which step fails first",
            share_plot(
                "Scenes of each run by the step that fails first",
                runs,
                [first_failures(run.records) for run in runs],
                (*STEPS, NO_FAILURE),
            ),
            "Of each scene, the first step with a question that is not right: " + ", ".join(STEPS) + ".",
            wide=True,
        ),
        Panel(
            "Causal questions by depth",
            timestep_plot(
                "Accuracy of causal questions by the length of the chain",
                depths,
                at_depth,
                along="links of the longest chain",
            ),
            "With 95% intervals. A model that follows each link does not get worse with their number.",
        ),
    ]


def _is_deep(depth: float, record: Record) -> bool:
    return int(record.stratum.get("depth", -1)) == depth


def _steps_panel(run: RunRecords) -> Panel:
    cells = {place: run.estimate(metric) for place, metric in step_metrics(run).items()}
    figure = heat_map(
        "Accuracy by step, of all scenes and of those that were seen rightly",
        (ALL, SEEN_RIGHTLY),
        STEPS,
        cells,
        (0.0, 100.0),
        run,
    )
    return Panel(
        "Profile: accuracy by step",
        figure,
        "A scene is seen rightly where all its perception questions are right. What is lost there is lost in "
        "reasoning, not in seeing. The small number is how many groups of questions there are.",
    )

"""The commands `lmms-eval-tasks worlds …`, and the tables of `worlds profile`: the failing step of a causal answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmms_eval_tasks.api import InputError, Metric, RunRecords
from lmms_eval_tasks.api.commands import make_console, text_table
from lmms_eval_tasks.api.runs import Run, read_run
from lmms_eval_tasks.worlds.export import export_app
from lmms_eval_tasks.worlds.profile import (
    ALL,
    CAUSAL,
    CONTROL_RIGHT,
    CONTROL_WRONG,
    CONTROLS,
    LEADING,
    NO_CONTROL,
    NO_FAILURE,
    SEEN_RIGHTLY,
    STEPS,
    ModelProfile,
    profile_of,
    task_name,
    tasks_by_view,
)

if TYPE_CHECKING:
    from rich.console import Console


def profile(
    runs: Annotated[list[Path], typer.Argument(help="Output folders of runs of worlds: the latest run of each.")],
    allow_incomplete: Annotated[
        bool, typer.Option("--allow-incomplete", help="Also the part that is there of a run that was cut short.")
    ] = False,
) -> None:
    """Show which step of a causal answer fails: seeing, ordering, explaining, supposing, or showing.

    It needs the perception questions and causal ones of the same scenes in one run; `report --html` draws the same.

    Examples:
        lmms-eval-tasks worlds profile out/worlds
        lmms-eval-tasks worlds profile out/qwen out/internvl
    """
    finished = [read_run(source, allow_incomplete) for source in runs]
    models = [run.title for run in finished]
    named = [
        run.title if models.count(run.title) == 1 else f"{run.title} ({source})"
        for run, source in zip(finished, runs, strict=True)
    ]
    # Of all runs, before anything is printed of the first.
    profiles = [profiles_of(run, name) for run, name in zip(finished, named, strict=True)]
    console = make_console()
    for run, of_run in zip(finished, profiles, strict=True):
        for note in run.notes:
            console.print(f"note: {note}.", style="yellow", soft_wrap=True)
        for one in of_run:
            print_profile(console, one)


def profiles_of(run: Run, name: str) -> Sequence[ModelProfile]:
    """The profiles of a run, one for each view of its clips in which it has both kinds of questions."""
    found = []
    for number, (view, tasks) in enumerate(tasks_by_view(run).items(), 1):
        shown = f"{name}, {view}" if view else name
        held = [task for task in run.records if run.records[task] and run.records[task][0].view == view]
        found.append(profile_of(RunRecords(str(number), shown, list(tasks.values()), run.apart(held), run.path)))
    if known := [one for one in found if one]:
        return known
    causal = ", ".join(map(task_name, LEADING))
    raise InputError(
        f"Expected a run with scored questions of {task_name(CONTROLS)} and of a causal task, any of {causal}, with "
        f"the same view, but {run.path} has {', '.join(run.records)}."
    )


TOGETHER = "causal, together"
RIGHT = "right, % [95%]"


def print_profile(console: Console, profile: ModelProfile) -> None:
    """Print the tables of a profile; intervals are over scenes, and each number has how many scenes it stands on."""
    console.print(profile.run.name, style="bold")
    if profile.run.apart:
        console.print(f"Not of the whole official release: {profile.run.apart}.", style="bold red")
    for print_table in (_print_steps, _print_controls, _print_first_failures, _print_depths):
        console.print()
        print_table(console, profile)
    console.print()


def _print_steps(console: Console, profile: ModelProfile) -> None:
    table = text_table("Accuracy by step", "step", ALL, "guessing", "scenes", SEEN_RIGHTLY, "scenes", numbers=True)
    for name, steps in (*((step, [step]) for step in STEPS), (TOGETHER, CAUSAL)):
        # Of scenes seen rightly all perception questions are right by definition.
        rightly = _cells(profile.run, profile.accuracy(SEEN_RIGHTLY, steps)) if steps[0] in CAUSAL else ("", "")
        score, scenes = _cells(profile.run, profile.accuracy(ALL, steps))
        chance = profile.chance(steps)
        table.add_row(name, score, "" if chance is None else f"{chance:.1f}", scenes, *rightly)
    console.print(table)
    console.print(
        "Percent of questions that are right, with 95% intervals over scenes, beside what guessing scores; a scene is "
        "seen rightly where all its perception questions are right, so that what is lost there is lost in reasoning, "
        "not in seeing."
    )


def _print_controls(console: Console, profile: ModelProfile) -> None:
    table = text_table(
        "Causal questions by their own control", "control", "questions", "right", RIGHT, "scenes",
        numbers=True,
    )  # fmt: skip
    for of in (CONTROL_RIGHT, CONTROL_WRONG, NO_CONTROL):
        right, asked = profile.questions(of, CAUSAL)
        table.add_row(of, f"{asked:,}", f"{right:,}", *_cells(profile.run, profile.accuracy(of, CAUSAL)))
    console.print(table)
    console.print(
        "The control of a causal question is the perception questions of its scene about one of the same events; a "
        "model that answers from what it sees is right more often where its control is right."
    )


def _print_first_failures(console: Console, profile: ModelProfile) -> None:
    counts = profile.first_failures()
    table = text_table("The step that fails first", "step", "scenes", "% [95%]", numbers=True)
    for step in (*STEPS, NO_FAILURE):
        share, _ = _cells(*profile.share_failing(step))
        table.add_row(step, f"{counts[step]:,}", share)
    console.print(table)
    console.print(
        f"Of {counts.total():,} scenes with perception and causal questions, the first step with a question that is "
        "not right; an answer with evidence is right where its evidence matches. A model that guesses fails first at "
        "what is seen nearly everywhere, since all questions of a step have to be right."
    )


def _print_depths(console: Console, profile: ModelProfile) -> None:
    table = text_table("Causal questions by depth", "links", ALL, "scenes", SEEN_RIGHTLY, "scenes", numbers=True)
    for depth in profile.depths:
        of_all, rightly = (_cells(profile.run, profile.accuracy(of, CAUSAL, depth)) for of in (ALL, SEEN_RIGHTLY))
        table.add_row(depth, *of_all, *rightly)
    console.print(table)
    console.print(
        "Links: of the longest chain of causes in the scene; a model that follows each link does not get worse with "
        "their number."
    )


def _cells(run: RunRecords, metric: Metric) -> tuple[str, str]:
    """A score with its interval, and how many scenes it stands on."""
    score = run.estimate(metric)
    if score is None:
        return "N/A", "0"
    return f"{score.value:.1f} [{score.low:.1f}, {score.high:.1f}]", f"{score.groups:,}"


app = typer.Typer(no_args_is_help=True, help="Commands of Worlds alone.")
app.add_typer(export_app, name="export")
app.command()(profile)


@app.callback()
def worlds() -> None:
    """Commands of Worlds alone."""

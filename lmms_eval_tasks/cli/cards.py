"""Run cards on the terminal: in short, whole, and in what they differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lmms_eval_tasks.utils.runs.hazards import describe
from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.runs.run_card import (
    HAZARDS,
    CardDifference,
    Weight,
    applying_hazards,
    differences,
    summary,
)

if TYPE_CHECKING:
    from rich.console import Console

NO_CARD = "no run card, so nothing is known of how it was made"
MODEL = ("name", "arguments", "checkpoint", "revision", "precision")


def print_cards(console: Console, runs: Sequence[Run], whole: bool = False) -> None:
    """Print what each run was made with: in a few lines, or whole as tables."""
    from rich.padding import Padding

    texts = [summary(run.card, run.groups) if run.card else [] for run in runs]
    # Every run's lines begin with its model and on what it ran; those of tasks are mostly the same.
    shared = [line for line in texts[0][2:] if len(runs) > 1 and all(line in lines for lines in texts)]
    for number, (run, lines) in enumerate(zip(runs, texts, strict=True), start=1):
        name = f"run {number}, {run.title}" if len(runs) > 1 else "run card"
        if not run.card:
            console.print(f"{name}{f': {run.title}' if len(runs) == 1 else ''}: {NO_CARD}")
        elif whole:
            _print_whole(console, run, f"{name}: {run.path}")
        else:
            first, *others = lines
            console.print(f"{name}: {first}", style="dim")
            for line in others:
                if line not in shared:
                    console.print(Padding(line, (0, 0, 0, 2)), style="dim")
    if shared and not whole:
        console.print("all runs:", style="dim")
        for line in shared:
            console.print(Padding(line, (0, 0, 0, 2)), style="dim")
    for hazard, places in applying_hazards([run.card for run in runs]).items():
        print_hazard(console, hazard, _name_runs(places, len(runs)))


def print_hazard(console: Console, name: str, where: str = "") -> None:
    """Print a known hazard by its name, with what it does and, where that is given, to which runs."""
    from rich.padding import Padding

    console.print(f"known hazard{where}: {name}", style="bold yellow")
    console.print(Padding(describe(name), (0, 0, 0, 2)), style="yellow")


def _name_runs(places: Sequence[int], count: int) -> str:
    """Which of several runs, by their number; nothing where there is only one."""
    numbers = ", ".join(str(place + 1) for place in places)
    return "" if count == 1 else f" of {'run' if len(places) == 1 else 'runs'} {numbers}"


def _print_whole(console: Console, run: Run, title: str) -> None:
    from rich import box
    from rich.table import Table

    console.print(f"\n{title}", style="bold", soft_wrap=True)
    table = Table("field", "value", box=box.SIMPLE_HEAD, show_header=False, padding=(0, 1, 0, 0))
    table.columns[0].overflow = table.columns[1].overflow = "fold"
    for section, fields in run.card.items():
        table.add_row(section, "", style="bold")
        for field, value in fields.items():
            table.add_row(f"  {field}", "not known" if value is None else str(value))
    console.print(table)


def print_differences(
    console: Console, runs: Sequence[Run], tasks: Sequence[str] | None = None, explain: bool = True
) -> None:
    """Print how runs with a card differ in the tasks that are compared (all by default).

    What moves scores is printed apart from what should not; with `explain`, also what the known hazards do that apply
    to some of the runs only.
    """
    from rich.padding import Padding

    cards = [run.card for run in runs]
    if sum(bool(card) for card in cards) < 2:
        return
    differing = differences(cards, tasks)
    matters = [difference for difference in differing if difference.weight is Weight.MATTERS]
    models = [one for one in differing if one.weight is Weight.MODEL and one.field in MODEL]
    around = [difference for difference in differing if difference.weight is Weight.ENVIRONMENT]
    if matters:
        console.print("These runs differ in what moves scores, beyond the model:", style="bold red")
        for line in _merged(matters):
            console.print(f"  {line}", style="red")
        for hazard in (one.field for one in matters if explain and one.section == HAZARDS):
            console.print(Padding(f"{hazard}: {describe(hazard)}", (0, 0, 0, 2)), style="red")
    else:
        console.print("These runs were made in the same way and on the same data, as far as their cards know.")
    if models:
        texts = "; ".join(f"{one.field}: {one.text}" for one in models)
        console.print(f"Their models differ: {texts}")
    if around:
        texts = "; ".join(f"{one.field}: {one.text}" for one in around)
        console.print(f"Environment differs: {texts}", style="dim")


def _merged(differing: Sequence[CardDifference]) -> list[str]:
    """One line for the tasks that differ in the same field in the same way."""
    sections: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for difference in differing:
        sections[difference.field, difference.text].append(difference.place)
    return [f"{field}: {texts} ({', '.join(places)})" for (field, texts), places in sections.items()]

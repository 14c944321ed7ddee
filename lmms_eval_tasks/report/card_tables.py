"""Run cards in reports: in short, whole, in what they differ, and what a run's answers cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from lmms_eval_tasks.report.score_tables import entries_of
from lmms_eval_tasks.runs import run_card
from lmms_eval_tasks.runs.costs import READING, Cost, Price, cost_columns
from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.utils.core.output import FittingTable, Output, text_table
from lmms_eval_tasks.utils.reporting.panels import Panel

NO_CARD = "no run card, so nothing is known of how it was made"
MODEL = ("name", "arguments", "checkpoint", "revision", "precision")


def print_cards(output: Output, runs: Sequence[Run], whole: bool = False) -> None:
    texts = [run_card.summary(run.card, run.groups) if run.card else [] for run in runs]
    # Every run's lines begin with its model and on what it ran; those of tasks are mostly the same.
    shared = [line for line in texts[0][2:] if len(runs) > 1 and all(line in lines for lines in texts)]
    for number, (run, lines) in enumerate(zip(runs, texts, strict=True), start=1):
        name = f"run {number}, {run.title}" if len(runs) > 1 else "run card"
        if not run.card:
            output.note(f"{name}{f': {run.title}' if len(runs) == 1 else ''}: {NO_CARD}")
        elif whole:
            table = text_table(f"{name}: {run.path}", "section", "field", "value", names=2, blank_repeats=True)
            for section, fields in run.card.items():
                for field, value in fields.items():
                    table.add_row(section, field, "not known" if value is None else str(value))
            output.table(table)
        else:
            first, *others = lines
            output.note(f"{name}: {first}", style="dim")
            for line in others:
                if line not in shared:
                    output.note(line, style="dim", indent=2)
    if shared and not whole:
        output.note("all runs:", style="dim")
        for line in shared:
            output.note(line, style="dim", indent=2)
    cards = [run.card for run in runs]
    for hazard, places in run_card.applying_hazards(cards).items():
        numbers = ", ".join(str(place + 1) for place in places)
        named = f" of {'run' if len(places) == 1 else 'runs'} {numbers}" if len(runs) > 1 else ""
        print_hazard(output, hazard, named, cards)


def print_hazard(output: Output, name: str, where: str = "", cards: Sequence[run_card.Sections] = ()) -> None:
    output.warn(f"known hazard{where}: {name}", style="bold yellow")
    output.warn(run_card.describe_hazard(name, cards), style="yellow", indent=2)


def print_differences(
    output: Output, runs: Sequence[Run], tasks: Sequence[str] | None = None, explain: bool = True
) -> None:
    cards = [run.card for run in runs]
    if sum(bool(card) for card in cards) < 2:
        return
    differing = run_card.differences(cards, tasks)
    if matters := [one for one in differing if one.weight is run_card.Weight.MATTERS]:
        output.warn("These runs differ in what moves scores, beyond the model:")
        places: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for one in matters:
            places[one.field, one.text].append(one.place)
        for (field, texts), of in places.items():
            output.warn(f"{field}: {texts} ({', '.join(of)})", style="red", indent=2)
        for hazard in (one.field for one in matters if explain and one.section == run_card.HAZARDS):
            output.warn(f"{hazard}: {run_card.describe_hazard(hazard, cards)}", style="red", indent=2)
    else:
        output.note("These runs were made in the same way and on the same data, as far as their cards know.")
    models = [one for one in differing if one.weight is run_card.Weight.MODEL and one.field in MODEL]
    around = [one for one in differing if one.weight is run_card.Weight.ENVIRONMENT]
    for what, found, style in (("Their models differ", models, None), ("Environment differs", around, "dim")):
        if found:
            output.note(f"{what}: {'; '.join(f'{one.field}: {one.text}' for one in found)}", style=style)


def cost_tables(runs: Sequence[Run], only: str, price: Price) -> Iterator[FittingTable]:
    for entry in entries_of(runs, only):
        costs = [(one.name, Cost.of(one.run.card, one.tasks)) for one in entry.held]
        if columns := cost_columns([cost for _, cost in costs], price):
            table = FittingTable(f"{entry.name}: what the answers cost", ["run", "answers", *columns])
            for title, cost in costs:
                cells = {"answers": int(cost.sums["answers"]), **cost.cells(price)} if cost else {}
                table.add_row(title, *(cells.get(heading, "") for heading in table.headings[1:]))
            yield table


def cost_panels(name: str, runs: Sequence[Run], price: Price) -> list[Panel]:
    return [Panel("What the answers cost", note=READING, table=table) for table in cost_tables(runs, name, price)]

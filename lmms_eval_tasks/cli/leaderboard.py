"""What `lmms-eval-tasks submit` prints of a leaderboard of several benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lmms_eval_tasks.cli.runs import print_notes
from lmms_eval_tasks.leaderboard import Slot, submit_to_leaderboard
from lmms_eval_tasks.utils.core.cells import Cell
from lmms_eval_tasks.utils.core.console import text_table
from lmms_eval_tasks.utils.core.output import Output


def submit_all(name: str, runs: Sequence[Path], out: Path, allow_unofficial: bool, allow_incomplete: bool) -> None:
    """Write the files of a leaderboard, and print what there is and what is missing."""
    done = submit_to_leaderboard(name, runs, out, allow_unofficial, allow_incomplete)
    output = Output("submit")
    for run in done.runs:
        print_notes(output, run)
    for run in done.unused:
        output.note(f"note: No file was made from {run.path}.", style="yellow", whole=True)
    if len(models := dict.fromkeys(run.name for run in done.runs)) > 1:
        warning = f"The files come from {len(models)} models: {', '.join(models)}. A leaderboard row is for one model."
        output.note(f"warning: {warning}", style="yellow", whole=True)
    for apart in dict.fromkeys(slot.made.apart for slot in done.slots if slot.made and slot.made.apart):
        output.warn(f"{apart}: no leaderboard should be sent this.")
    table = text_table(f"For {name}, in {out}", "file", "tasks", "rows", "empty", "checked")
    for slot in done.slots:
        table.add_row(*_row(slot))
    output.table(table)
    for slot in done.slots:
        if slot.made and slot.checked:
            for note in dict.fromkeys((*slot.made.built.notes, *slot.checked.notes)):
                output.note(f"note: {slot.path.name}: {note}")
        elif slot.outdated:
            warning = f"{slot.path} is an older file, not made from these runs."
            output.note(f"warning: {warning}", style="yellow", whole=True)
    if missing := [slot.tasks for slot in done.slots if not slot.made and slot.place.needed]:
        warning = f"Run {', '.join(missing)} with --log_samples, and give that run too."
        output.note(f"warning: Files are missing. {warning}", style="yellow", whole=True)


def _row(slot: Slot) -> tuple[Cell, ...]:
    """A line of the table."""
    if slot.made and slot.checked:
        built = slot.made.built
        rows = f"{built.rows:,} of {slot.made.items:,}"
        return slot.path.name, slot.tasks, rows, built.empty, slot.checked.checked
    state = "missing" if slot.place.needed else "not needed"
    if slot.lacking:
        state = f"{state}: the runs lack {', '.join(slot.lacking)}"
    return slot.path.name, slot.tasks, "none", "", state

"""How the commands show what is prepared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lmms_eval_tasks.cli.console import first, make_console, make_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from lmms_eval_tasks.utils.manifest import SplitManifest


def print_prepared(benchmark: str, splits: Mapping[str, SplitManifest]) -> None:
    """Show what `prepare` has just written, with its warnings."""
    from lmms_eval_tasks.checks import prepared_clips
    from lmms_eval_tasks.utils.home import MISSING, benchmark_dir

    console = make_console()
    told: set[str] = set()
    for split, facts in splits.items():
        print_split(console, benchmark, split, facts, prepared_clips(benchmark, split))
        for warning in facts.warnings:
            if warning not in told:
                console.print(f"warning: {warning}", markup=False, style="yellow")
        told.update(facts.warnings)
        if facts.missing:
            console.print(
                f"warning: {len(facts.missing)} of {facts.clips} clips are missing: "
                f"{first([entry.clip for entry in facts.missing])}. A run needs {MISSING}=skip until they are there.",
                markup=False,
                style="yellow",
            )
    console.print(f"Prepared in {benchmark_dir(benchmark)}", markup=False, soft_wrap=True)


def print_split(console: Console, benchmark: str, split: str, facts: SplitManifest, clips: Any) -> None:
    """Show one split: how much it holds, from which release, and which clips are there."""
    from lmms_eval_tasks.utils.card import read_card

    release = "SAMPLE DATA, simulated: its scores say nothing about a model" if facts.sample else facts.source
    if facts.revision:
        release += f" @ {facts.revision[:12]}"
    if set(read_card(benchmark).archive_sha256.values()) & set(facts.source_sha256.values()):
        release += " (the published archive)"
    answers = "answers withheld" if facts.answers_withheld else "with answers"
    console.print(
        f"\n{benchmark}, {split}: {facts.rows} items in {facts.groups} groups, {answers}", markup=False, style="bold"
    )
    console.print(f"release: {release}", markup=False, style="bold red" if facts.sample else None)
    table = make_table(None, "clips of", "number", "absent", "unreadable")
    for count in clips:
        table.add_row(count.source, str(count.clips), str(count.absent), str(count.unreadable))
    console.print(table)


def counts_table(counts: Any) -> Table:
    """Published counts beside those found."""
    table = make_table(None, "counts", "published", "here", "")
    for count in counts:
        table.add_row(count.what, str(count.expected), str(count.found), "" if count.expected == count.found else "≠")
    return table

"""How the commands show a benchmark: what is known of it, and what of it is prepared."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from lmms_eval_tasks.utils.core.console import make_console, text_table
from lmms_eval_tasks.utils.core.wording import summarize_names

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from lmms_eval_tasks.utils.benchmark.card import Card
    from lmms_eval_tasks.utils.data.manifest import SplitManifest


def print_card(console: Console, card: Card) -> None:
    """Show what to know of a benchmark before reading its scores: sources, licence, chance and people's scores."""
    from rich.table import Table

    facts = {
        "paper": card.paper,
        "homepage": card.homepage,
        "licence": card.licence,
        "main metric": card.main_metric,
        "chance": ", ".join(f"{metric} {percent:.2f}%" for metric, percent in card.chance.items()),
        "human": "\n".join(
            f"{human.metric} {human.percent:.2f}% on {human.split} ({human.source}); {human.caveat}"
            for human in card.human
        ),
    }
    console.print(f"\n{card.title}", markup=False, style="bold")
    block = Table.grid(padding=(0, 2))
    block.add_column()
    block.add_column(overflow="fold")
    for name, fact in facts.items():
        if fact:
            block.add_row(f"  {name}", fact)
    console.print(block, markup=False)


def print_prepared(benchmark: str, splits: Mapping[str, SplitManifest]) -> None:
    """Show what `prepare` has just written, with its warnings."""
    from lmms_eval_tasks.check import prepared_clips
    from lmms_eval_tasks.utils.data.home import MISSING, benchmark_dir

    console = make_console()
    told: set[str] = set()
    for split, facts in splits.items():
        print_split(console, benchmark, split, facts, prepared_clips(benchmark, split))
        print_warnings(console, facts, told)
        told.update(facts.warnings)
        if facts.missing:
            console.print(
                f"warning: {len(facts.missing)} of {facts.clips} clips are missing: "
                f"{summarize_names((entry.clip for entry in facts.missing), 3)}. "
                f"A run needs {MISSING}=skip until they are there.",
                markup=False,
                style="yellow",
            )
    console.print(f"Prepared in {benchmark_dir(benchmark)}", markup=False, soft_wrap=True)


def print_split(console: Console, benchmark: str, split: str, facts: SplitManifest, clips: Any) -> None:
    """Show one split: how much it holds, from which release, and which clips are there."""
    from lmms_eval_tasks.utils.benchmark.registry import read_card

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
    table = text_table(None, "clips of", "number", "absent", "unreadable")
    for count in clips:
        table.add_row(count.source, str(count.clips), str(count.absent), str(count.unreadable))
    console.print(table)


def print_warnings(console: Console, facts: SplitManifest, told: Collection[str]) -> None:
    """Show the warnings of a split's preparation, except those in `told`."""
    for warning in facts.warnings:
        if warning not in told:
            console.print(f"warning: {warning}", markup=False, style="yellow")


def counts_table(counts: Any) -> Table:
    """Published counts beside those found."""
    table = text_table(None, "counts", "published", "here", "")
    for count in counts:
        table.add_row(count.what, str(count.expected), str(count.found), "" if count.expected == count.found else "≠")
    return table

"""Tables of a benchmark's facts and of its prepared data, for the commands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from lmms_eval_tasks.registry import find_benchmark, read_card
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.output import FittingTable, Number, make_console, show_progress, text_table
from lmms_eval_tasks.utils.core.text import MISSING, summarize_names
from lmms_eval_tasks.utils.data.card import Card, DataSet, SplitFacts
from lmms_eval_tasks.utils.data.home import benchmark_dir, read_table, sources_of_clips
from lmms_eval_tasks.utils.data.identity import Count
from lmms_eval_tasks.utils.data.manifest import MissingClip, SplitManifest
from lmms_eval_tasks.utils.data.survey import ClipCount, StratumStatistics, prepared_clips, split_statistics
from lmms_eval_tasks.utils.reporting.figure import Datum, Line, LinePlot, line_plot
from lmms_eval_tasks.utils.scoring.bootstrap import PERCENT


def print_card(console: Console, card: Card) -> None:
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
    console.print(f"\n{card.title}", style="bold")
    block = Table.grid(padding=(0, 2))
    block.add_column()
    block.add_column(overflow="fold")
    for name, fact in facts.items():
        if fact:
            block.add_row(f"  {name}", fact)
    console.print(block)


def print_prepared(benchmark: str, splits: Mapping[str, SplitManifest]) -> None:
    console = make_console()
    printed: set[str] = set()
    for split, facts in splits.items():
        print_split(console, benchmark, split, facts, prepared_clips(read_card(benchmark), split))
        print_warnings(console, facts.warnings, printed)
        if facts.missing:
            console.print(
                f"warning: {len(facts.missing)} of {facts.clips} clips are missing: "
                f"{summarize_names((entry.clip for entry in facts.missing), 3)}.{describe_unreadable(facts)} "
                f"A run needs {MISSING}=skip until they are there.",
                style="yellow",
            )
    console.print(f"Prepared in {benchmark_dir(benchmark)}", soft_wrap=True)


def describe_unreadable(facts: SplitManifest) -> str:
    """A sentence on the missing clips of a split that are there and cannot be shown; empty where there are none."""
    names = [entry.clip for entry in facts.missing if entry.reason == "unreadable"]
    return f" {summarize_names(names, 3)} cannot be decoded to the end." if names else ""


def print_split(console: Console, benchmark: str, split: str, facts: SplitManifest, clips: Sequence[ClipCount]) -> None:
    release = facts.source
    if facts.revision:
        release += f" @ {facts.revision[:12]}"
    if set(read_card(benchmark).archive_sha256.values()) & set(facts.source_sha256.values()):
        release += " (the published archive)"
    answers = "answers withheld" if facts.answers_withheld else "with answers"
    console.print(f"\n{benchmark}, {split}: {facts.rows} items in {facts.groups} groups, {answers}", style="bold")
    console.print(f"from: {release}")
    console.print(f"data: {_describe(facts.data_set)}", style=None if facts.data_set.is_official else "bold red")
    table = text_table(None, "clips of", "number", "absent", "unreadable")
    for count in clips:
        table.add_row(count.source, str(count.clips), str(count.absent), str(count.unreadable))
    console.print(table)
    if facts.missing and read_card(benchmark).clip_sources:
        console.print(missing_table(benchmark, split, facts))


def _describe(data_set: DataSet) -> str:
    if data_set.is_sample:
        return "SAMPLE DATA, made up: its scores say nothing about a model"
    why = f"{data_set.text}: its scores are not compared with people or published models, and no leaderboard"
    return data_set.text if data_set.is_official else f"{why} takes them"


def missing_table(benchmark: str, split: str, facts: SplitManifest) -> FittingTable:
    card = read_card(benchmark)
    table = text_table("Clips that are missing", "source", "clips", "files", "from")
    source_of = sources_of_clips(card, split, read_table(card, split)[0])
    by_source: dict[str, list[MissingClip]] = defaultdict(list)
    for entry in facts.missing:
        by_source[source_of[entry.clip]].append(entry)
    for source, entries in sorted(by_source.items()):
        files = dict.fromkeys(entry.file or entry.clip.removeprefix(f"{split}/") for entry in entries)
        table.add_row(source, f"{len(entries):,}", summarize_names(files, 2), card.clip_sources.get(source, ""))
    return table


def print_warnings(console: Console, warnings: Sequence[str], printed: set[str]) -> None:
    """Show the warnings of a split's preparation that are not `printed` yet, and add them to those."""
    for warning in warnings:
        if warning not in printed:
            console.print(f"warning: {warning}", style="yellow")
    printed.update(warnings)


def counts_table(counts: Sequence[Count]) -> FittingTable:
    table = text_table(None, "counts", "published", "here", "")
    for count in counts:
        table.add_row(count.what, str(count.expected), str(count.found), "" if count.expected == count.found else "≠")
    return table


SHARES = range(0, 101, 5)
"""Percents of clips at which a figure of their lengths has a mark."""


def length_figure(benchmark: str, split: str, strata: Sequence[StratumStatistics]) -> LinePlot:
    """How many of a split's clips are how short, a line for each value of the first stratum."""
    parts: dict[str, list[float]] = {}
    for one in strata:
        parts.setdefault(one.stratum[0] if one.stratum else "all", []).extend(one.seconds)
    lines = []
    for name, lengths in parts.items():
        ordered = sorted(lengths)
        marks = [
            Datum("", Number(float(share), unit="%"), x=ordered[min(len(ordered) * share // 100, len(ordered) - 1)])
            for share in SHARES
        ]
        lines += [Line(name, marks)] if ordered else []
    caption = f"Length of the clips of {read_card(benchmark).title}, {split}"
    return line_plot(caption, lines, "seconds", ("clips that are not longer, %", PERCENT))


def print_statistics(console: Console, benchmark: str, split: str, figures: Path | None = None) -> None:
    card = read_card(benchmark)
    facts = card.splits.get(split, SplitFacts())
    published = facts.statistics
    with show_progress() as progress:
        strata = split_statistics(card, split, progress)
    by_stratum = bool(published.stratum_seconds)
    lengths = ["mean s", *(["paper"] if by_stratum else []), "longest s"]
    words = ["words", "option words", "vocabulary"]
    table = text_table(None, "clips and questions", "items", "clips", *lengths, *words)
    for one in strata:
        length = [_number(published.stratum_seconds.get(one.stratum), 1)] if by_stratum else []
        table.add_row(
            " / ".join(one.stratum) or "all",
            f"{one.items:,}",
            f"{one.clips:,}",
            _number(one.mean_seconds, 1),
            *length,
            _number(one.longest_seconds, 1),
            f"{one.question_words:.1f}",
            _number(one.option_words, 1),
            f"{one.vocabulary:,}",
        )
    printed = [
        _number(published.longest_seconds, 1),
        _number(None, 1),
        _number(published.option_words, 1),
        _number(published.vocabulary, 0),
    ]
    nothing = ["–"] if by_stratum else []
    counted = (_number(facts.items, 0), _number(facts.clips, 0))
    table.add_row("paper", *counted, _number(published.mean_seconds, 1), *nothing, *printed)
    console.print(table)
    if measure := find_benchmark(benchmark).statistics:
        further = text_table(None, "statistic", "here", "paper")
        for name, value, of_paper in measure(read_table(card, split)[0].to_pylist()):
            further.add_row(name, _number(value, 3), _number(of_paper, 3))
        console.print(further)
    if figures and strata[-1].seconds:
        from lmms_eval_tasks.utils.reporting.drawing import figure_files

        for form, content in figure_files(length_figure(benchmark, split, strata)).items():
            write_file(figures / f"{benchmark}_{split}.clip-lengths.{form.value}", content)
        console.print(f"Figure of the clips' lengths, as PDF, SVG, PNG and CSV: {figures.absolute()}", soft_wrap=True)
    if strata[-1].unknown:
        console.print(f"of unknown length, and in no mean: {strata[-1].unknown:,} clips", style="yellow")


def _number(value: float | None, decimals: int) -> str:
    return "–" if value is None else f"{value:,.{decimals}f}"

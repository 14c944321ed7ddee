"""Tables of people for `humans` and the page: answers and errors shared with runs, ratings, and checks of keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from pathlib import Path
from typing import Any

from lmms_eval_tasks.registry import find_benchmark, registry
from lmms_eval_tasks.report.score_tables import entries_of
from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.output import Cell, FittingTable, Number, Output, text_table
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.data.home import prepared_benchmark, read_table, table_file
from lmms_eval_tasks.utils.people import agreement
from lmms_eval_tasks.utils.people.baseline import judge_keys
from lmms_eval_tasks.utils.people.inquiries import ANSWER, Inquiry
from lmms_eval_tasks.utils.people.responses import (
    AskedQuestion,
    Key,
    Rating,
    Response,
    keyed_questions,
    read_human_responses,
    read_items,
    read_ratings,
    score_scale,
)
from lmms_eval_tasks.utils.reporting.panels import Panel
from lmms_eval_tasks.utils.scoring.bootstrap import METHOD, macro_interval

Asked = Mapping[Key, AskedQuestion]
NONE = "–"
OF_CONSISTENCY = (
    "Unparsed and unknown count as wrong. Alike: both right or both wrong; by chance: the same for independent "
    "observers with these accuracies; kappa: 0 by chance, 1 if they err on the same items; least and greatest: what "
    "kappa can be with these accuracies."
)
OF_DIFFICULTY = (
    "rho: Spearman's, of the share of people and of runs that are right. Both err: items on which the run and some "
    "people choose a wrong option; expected: the same option, had they answered different questions."
)
INTERVALS = "Intervals are 95%, over groups."


@dataclass(frozen=True)
class People:
    responses: Sequence[Response]
    asked: Asked


@dataclass(frozen=True)
class SharedTask:
    name: str
    shared: agreement.SharedItems
    labels: Sequence[str]
    signature: str

    def consistency(self) -> FittingTable:
        """The errors of observers on the same items: each run and people, people among each other, and two runs."""
        items, labels = self.shared.items, self.labels
        least, most = (pick(len(item.people) for item in items) for pick in (min, max))
        people = f"{least}" if least == most else f"{least} to {most}"
        groups = len({(item.task, item.record.group_id) for item in items})
        headings = ("observers", "items", "1st right", "2nd right", "alike", "by chance", "kappa", "least", "greatest")
        table = FittingTable(f"{self.name}: {len(items):,} items in {groups:,} groups, {people} people each", headings)
        table.signature = self.signature
        pairs: dict[str, agreement.Judge] = {
            f"{label}, people": partial(agreement.run_with_people, run=run) for run, label in enumerate(labels)
        }
        pairs["people, people"] = agreement.two_people
        for one, two in combinations(range(len(labels)), 2):
            pairs[f"{labels[one]}, {labels[two]}"] = partial(agreement.two_runs, first=one, second=two)
        for observers, judge in pairs.items():
            cells: list[Cell] = [0, *[NONE] * 7]
            if found := agreement.find_consistency(items, judge):
                shares = (*found.right, found.agreement, found.expected)
                percents = [Number(100 * share, n=found.groups, unit="%") for share in shares]
                kappa = _coefficient(found.kappa, found.interval, found.groups)
                cells = [found.items, *percents, kappa, *map(_coefficient, found.bounds or (None, None))]
            table.add_row(observers, *cells)
        table.caption = "\n".join(
            f"{label}, left out, {why}: {len(ids):,} ({summarize_names(ids)})"
            for label, left in zip(labels, self.shared.left_out, strict=True)
            for why, ids in left.items()
        )
        return table

    def difficulty(self) -> FittingTable:
        """What is difficult for runs and people, and which options are chosen where both err."""
        items, runs = self.shared.items, range(len(self.labels))
        headings = ("", "items", "difficulty, rho", "both err", "same option", "expected", "beyond, points")
        table = FittingTable(f"{self.name}: which items are difficult, and the choice where both err", headings)
        table.signature = self.signature
        alone = []
        for run, label in enumerate(self.labels):
            same = agreement.share_options(items, run)
            cells: list[Cell] = [NONE] * 4
            if same is not None:
                shares = (Number(percent, unit="%", after="%") for percent in (same.same, same.expected))
                low, high = same.interval or (None, None)
                cells = [same.errors, *shares, Number(same.beyond, low, high, unit="points", signed=True)]
                alone += [(label, same.alone)] if same.alone else []
            table.add_row(label, *_difficulty_cells(items, [run]), *cells)
        if len(runs) > 1:
            table.add_row("all runs", *_difficulty_cells(items, runs), *[""] * 4)
        table.caption = "\n".join(
            f"{label}, both err, left out, alone with their key: {count:,} items" for label, count in alone
        )
        return table

    def opposed(self) -> list[tuple[str, agreement.Opposed]]:
        items, described = self.shared.items, []
        both = [(False, "every run wrong, every person right"), (True, "every run right, no person right")]
        for runs_right, words in both:
            if found := agreement.find_opposed(items, runs_right):
                low, high = found.interval
                counted = f"{len(found.ids):,} of {found.items:,} items, {found.percent:.1f}% [{low:.1f}, {high:.1f}]"
                described.append((f"{words}: {counted}", found))
        return described


def share_tasks(responses: Sequence[Response], asked: Asked, runs: Sequence[Run], task: str = "") -> list[SharedTask]:
    found = []
    for entry in entries_of(runs, task):
        named = ", ".join(f"run {one.tag} {one.name}" for one in entry.held)
        parts = [dict(zip(one.tasks, one.parts, strict=True)) for one in entry.held]
        found.append(
            SharedTask(
                entry.name,
                agreement.share_items(responses, asked, parts),
                [f"run {one.tag}" for one in entry.held],
                f"{named}; {entry.name}, version {entry.version}; {METHOD}",
            )
        )
    if not any(one.shared.items for one in found):
        reasons = [
            f"\n  {one.name}, {label}, {why}: {len(ids):,} ({summarize_names(ids, 2)})"
            for one in found
            for label, left in zip(one.labels, one.shared.left_out, strict=True)
            for why, ids in left.items()
        ]
        raise InputError(
            f"Expected runs with scores on items that people answered, but there are none.{''.join(reasons)}"
        )
    return found


def shared_panels(found: SharedTask) -> list[Panel]:
    if not found.shared.items:
        return []
    consistency = found.consistency()
    asked = consistency.title.removeprefix(f"{found.name}: ")
    return [
        Panel("Runs and people: errors", note=f"{asked}. {OF_CONSISTENCY} {INTERVALS}", wide=True, table=consistency),
        Panel(
            "Runs and people: difficulty and wrong options",
            note=f"{OF_DIFFICULTY} {INTERVALS}",
            wide=True,
            table=found.difficulty(),
            linked={words: one.ids for words, one in found.opposed()},
        ),
    ]


def _difficulty_cells(items: Sequence[agreement.SharedItem], runs: Sequence[int]) -> list[Cell]:
    found = agreement.correlate_difficulty(items, runs)
    return [0, NONE] if found is None else [found.items, _coefficient(found.rho, found.interval)]


def _coefficient(value: float | None, interval: tuple[float, float] | None = None, groups: int | None = None) -> Cell:
    low, high = interval or (None, None)
    return NONE if value is None else Number(value, low, high, groups, digits=2)


Rows = Sequence[Mapping[str, Any]]


def print_mode(output: Output, responses: Path, items: str, mode: str, by: Sequence[str]) -> None:
    name = prepared_benchmark(items)
    if name is None:
        raise InputError(f"Expected --items BENCHMARK:SPLIT with --mode, but got {items or 'none'}.")
    chosen = find_benchmark(name)
    inquiry = chosen.inquiry(mode)
    rows: Rows = read_table(chosen.card, items.partition(":")[2])[0].to_pylist()
    if unknown := [column for column in by if column not in rows[0]]:
        raise InputError(f"Expected columns of {items}, but it lacks {', '.join(unknown)}.")
    if inquiry.form == "ratings":
        _print_ratings(output, inquiry, rows, responses, by or chosen.card.strata_columns)
    elif inquiry.positive:
        _print_keys(output, inquiry, rows, responses)
    else:
        raise InputError(f"Expected a mode with choices or ratings, but {mode} of {name} has neither.")


def _print_ratings(output: Output, inquiry: Inquiry, rows: Rows, source: Path, by: Sequence[str]) -> None:
    known = {row["item_id"]: row for row in rows}
    ratings = read_ratings(source, inquiry.scales, known)
    raters = len({rating.annotator for rating in ratings})
    rated = len({rating.item_id for rating in ratings})
    output.note(f"{len(ratings):,} ratings of {rated:,} items by {raters:,} annotators")
    parts: dict[str, list[Rating]] = {"all": list(ratings)}
    for column in by:
        for rating in sorted(ratings, key=lambda one: str(known[one.item_id][column])):
            parts.setdefault(f"{column} {known[rating.item_id][column]}", []).append(rating)
    table = text_table("ratings", "scale", "items", "number", "mean", "alpha", "paper", names=2, numbers=True)
    table.signature = METHOD
    for scale in inquiry.scales:
        first, last = list(scale.choices)[:: len(scale.choices) - 1]
        title = f"{scale.name}, {first}-{last}" if scale.is_numeric else f"{scale.name}, % {first}"
        for part, of_part in parts.items():
            score = score_scale(scale, of_part)
            mean = Number(score.value, *score.interval, n=score.items, digits=2)
            alpha: Cell = "–" if score.alpha is None else Number(score.alpha, digits=2)
            paper = inquiry.paper.get(scale.name, "") if part == "all" else ""
            table.add_row(title, part, score.items, mean, alpha, paper)
    output.table(table)
    output.note(
        "Each item counts once, with the mean of its ratings; intervals are of the choice of items. Alpha is "
        "Krippendorff's: 1 where raters agree, 0 where they agree by chance."
    )


def _print_keys(output: Output, inquiry: Inquiry, rows: Rows, source: Path) -> None:
    asked = keyed_questions(inquiry, rows)
    responses = read_human_responses(source, asked)
    counts, tied = judge_keys(responses, asked, inquiry.positive)
    annotators = len({response.annotator for response in responses})
    output.note(f"{len(responses):,} responses of {annotators:,} annotators")
    if tied:
        output.note(f"left out, as many people find it as do not: {len(tied):,} ({summarize_names(tied)})")
    neither = counts.neither or 0
    found = {True: (counts.hits, counts.missed), False: (counts.extra, neither)}
    seen = text_table("what people find", "", "claimed", "not claimed", numbers=True)
    for is_found, (claimed, other) in found.items():
        seen.add_row("people find it" if is_found else "people do not", claimed, other)
    output.table(seen)
    shares = {
        "precision": (counts.precision, counts.hits, counts.extra),
        "recall": (counts.recall, counts.hits, counts.missed),
        "F1": (counts.f1, 0, 0),  # of which there are no cases to count
        "accuracy": (counts.accuracy, counts.hits + neither, counts.extra + counts.missed),
    }
    table = text_table("keys against people", "of what was asked", "%", "paper", numbers=True)
    table.signature = METHOD
    for name, (value, right, wrong) in shares.items():
        shown: Cell = "–" if value is None else Number(100 * value, unit="%", digits=2)
        if value is not None and right + wrong:
            low, high = map(float, macro_interval([[(100.0, 1.0)] * right + [(0.0, 1.0)] * wrong]))
            shown = Number(100 * value, low, high, right + wrong, "%", digits=2)
        table.add_row(name, shown, inquiry.paper.get(name, ""))
    if (name := "Kendall tau-b") in inquiry.paper:
        table.add_row(name, "–" if counts.tau is None else f"{counts.tau:.4f}", inquiry.paper[name])
    output.table(table)
    output.note("Most people's choice is the reference. These are figures of the pairs that were asked about alone.")


class AskedItems:
    """What people were asked, as --items names it: a file, or a split of a prepared benchmark."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.benchmark = registry().benchmarks.get(prepared_benchmark(name) or "")
        self.study = self.benchmark.human_study if self.benchmark else None
        self.whole_pairs = self.benchmark is not None and self.study is None and self.benchmark.pairs_of_clips

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        assert self.benchmark is not None
        rows: list[dict[str, Any]] = read_table(self.benchmark.card, self.name.partition(":")[2])[0].to_pylist()
        return rows

    @cached_property
    def questions(self) -> Asked:
        """The questions, as the benchmark asks people about them, where it does."""
        benchmark = self.benchmark
        if self.study is not None:
            return self.study.questions(self.rows)
        if benchmark is None or ANSWER not in benchmark.inquiries:
            return read_items(table_file(self.name), benchmark.card.clip_columns if benchmark else ())
        return keyed_questions(benchmark.inquiries[ANSWER], self.rows, benchmark.card.strata_columns)

    @property
    def of_runs(self) -> Asked:
        """The questions, each of which says which item of a run it is."""
        if not self.name:
            raise InputError("Expected --items with --run, so that responses can be matched to the run's items.")
        if lacking := [" ".join(filter(None, key)) for key, one in self.questions.items() if not one.item_id]:
            raise InputError(
                f"Expected --items with a column item_id, which has the ids of the run's items, but {len(lacking):,} "
                f"lack one: {summarize_names(lacking)}. A prepared split, as BENCHMARK:SPLIT, has them."
            )
        return self.questions


def show_shared(
    output: Output, responses: Sequence[Response], asked: Asked, runs: Sequence[Run], task: str = ""
) -> None:
    shared = share_tasks(responses, asked, runs, task)
    for number, run in enumerate(runs, start=1):
        output.note(f"run {number}: {run.title}, {run.path}", whole=True)
    for found in shared:
        if not found.shared.items:
            labels = ", ".join(found.labels)
            output.note(f"\n{found.name}: no item of {labels} that people answered and that has a score")
            continue
        output.table(found.consistency(), gap=True)
        lines = [
            f"{words}{f' ({summarize_names(opposed.ids)})' if opposed.ids else ''}"
            for words, opposed in found.opposed()
        ]
        difficulty = found.difficulty()
        difficulty.caption = "\n".join(filter(None, [difficulty.caption, *lines]))
        output.table(difficulty)
    output.note(f"{OF_CONSISTENCY} {OF_DIFFICULTY} {INTERVALS} Formulas: docs/statistics.md.")


def outcomes_by_question(runs: Sequence[Run], asked: Asked, task: str = "") -> dict[str, dict[Key, str]]:
    found = {}
    for number, run in enumerate(runs, start=1):
        for name in run.tasks_of(task):
            outcomes = {record.item_id: record.outcome.value for record in run.records.get(name, ())}
            known = {key: outcomes[one.item_id] for key, one in asked.items() if one.item_id in outcomes}
            if known:
                found[f"run {number}, {name}"] = known
    return found

"""What `humans` shows of other modes than answers: ratings, and how far people find what keys claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_eval_tasks.cli.options import prepared_benchmark
from lmms_eval_tasks.installed.registry import find_benchmark
from lmms_eval_tasks.utils.benchmark.inquiries import Inquiry
from lmms_eval_tasks.utils.core.cells import Cell, Number
from lmms_eval_tasks.utils.core.console import text_table
from lmms_eval_tasks.utils.core.output import Output
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.wording import summarize_names
from lmms_eval_tasks.utils.data.home import read_table
from lmms_eval_tasks.utils.stats.bootstrap import macro_interval
from lmms_eval_tasks.utils.stats.estimates import METHOD
from lmms_eval_tasks.utils.stats.human_responses import keyed_questions, read_human_responses
from lmms_eval_tasks.utils.stats.key_checks import judge_keys
from lmms_eval_tasks.utils.stats.ratings import Rating, read_ratings, score_scale

Rows = Sequence[Mapping[str, Any]]


def print_mode(output: Output, responses: Path, items: str, mode: str, by: Sequence[str]) -> None:
    """Show what people said in a mode of a prepared split."""
    name = prepared_benchmark(items)
    if name is None:
        raise InputError(f"Expected --items BENCHMARK:SPLIT with --mode, but got {items or 'none'}.")
    house = find_benchmark(name)
    inquiry = house.inquiry(mode)
    rows: Rows = read_table(house.card, items.partition(":")[2])[0].to_pylist()
    if unknown := [column for column in by if column not in rows[0]]:
        raise InputError(f"Expected columns of {items}, but it lacks {', '.join(unknown)}.")
    if inquiry.form == "ratings":
        _print_ratings(output, inquiry, rows, responses, by or house.card.strata_columns)
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
    shares: dict[str, tuple[int, int] | None] = {
        "precision": (counts.hits, counts.extra),
        "recall": (counts.hits, counts.missed),
        "F1": None,
        "accuracy": (counts.hits + neither, counts.extra + counts.missed),
    }
    values = {
        "precision": counts.precision, "recall": counts.recall, "F1": counts.f1, "accuracy": counts.accuracy
    }  # fmt: skip
    table = text_table("keys against people", "of what was asked", "%", "paper", numbers=True)
    table.signature = METHOD
    for name, value in values.items():
        counted = shares[name]
        shown: Cell = "–" if value is None else Number(100 * value, unit="%", digits=2)
        if value is not None and counted is not None and any(counted):
            low, high = map(float, macro_interval([[(100.0, 1.0)] * counted[0] + [(0.0, 1.0)] * counted[1]]))
            shown = Number(100 * value, low, high, sum(counted), "%", digits=2)
        table.add_row(name, shown, inquiry.paper.get(name, ""))
    if (name := "Kendall tau-b") in inquiry.paper:
        table.add_row(name, "–" if counts.tau is None else f"{counts.tau:.4f}", inquiry.paper[name])
    output.table(table)
    output.note("Most people's choice is the reference. These are figures of the pairs that were asked about alone.")

"""Tables of a human baseline, for `humans`: checks of responses, accuracies, difficulty, and a benchmark's study."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_eval_tasks.registry import read_card
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.output import Number, Output, text_table
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.data.home import read_manifest
from lmms_eval_tasks.utils.people import baseline
from lmms_eval_tasks.utils.people.responses import AskedQuestion, Key, Response
from lmms_eval_tasks.utils.reporting.columns import score_number
from lmms_eval_tasks.utils.scoring.bootstrap import DRAWS, METHOD, SEED
from lmms_eval_tasks.utils.scoring.metrics import SINGLE_ACCURACY
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

LEVEL = 0.05


def show_difficulty(
    output: Output,
    summaries: Sequence[baseline.QuestionSummary],
    graded: Mapping[Key, AskedQuestion] | None,
    pairs: bool,
) -> None:
    """Show how difficult the responses say that questions are, beside the table's own column where it has one."""
    if not pairs:
        counts = Counter(one.difficulty for one in summaries)
        levels = ", ".join(f"{counts[name]:,} {name}" for name in (*baseline.DIFFICULTIES, baseline.DROPPED))
        output.note(f"difficulty by these responses: {levels}")
    if graded is not None:
        listed = {item: one.strata["difficulty"] for (item, _), one in graded.items()}
        other = [one.item for one in summaries if listed[one.item] != one.difficulty]
        named = f" ({summarize_names(other)})" if other else ""
        output.note(f"other than in the table: {len(other):,}{named}")
    output.note(
        "Each pair counts once: right where one person is right about both clips, as a model has to be."
        if pairs
        else "Each question counts once; an interval is for one response per question. A single-version score: not "
        "to be compared with pair accuracy."
    )


def show_checks(
    output: Output,
    answers: Sequence[Response],
    summaries: Sequence[baseline.QuestionSummary],
    asked: Mapping[Key, AskedQuestion] | None,
    drop_disputed: bool,
    pairs: bool,
) -> list[str]:
    """Say how many answered, and what is odd about keys and versions; the questions whose key is disputed."""
    annotators = len({response.annotator for response in answers})
    unit = "pairs" if pairs else "questions"
    output.note(f"{len(answers):,} responses of {annotators:,} annotators to {len(summaries):,} {unit}")
    if asked is not None and (silent := sorted({item for item, _ in asked} - {one.item for one in summaries})):
        lack = "without a response to both clips" if pairs else "without a response"
        output.warn(f"{lack}: {len(silent):,} {unit} ({summarize_names(silent)})", style="yellow")
    answered = {one.item for one in summaries}
    disputed = [item for item in baseline.disputed_questions(answers) if item in answered]
    percent = f" ({100 * len(disputed) / len(summaries):.1f}%)"
    output.note(
        f"most frequent answer is not the key: {len(disputed):,} {unit}{percent}"
        + (f": {summarize_names(disputed)}{', left out below' if drop_disputed else ''}" if disputed else "")
    )
    tests = [] if pairs else baseline.compare_versions(answers)
    if tests:
        differing = [test for test in tests if test.adjusted < LEVEL]
        named = [
            f"{test.item} {test.right[0]}/{test.responses[0]} and {test.right[1]}/{test.responses[1]}"
            for test in differing
        ]
        output.note(
            f"versions not equally hard: {len(differing):,} of {len(tests):,} questions"
            + (f": {summarize_names(named)}" if named else "")
            + f" (Fisher's exact test, Holm, p < {LEVEL})"
        )
    if tests and (found := baseline.compare_version_sets(answers)):
        sets, p_value = found
        right = " and ".join(f"{right:,} of {number:,} in {version}" for version, (right, number) in sets.items())
        output.note(f"versions as sets: {right} are right (Fisher's exact test, p = {p_value:.2f})")
    return disputed


def further_parts(benchmark: Benchmark, asked: Mapping[Key, AskedQuestion]) -> dict[str, set[str]]:
    """The questions of each part of which the benchmark reports single accuracy, as it names them."""
    parts: dict[str, set[str]] = {}
    for metric in (metric for kind in benchmark.kinds.values() for metric in kind.metrics):
        if metric.name.startswith(f"{SINGLE_ACCURACY.name}_") and not metric.name.endswith("_official"):
            parts[metric.title] = {
                item
                for (item, version), one in asked.items()
                if set(benchmark.card.strata_columns) <= set(one.strata)
                and metric.applies(Record(version, item, one.strata, one.answer, None, Outcome.UNPARSED))
            }
    return parts


def show_scores(
    output: Output,
    answers: Sequence[Response],
    strata: Mapping[str, Any],
    parts: Mapping[str, Collection[str]],
    pairs: bool,
) -> None:
    unit = "pairs" if pairs else "questions"
    table = text_table(
        "pair accuracy of people" if pairs else "accuracy of people", unit, "number", "right, %", numbers=True
    )
    table.signature = f"95% intervals over {unit}, for one response to each, {DRAWS:,} draws, seed {SEED}"
    for score in baseline.human_scores(answers, strata, parts):
        table.add_row(score.name, score.questions, score.number("%", 2))
    output.table(table)


def show_study(
    output: Output,
    study: baseline.HumanStudy,
    rows: Sequence[Mapping[str, Any]],
    answers: Sequence[Response],
    items: str,
) -> None:
    name, _, split = items.partition(":")
    card = read_card(name)
    data_set = read_manifest(card).splits[split].data_set
    published = {human.metric: human.percent for human in card.human if data_set.is_official}
    table = text_table(
        "the study of people", "people", "items", "score", *(["paper"] if published else []), numbers=True
    )
    table.signature = f"{name}, {split}; {METHOD}"
    if data_set.apart:
        table.warnings.append(data_set.apart)
    for metric, value in baseline.score_study(study, rows, answers):
        shown = score_number(value, metric.unit, 2)
        paper = [Number(published[metric.name], unit="%", digits=2) if metric.name in published else ""]
        table.add_row(metric.title, value.groups if value else 0, shown, *(paper if published else []))
    output.table(table)
    labels = baseline.label_items(answers)
    output.note(f"unknown: {baseline.unknown_share(answers):.1f}% of the responses, each with half the credit")
    output.note(f"{study.label}: {sum(labels.values()):,} of {len(labels):,} items, by more than half of the responses")


def write_summary(
    out: Path,
    summaries: Sequence[baseline.QuestionSummary],
    disputed: Sequence[str],
    outcomes: Mapping[str, Mapping[Key, str]],
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = ("item", "version", "modal", "agreement", "responses", "percent_right", "difficulty", "disputed")
    writer.writerow([*columns, *outcomes])
    for one in summaries:
        for version, answers in one.versions.items():
            modal = "|".join(answers.modal)
            question = [f"{one.percent_right:.2f}", one.difficulty, int(one.item in disputed)]
            cells = [f"{answers.agreement:.2f}", answers.responses, *question]
            of_runs = [outcome.get((one.item, version), "") for outcome in outcomes.values()]
            writer.writerow([one.item, version, modal, *cells, *of_runs])
    write_file(out, text.getvalue())

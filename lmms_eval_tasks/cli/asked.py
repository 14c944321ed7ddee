"""The questions that people were asked, as `--items` names them."""

from __future__ import annotations

from typing import Any

from lmms_eval_tasks.cli.options import prepared_benchmark, table_file
from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.report.people import Asked
from lmms_eval_tasks.utils.benchmark.inquiries import ANSWER
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.wording import summarize_names
from lmms_eval_tasks.utils.data.home import read_table
from lmms_eval_tasks.utils.stats.human_responses import keyed_questions, read_items
from lmms_eval_tasks.utils.stats.human_study import HumanStudy


def require_item_ids(asked: Asked | None) -> Asked:
    """The questions, each of which says which item of a run it is."""
    if asked is None:
        raise InputError("Expected --items with --run, so that responses can be matched to the run's items.")
    if lacking := [" ".join(filter(None, key)) for key, question in asked.items() if not question.item_id]:
        raise InputError(
            f"Expected --items with a column item_id, which has the ids of the run's items, but {len(lacking):,} lack "
            f"one: {summarize_names(lacking)}. A prepared split, as BENCHMARK:SPLIT, has them."
        )
    return asked


def study_of(items: str) -> tuple[HumanStudy | None, list[dict[str, Any]]]:
    """The study of people that a prepared split's benchmark has, and the split's rows; none where it has none."""
    name = prepared_benchmark(items) or ""
    benchmark = registry().benchmarks.get(name)
    if benchmark is None or benchmark.human_study is None:
        return None, []
    table, _ = read_table(benchmark.card, items.partition(":")[2])
    return benchmark.human_study, table.to_pylist()


def asks_whole_pairs(items: str) -> bool:
    """Whether one person may answer both items of a pair of the prepared split."""
    benchmark = registry().benchmarks.get(prepared_benchmark(items) or "")
    return benchmark is not None and benchmark.human_study is None and benchmark.pairs_of_clips


def asked_of(items: str) -> Asked:
    """The questions of a file or of a prepared split: as the benchmark asks people about it, where it does."""
    study, rows = study_of(items)
    if study is not None:
        return study.questions(rows)
    benchmark = registry().benchmarks.get(prepared_benchmark(items) or "")
    if benchmark is None or ANSWER not in benchmark.inquiries:
        return read_items(table_file(items), benchmark.card.clip_columns if benchmark else ())
    table, _ = read_table(benchmark.card, items.partition(":")[2])
    return keyed_questions(benchmark.inquiries[ANSWER], table.to_pylist(), benchmark.card.strata_columns)

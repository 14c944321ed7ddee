"""Splits in the data home whose clips are missing: all that is needed where only texts are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmms_eval_tasks.mvp import benchmark as mvp
from lmms_eval_tasks.mvp.sample import SUBSETS, draw_subset
from lmms_eval_tasks.registry import building, find_benchmark
from lmms_eval_tasks.utils.core.errors import Problems
from lmms_eval_tasks.utils.data.home import home
from lmms_eval_tasks.utils.data.identity import SAMPLE_MARK, Origin
from lmms_eval_tasks.utils.data.prepare import Preparation


def add_texts(benchmark: str, split: str, rows: Sequence[dict[str, Any]], sample: bool = False) -> None:
    """Prepare rows of a table, in which own columns may be missing."""
    columns = find_benchmark(benchmark).schema()
    filled = [{"clip": f"{split}/a.mp4", "options": [], **dict.fromkeys(columns), **row} for row in rows]
    names = find_benchmark(benchmark).card.clip_columns
    clips = {row[name]: None for row in filled for name in names}
    source = home().parent / f"texts of {benchmark}"
    source.mkdir(parents=True, exist_ok=True)
    if sample:
        (source / SAMPLE_MARK).write_text("{}", encoding="utf-8")
    with building(benchmark, Preparation()) as build:
        build.add_split(split, filled, columns, clips, Origin(str(source)))


def add_mvp_sample(pairs: int) -> None:
    """Prepare the sample's questions of MVP-mini, none of whose clips is filmed."""
    rows, problems = [], Problems()
    for subset in SUBSETS:
        drawn, _ = draw_subset(20, subset, pairs, pairs)
        rows += mvp.read_items(subset, "mini", drawn["mini"], problems)
    assert not len(problems) and not problems.warnings()
    add_texts("mvp", "mini", rows, sample=True)

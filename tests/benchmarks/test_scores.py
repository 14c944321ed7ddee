"""What holds of every score of every benchmark, on records that it grades of the version gate's examples: it keeps the
laws, and tables and pages show it, over all tasks, groups, views and parts by stratum.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from graded_records import records_of

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.testing.drawn_runs import check_shown, every_name, finish
from lmms_eval_tasks.testing.score_laws import check_scores, unreached
from lmms_eval_tasks.testing.thorough import EXAMPLES
from lmms_eval_tasks.utils.benchmark.views import name_view

pytestmark = pytest.mark.usefixtures("few_draws")
BENCHMARKS = {name: one for name, one in registry().benchmarks.items() if not (one.folder / EXAMPLES).exists()}
"""A package of its own has such examples, and its tests check it thoroughly."""
KINDS = [(name, kind) for name, benchmark in BENCHMARKS.items() for kind in benchmark.kinds]
CASES = [
    # Thorough checks, in test_tasks.py, make tables and pages of views too.
    pytest.param(benchmark, name, view, id=f"{name}_{view}".rstrip("_"), marks=[pytest.mark.nightly] if view else [])
    for benchmark in BENCHMARKS
    for name, view in every_name(benchmark)
]


@pytest.mark.slow
@pytest.mark.parametrize(("benchmark", "kind"), KINDS)
def test_scores_keep_the_laws_and_the_examples_reach_every_one(benchmark: str, kind: str) -> None:
    records, found = records_of(benchmark, kind), BENCHMARKS[benchmark]
    values = {found.kinds[kind].metrics[0].value(record) for record in records}
    assert None in values and len(values) > 2
    assert unreached(found.kinds[kind].metrics, records) == []
    check_scores(found.kinds[kind].metrics, records, found.folder).raise_if_any(f"Scores of {benchmark}, {kind}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("numbers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(root / "home"))
        yield root


@pytest.mark.parametrize(("benchmark", "name", "view"), CASES)
@pytest.mark.slow
def test_tables_and_pages_show_every_task_group_and_view(folder: Path, benchmark: str, name: str, view: str) -> None:
    records = {kind: records_of(benchmark, kind) for kind in BENCHMARKS[benchmark].kinds}
    check_shown(finish(folder / f"{name}-{view}", name, view, records), name_view(name, view))

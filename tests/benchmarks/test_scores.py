"""What holds of every score of every benchmark, on records that it grades of the version gate's examples: it keeps the
laws, and is one number wherever it is printed, over all tasks, groups, views and parts by stratum.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from graded_records import records_of

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.testing.printed_numbers import CHECKS, every_name, finish, stratum_panels
from lmms_eval_tasks.testing.score_laws import check_scores, unreached

pytestmark = pytest.mark.usefixtures("few_draws")
BENCHMARKS = registry().benchmarks
KINDS = [(name, kind) for name, benchmark in BENCHMARKS.items() for kind in benchmark.kinds]
CASES = [
    pytest.param(benchmark, name, view, id=f"{name}_{view}".rstrip("_"), marks=[pytest.mark.slow] if view else [])
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
def test_a_number_is_the_same_everywhere(folder: Path, benchmark: str, name: str, view: str) -> None:
    records = {kind: records_of(benchmark, kind) for kind in BENCHMARKS[benchmark].kinds}
    finished = finish(folder / f"{name}-{view}", name, view, records)
    assert any(score is not None and finished.metrics[name].kind == "mean" for name, score in finished.scores.items())
    assert stratum_panels(finished)
    for check in CHECKS:
        check(finished)

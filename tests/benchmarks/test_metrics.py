"""What holds of every score of every benchmark, on records that it grades of the version gate's examples."""

from __future__ import annotations

import pytest
from graded_records import records_of

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.testing.score_laws import check_scores, unreached

pytestmark = pytest.mark.usefixtures("few_draws")
KINDS = [(name, kind) for name, benchmark in registry().benchmarks.items() for kind in benchmark.kinds]


@pytest.mark.slow
@pytest.mark.parametrize(("benchmark", "kind"), KINDS)
def test_scores_keep_the_laws_and_the_examples_reach_every_one(benchmark: str, kind: str) -> None:
    records, found = records_of(benchmark, kind), registry().benchmarks[benchmark]
    values = {found.kinds[kind].metrics[0].value(record) for record in records}
    assert None in values and len(values) > 2
    assert unreached(found.kinds[kind].metrics, records) == []
    check_scores(found.kinds[kind].metrics, records, found.folder).raise_if_any(f"Scores of {benchmark}, {kind}")

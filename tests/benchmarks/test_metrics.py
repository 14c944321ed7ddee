"""What holds of every score of every benchmark, on records that it grades of the version gate's examples."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pytest
from graded_records import records_of
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.records import Record
from lmms_eval_tasks.utils.stats import estimates
from lmms_eval_tasks.utils.stats.estimates import estimate

KINDS = [(name, kind) for name, benchmark in registry().benchmarks.items() for kind in benchmark.kinds]
EVERY_KIND = pytest.mark.parametrize(("benchmark", "kind"), KINDS)
FEW = settings(max_examples=25)
NEAR = 1e-9


@pytest.fixture(scope="module", autouse=True)
def few_draws() -> Iterator[None]:
    """A hundred draws tell whether an interval holds its score as well as ten thousand."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("intervals", "macro_interval"):
            patch.setattr(estimates, name, partial(getattr(estimates, name), draws=100))
        yield


def metrics_of(benchmark: str, kind: str) -> tuple[Metric, ...]:
    return registry().benchmarks[benchmark].kinds[kind].metrics


@cache
def with_value(benchmark: str, kind: str, metric: str, value: float | None) -> tuple[Record, ...]:
    """The records with one value in a score, or with none."""
    (found,) = [one for one in metrics_of(benchmark, kind) if one.name == metric]
    return tuple(
        record for record in records_of(benchmark, kind) if found.applies(record) and found.value(record) == value
    )


def draw_records(data: st.DataObject, records: Sequence[Record], prefix: str = "") -> list[Record]:
    """Groups of one to three records, most of them pairs."""
    sizes = data.draw(st.lists(st.sampled_from([2, 2, 2, 1, 3]), max_size=12))
    drawn = []
    for group, size in enumerate(sizes):
        for member in range(size):
            record = data.draw(st.sampled_from(records))
            name = f"{prefix}{group}"
            drawn.append(replace(record, item_id=f"{name}_{member}", group_id=name))
    return drawn


def items_of(metric: Metric, records: Sequence[Record]) -> list[Any]:
    """What lmms-eval gathers for a score, through the sample log's JSON."""
    return json.loads(json.dumps([metric.item(record) for record in records if metric.applies(record)]))


def known(metric: Metric, records: Sequence[Record]) -> Iterator[Record]:
    """The records that have a value in a score."""
    return (record for record in records if metric.applies(record) and metric.value(record) is not None)


@pytest.mark.slow
@EVERY_KIND
def test_the_examples_reach_every_kind_of_value(benchmark: str, kind: str) -> None:
    records = records_of(benchmark, kind)
    main = metrics_of(benchmark, kind)[0]
    values = {main.value(record) for record in records}
    assert None in values and len(values) > 2
    for metric in metrics_of(benchmark, kind):
        assert any(True for _ in known(metric, records)), metric.name
        if metric.value_bounds:
            low, high = metric.value_bounds
            assert all(low <= (metric.value(record) or low) <= high for record in known(metric, records)), metric.name


@pytest.mark.slow
@EVERY_KIND
@given(data=st.data())
@FEW
def test_order_does_not_matter(benchmark: str, kind: str, data: st.DataObject) -> None:
    records = draw_records(data, records_of(benchmark, kind))
    shuffled = random.Random(data.draw(st.integers(0, 9))).sample(records, len(records))
    for metric in metrics_of(benchmark, kind):
        score = metric.score(items_of(metric, records))
        assert metric.score(items_of(metric, shuffled)) == pytest.approx(score, abs=NEAR), metric.name
        assert metric.score_records(records) == score, metric.name


@pytest.mark.slow
@EVERY_KIND
@given(data=st.data())
@FEW
def test_a_score_lies_within_its_bounds(benchmark: str, kind: str, data: st.DataObject) -> None:
    records = draw_records(data, records_of(benchmark, kind))
    for metric in metrics_of(benchmark, kind):
        score = metric.score_records(records)
        if score is None:
            assert metric.kind == "mean", metric.name
        elif metric.kind != "mean":
            assert isinstance(score, int) and 0 <= score <= len(records), metric.name
        elif metric.value_bounds and not metric.contrast:
            assert metric.bounds[0] - NEAR <= score <= metric.bounds[1] + NEAR, metric.name


@pytest.mark.slow
@EVERY_KIND
@given(data=st.data())
@FEW
def test_the_best_values_give_the_best_score(benchmark: str, kind: str, data: st.DataObject) -> None:
    for metric in metrics_of(benchmark, kind):
        if metric.kind != "mean" or metric.contrast or not metric.value_bounds or metric.higher_is_better is None:
            continue
        best = metric.value_bounds[metric.higher_is_better]
        if not (records := with_value(benchmark, kind, metric.name, best)):
            continue
        record = data.draw(st.sampled_from(records))
        size = metric.together or data.draw(st.integers(1, 3))
        group = [replace(record, item_id=f"{member}", group_id="group") for member in range(size)]
        assert metric.score_records(group) == pytest.approx(metric.bounds[metric.higher_is_better]), metric.name


@EVERY_KIND
def test_a_run_without_items_has_no_score_and_counts_none(benchmark: str, kind: str) -> None:
    for metric in metrics_of(benchmark, kind):
        expected = None if metric.kind == "mean" else 0
        assert metric.score([]) == metric.score_records([]) == expected, metric.name
        if metric.kind == "mean":
            assert estimate(metric, [[]]) is None, metric.name


@pytest.mark.slow
@EVERY_KIND
@given(data=st.data())
@FEW
def test_shards_of_whole_groups_merge(benchmark: str, kind: str, data: st.DataObject) -> None:
    records = draw_records(data, records_of(benchmark, kind))
    count = data.draw(st.integers(1, 4))
    shards = [[record for record in records if int(record.group_id) % count == shard] for shard in range(count)]
    for metric in metrics_of(benchmark, kind):
        merged = [item for shard in shards for item in items_of(metric, shard)]
        score = metric.score(items_of(metric, records))
        assert metric.score(merged) == pytest.approx(score, abs=NEAR), metric.name


@pytest.mark.slow
@EVERY_KIND
@given(data=st.data())
@settings(max_examples=5)
def test_an_interval_holds_the_score(benchmark: str, kind: str, data: st.DataObject) -> None:
    records = draw_records(data, records_of(benchmark, kind))
    for metric in metrics_of(benchmark, kind):
        if metric.kind != "mean":
            continue
        found, score = estimate(metric, [records]), metric.score_records(records)
        assert (found is None) == (score is None), metric.name
        if found is not None:
            assert found.value == score, metric.name
            assert found.low - NEAR <= found.value <= found.high + NEAR, metric.name
            assert 0 < found.groups <= len(records), metric.name


@pytest.mark.slow
@EVERY_KIND
@given(data=st.data())
@FEW
def test_an_item_without_a_value_leaves_a_mean_as_it_is(benchmark: str, kind: str, data: st.DataObject) -> None:
    records = draw_records(data, records_of(benchmark, kind))
    for metric in metrics_of(benchmark, kind):
        without = with_value(benchmark, kind, metric.name, None)
        if metric.together or metric.kind != "mean" or not without:
            continue
        more = [replace(data.draw(st.sampled_from(without)), item_id="more", group_id="more")]
        score = metric.score_records(records)
        assert metric.score_records([*records, *more]) == (None if score is None else pytest.approx(score)), metric.name

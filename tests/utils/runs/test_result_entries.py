"""What stands beside a score, whatever its items bring; lmms-eval's own functions say what it should be."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_tasks.finished.rescore import ScoredGroup, ScoredTask, make_entries
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.scoring.metrics import UNPARSED_RATE, UNSCORED_RATE, Metric

NUMBERS = st.integers(-3, 3) | st.booleans() | st.floats(-1e6, 1e6)
IN_GROUPS = st.fixed_dictionaries({"score": NUMBERS}, optional={"clip": st.sampled_from(["a", "b", None])})
BROUGHT = st.none() | NUMBERS | IN_GROUPS | st.just({"value": 1.0}) | st.just("text")
ARGUMENTS = SimpleNamespace(output_path="out")


def count(items: Sequence[Any]) -> Any:
    return np.int64(len(items))


def where(items: Sequence[Any], args: Any) -> str:
    return f"{len(items)} in {args.output_path}"


def chamber_count(items: Sequence[Any]) -> int:
    return len(items)


def configured(**aggregations: Any) -> dict[str, Any]:
    listed = [{"metric": name, "aggregation": function} for name, function in aggregations.items()]
    return {"metric_list": listed, "metadata": {"version": 1}, "cluster_key": "clip"}


def as_lmms_eval(task: ScoredTask) -> dict[str, Any]:
    from lmms_eval.evaluator_utils import TaskOutput, consolidate_results
    from lmms_eval.utils import handle_non_serializable

    functions = {entry["metric"]: entry["aggregation"] for entry in task.config["metric_list"]}
    loaded = SimpleNamespace(aggregation=lambda: functions, higher_is_better=dict, args=task.arguments)
    output = TaskOutput(loaded, "task", task.config)
    for item in task.items:
        for name, value in item.items():
            output.sample_metrics[name, "none"].append(value)
    output.calculate_aggregate_metric(bootstrap_iters=10)
    output.calculate_clt_aggregate_metric()
    entries: dict[str, Any] = json.loads(json.dumps(consolidate_results([output])[0], default=handle_non_serializable))
    return {name: value for name, value in entries["task"].items() if name not in ("alias", "samples")}


@pytest.mark.slow  # lmms-eval is imported
@settings(max_examples=60)
@given(st.lists(st.dictionaries(st.sampled_from(["count", "where", "record"]), BROUGHT), max_size=8))
def test_the_errors_of_a_task_are_those_of_lmms_eval(items: Sequence[Mapping[str, Any]]) -> None:
    task = ScoredTask(configured(count=count, where=where), items, ARGUMENTS)
    made = make_entries({"task": task}, {})["results"]["task"]
    assert made == as_lmms_eval(task) and list(made) == list(as_lmms_eval(task))


def test_a_listed_name_stands_for_others_that_it_is_a_part_of_and_the_last_one_counts() -> None:
    first = Metric.total("rate", "a sum", lambda record: 0)
    items = [{"rate": 3, "unparsed_rate": 5, "other": 7}]
    config = configured(rate=sum, unparsed_rate=sum, other=sum)
    tasks = {name: ScoredTask(config, items) for name in ("one", "two")} | {"none": ScoredTask(config, [])}

    def entries(*metrics: Metric) -> dict[str, Any]:
        return make_entries(tasks, {"group": ScoredGroup("2-A", list(tasks), metrics)})["groups"]["group"]

    unknown = {f"{name}_stderr,none": "N/A" for name in ("rate", "unparsed_rate")}
    assert entries(first) == {"rate,none": 6, "unparsed_rate,none": 10, **unknown}
    assert entries(first, UNPARSED_RATE) == {"rate,none": 6, "unparsed_rate,none": 5.0, **unknown}
    assert entries(UNPARSED_RATE, first) == entries(first)
    assert entries(UNSCORED_RATE) == entries() == {}


def test_groups_without_scores() -> None:
    task = ScoredTask(configured(count=count), [{"count": 1}])
    made = make_entries(
        {"task": task, "empty": ScoredTask(configured(count=count), [])},
        {
            "unlisted": ScoredGroup("2-A", ["task"], None),
            "listed": ScoredGroup("3-A", ["task", "lacking"], []),
            "without items": ScoredGroup("4-A", ["empty"], []),
        },
    )
    assert made["results"]["unlisted"] == {" ": " "} and made["results"]["empty"] == {}
    assert made["groups"] == {"listed": {}, "without items": {}}
    assert made["versions"] == {"task": 1, "empty": 1, "listed": "3-A"}


@pytest.mark.slow  # lmms-eval is imported
def test_aggregations_of_lmms_eval_are_refused_before_any_is_called() -> None:
    from lmms_eval.api.metrics import mean

    def called(items: Sequence[Any]) -> None:
        pytest.fail("called")

    config = configured(first=called, second="mean", third=mean, fourth=chamber_count)
    with pytest.raises(InputError) as error:
        make_entries({"theirs": ScoredTask(config, [{"first": 1}])}, {})
    expected = "Expected an aggregation of which lmms-eval computes no stderr, but got"
    remedy = "Remedy: Name `aggregate`, or a function of yours, in the task's YAML."
    assert str(error.value).splitlines() == [
        "Standard errors cannot be computed again without lmms-eval: 3 problems.",
        *(
            f"  theirs, {place}: {expected} {got}. {remedy}"
            for place, got in (("second", "mean"), ("third", "mean"), ("fourth", "chamber_count"))
        ),
    ]

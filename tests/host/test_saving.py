"""Two runs of the same second have files of their own."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any

import pytest
from task_states import task_state

from lmms_eval_tasks.host.replacements import SAVE, replace
from lmms_eval_tasks.host.saving import free_date
from lmms_eval_tasks.host.tasks.running import Results


def tracker(folder: Path | None, model: str = "") -> Any:
    return SimpleNamespace(
        output_path=folder and str(folder), general_config_tracker=SimpleNamespace(model_name_sanitized=model)
    )


def ours() -> Results:
    results = Results()
    results.evaluation = SimpleNamespace()  # type: ignore[assignment]
    return results


@pytest.mark.host
def test_lmms_eval_saves_two_runs_of_one_second_apart(tmp_path: Path) -> None:
    from lmms_eval.loggers.evaluation_tracker import EvaluationTracker

    replace(SAVE)
    for answer in ("A", "B"):
        saver = EvaluationTracker(output_path=str(tmp_path))
        saver.general_config_tracker.model_name = saver.general_config_tracker.model_name_sanitized = ""
        results = ours()
        results.evaluation = task_state("causalvqa_paired").evaluation
        results.update({"configs": {}, "config": {}, "versions": {}})
        saver.save_results_aggregated(results, None, datetime_str="20261231_235959")
        sample = {"arguments": ["?"], "resps": [[answer]], "filtered_resps": [answer], "target": "", "doc": {}}
        saver.save_results_samples("t", [sample])
    names = sorted(path.name for path in tmp_path.iterdir() if "card" not in path.name)
    assert names == [
        "20261231_235959_results.json", "20261231_235959_samples_t.jsonl",
        "20270101_000000_results.json", "20270101_000000_samples_t.jsonl",
    ]  # fmt: skip
    for name, answer in zip(names[1::2], "AB", strict=True):
        (line,) = (tmp_path / name).read_text(encoding="utf-8").splitlines()
        assert f'"filtered_resps": "{answer}"' in line


def test_a_date_that_is_free_is_kept(tmp_path: Path) -> None:
    assert free_date(tracker(tmp_path), ours(), "20261122_101112") == "20261122_101112"
    assert free_date(tracker(tmp_path), ours(), "20261122_101112") == "20261122_101113"
    assert free_date(tracker(tmp_path, "other"), ours(), "20261122_101112") == "20261122_101112"


def test_runs_of_others_are_left_alone(tmp_path: Path) -> None:
    for _ in range(2):
        assert free_date(tracker(tmp_path), {}, "20261122_101112") == "20261122_101112"
        assert free_date(tracker(None), ours(), "20261122_101112") == "20261122_101112"
    assert not list(tmp_path.iterdir())


def test_loggers_get_a_copy_of_the_numbers_alone() -> None:
    """An evaluation cannot be copied, and a score that is a list cannot be written as a number."""
    results = ours()
    results.evaluation = SimpleNamespace(lock=Lock())  # type: ignore[assignment]
    scores = {"alias": "a", "accuracy,none": 50.0, "accuracy_stderr,none": "N/A", "record,none": [], "other,none": None}
    results.update({"results": {"a": scores}, "configs": {"a": {"metric_list": [1]}}})
    copied = deepcopy(results)
    assert type(copied) is dict and copied["configs"] == {"a": {"metric_list": [1]}}
    assert copied["results"]["a"] == {name: value for name, value in scores.items() if name != "record,none"}
    copied["results"]["a"]["accuracy,none"] = 0.0
    assert results["results"]["a"] == scores and scores["accuracy,none"] == 50.0

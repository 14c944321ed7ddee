"""Scores of a series beside the best run's on the same items, and the smallest value that is not worse."""

from __future__ import annotations

import json
from typing import Any

import pytest
from commands import printed
from logged_runs import TASK, write_run

from lmms_eval_tasks.report.series import compare_to_best
from lmms_eval_tasks.runs.folder import SeriesValue
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric
from lmms_eval_tasks.utils.scoring.metrics import SINGLE_ACCURACY, UNPARSED_RATE, Metric
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

PAIRS = 60


@pytest.fixture(scope="module")
def curve(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the comparison and the report say of four numbers of frames: 20, 34, 36 and 36 of 60 pairs are right."""
    root = tmp_path_factory.mktemp("curve")
    folders = []
    for frames, right in {4: 20, 8: 34, 16: 36, 32: 36}.items():
        # With 8 frames one pair is right that is wrong with 16, three are wrong that are right there.
        gained = {PAIRS - 1} if frames == 8 else set()
        answers = {f"g{pair:02}": (True, pair < right - len(gained) or pair in gained) for pair in range(PAIRS)}
        folders.append(str(write_run(root / f"frames-{frames}" / "model", answers).parent))
    asked = (["report", "--series", "frames", *folders], ["compare", folders[2], folders[1]])
    documents = [json.loads(printed(*words, "--format", "json")) for words in asked]
    return {table["title"]: table for document in documents for table in document["tables"]}


def test_the_smallest_value_is_found_by_the_intervals_that_compare_prints(curve: dict[str, Any]) -> None:
    table = curve[f"{TASK}: against frames"]
    rows = [row for row in table["rows"] if row[0] == "pair accuracy"]
    assert [(row[1], round(row[2]["value"], 1), row[4]) for row in rows] == [
        ("4", 33.3, "worse"), ("8", 56.7, "not worse"), ("16", 60.0, "best"), ("32", 60.0, "not worse"),
    ]  # fmt: skip
    assert "pair accuracy: best at frames 16; the smallest that is not worse is frames 8" in table["caption"]
    (difference,) = [row for row in curve[TASK]["rows"] if row[1] == "pair accuracy"]
    assert rows[1][3] == difference[4] and difference[4]["low"] < 0 < difference[4]["high"]
    assert rows[0][3]["high"] < 0 and rows[2][3] == ""


def record(name: str, outcome: Outcome) -> Record:
    return Record(name, name, {}, "A", "A" if outcome is Outcome.CORRECT else None, outcome)


def places(outcomes: dict[int, list[Outcome]]) -> list[tuple[SeriesValue, list[list[Record]]]]:
    return [
        (SeriesValue("frames", number), [[record(f"i{place}", one) for place, one in enumerate(of)]])
        for number, of in outcomes.items()
    ]


@pytest.mark.parametrize("metric", [SINGLE_ACCURACY, UNPARSED_RATE])
def test_the_best_run_is_that_of_the_better_score_and_of_equal_ones_the_smaller_value(metric: Metric) -> None:
    good, bad = [Outcome.CORRECT] * 30, [Outcome.UNPARSED] * 30
    found = compare_to_best(places({4: bad, 8: good, 16: good}), ReferencedMetric(metric))
    assert [(one.value.number, one.verdict) for one in found] == [(4, "worse"), (8, "best"), (16, "not worse")]


def test_a_single_run_is_compared_with_none() -> None:
    (alone,) = compare_to_best(places({4: [Outcome.CORRECT]}), ReferencedMetric(SINGLE_ACCURACY))
    assert alone.verdict == "" and alone.to_best is None

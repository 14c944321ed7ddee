"""The best of several runs: what choosing it is worth, against known distributions, and what a report says of it."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from commands import printed
from expected import Expected
from hypothesis import given, settings
from hypothesis import strategies as st
from logged_runs import write_run

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.report.page import build_page
from lmms_eval_tasks.report.repeats import OPTIMISTIC, best_of, find_several, inflation
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.benchmark.benchmark import TaskKind
from lmms_eval_tasks.utils.scoring.bootstrap import estimate
from lmms_eval_tasks.utils.scoring.metrics import PAIR_ACCURACY, PAIRS_SCORED, SINGLE_ACCURACY, Metric
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, UnscoredReason

HIGHEST_OF = {2: 0.56419, 3: 0.84628, 6: 1.26721}
"""The expected highest of k standard normals (Tippett 1925; David & Nagaraja, Order Statistics, 2003, table 3.2)."""
ITEMS = 4000
TASK = next(name for name, task in registry().tasks.items() if task.kind.best_of)


def records_of(right: Sequence[bool | None], group: int = 1) -> list[Record]:
    """Items in groups of a size; None is unscored."""
    outcomes = {True: Outcome.CORRECT, False: Outcome.WRONG, None: Outcome.UNSCORED}
    return [
        Record(
            str(item), str(item // group), {}, "A", None if flag is None else "A", outcomes[flag],
            UnscoredReason.NO_CLIP if flag is None else None,
        )
        for item, flag in enumerate(right)
    ]  # fmt: skip


@pytest.mark.slow
def test_what_choosing_is_worth_is_that_of_normals() -> None:
    rng, shared = random.Random(1), 0.75

    def guesses(items: int = ITEMS) -> list[bool]:
        return [rng.random() < 0.5 for _ in range(items)]

    def check(made: list[list[Record]], items: int = ITEMS, times: float = 1) -> None:
        wanted = HIGHEST_OF[len(made)] * 100 * sqrt(0.25 / items) * times
        assert inflation(SINGLE_ACCURACY, made, draws=4000) == pytest.approx(wanted, rel=0.06)

    for runs in HIGHEST_OF:
        check([records_of(guesses()) for _ in range(runs)])
    # Of normals that correlate by r it is the square root of 1 - r of it.
    base = guesses()
    mixed = [[flag if at < shared * ITEMS else rng.random() < 0.5 for at, flag in enumerate(base)] for _ in range(3)]
    check(list(map(records_of, mixed)), times=sqrt(1 - shared))
    # Items of a group are drawn together.
    check([records_of([flag for flag in guesses(1000) for _ in range(4)], group=4) for _ in range(3)], items=1000)


ANSWERS = st.lists(st.lists(st.sampled_from((True, False, None)), min_size=8, max_size=8), min_size=1, max_size=4)


@settings(max_examples=30)
@given(ANSWERS, st.sampled_from((SINGLE_ACCURACY, PAIR_ACCURACY)), st.randoms(use_true_random=False))
def test_the_order_of_runs_and_items_does_not_matter_and_equal_runs_gain_nothing(
    answers: list[list[bool | None]], metric: Metric, rng: random.Random
) -> None:
    made = [records_of(right, group=2) for right in answers]
    other = [rng.sample(records, len(records)) for records in rng.sample(made, len(made))]
    one, two = inflation(metric, made, draws=200), inflation(metric, other, draws=200)
    assert one == pytest.approx(two, abs=1e-9, nan_ok=True)
    assert not one < -1e-9
    assert inflation(metric, [made[0]] * 3, draws=200) == pytest.approx(0, abs=1e-9, nan_ok=True)


def test_the_best_is_one_of_the_runs_with_its_own_interval() -> None:
    made = [records_of([item % 10 < right for item in range(40)]) for right in (4, 6, 6, 5)]
    found = best_of(SINGLE_ACCURACY, made)
    assert found is not None
    assert (found.place, found.runs) == (1, 4) and found.mean == pytest.approx(52.5)
    assert found.best == estimate(SINGLE_ACCURACY, [made[1]])
    assert found.inflation == inflation(SINGLE_ACCURACY, made) > 0
    # There is none where a run has no score, and none of a count.
    assert best_of(SINGLE_ACCURACY, [records_of([True, False]), records_of([None, None])]) is None
    with pytest.raises(ValueError, match="is a count"):
        inflation(PAIRS_SCORED, [records_of([True])])
    with pytest.raises(ValueError, match="Expected best_of, one of single_accuracy, but got other"):
        TaskKind(metrics=(SINGLE_ACCURACY,), best_of="other")


def write_seed(folder: Path, seed: int, model: str = "model", groups: int = 60, **more: Any) -> Path:
    right = {str(group): ((group * (seed + 3)) % 7 < 4, (group * (seed + 5)) % 11 < 5) for group in range(groups)}
    stratum = dict.fromkeys(registry().tasks[TASK].benchmark.card.strata_columns, "unknown")
    fields = {"pair": "1", "coding": "1", "official_answered": "A", **more}
    return write_run(folder / model, right, (TASK,), stratum, **fields)


@pytest.mark.slow
@pytest.mark.usefixtures("hundred_columns")
def test_runs_of_a_model_have_a_best(tmp_path: Path, expected: Expected) -> None:
    folders = [write_seed(tmp_path / str(seed), seed) for seed in range(3)]
    runs = [read_run(folder) for folder in folders]
    (several,) = find_several(runs)
    assert several.found is not None and several.found.runs == 3
    assert several.at_chance == pytest.approx(50 + several.found.inflation)
    shown = printed("report", *folders)
    expected(shown[shown.index(several.title) :])
    tables = json.loads(printed("report", *folders, "--format", "json"))["tables"]
    (table,) = [one for one in tables if one["title"] == several.title]
    best = table["rows"][0][table["columns"].index("best")]
    assert (best["value"], best["n"]) == (several.found.best.value, several.found.best.groups)
    page = build_page(runs)
    assert OPTIMISTIC in page and f"<td>+{several.found.inflation:.1f}</td>" in page
    # One run has none, and neither have two models.
    assert OPTIMISTIC.split(".")[0] not in " ".join(printed("report", folders[0]).split())
    other = write_seed(tmp_path / "two", 1, model="other")
    assert list(find_several([runs[0], read_run(other)])) == []
    # Runs that were asked otherwise are named and not compared.
    otherwise: list[dict[str, Any]] = [{"groups": 40}, {"version": "2-A"}, {"keys": "BA"}]
    for place, changes in enumerate(otherwise):
        third = write_seed(tmp_path / f"other {place}", 2, **changes)
        (alone,) = find_several([runs[0], read_run(third)])
        assert alone.found is None and len(alone.apart) == 2
        (several,) = find_several([*runs[:2], read_run(third)])
        assert several.found is not None and several.found.runs == 2
        assert [entry.run.path for entry in several.apart] == [read_run(third).path]
    expected("\n".join([*alone.sentences(), *several.sentences()]))
    said = "not compared with each other, because they have other items, another version"
    assert said in " ".join(printed("report", folders[0], third).split())

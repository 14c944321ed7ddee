"""CausalVQA's mean over strata, by hand: of types and difficulties together, each alike, however many pairs it has."""

from __future__ import annotations

import pytest

from lmms_eval_tasks.causalvqa.benchmark import PAIR_ACCURACY_STRATA_MEAN
from lmms_eval_tasks.utils.scoring.metrics import PAIR_ACCURACY
from lmms_eval_tasks.utils.scoring.record import Outcome, Record


def pairs(kind: str, difficulty: str, right: int, of: int) -> list[Record]:
    """Pairs of one stratum, the first of which are right in both versions, the others in one."""
    return [
        Record(
            f"{kind}{difficulty}{number}_{version}",
            f"{kind}{difficulty}{number}",
            {"type": kind, "difficulty": difficulty},
            "A",
            "A",
            Outcome.CORRECT if number < right or version else Outcome.WRONG,
        )
        for number in range(of)
        for version in (0, 1)
    ]


def test_strata_of_type_and_difficulty_count_alike() -> None:
    records = [
        *pairs("planning", "easy", 8, 8),
        *pairs("planning", "hard", 0, 1),
        *pairs("descriptive", "easy", 1, 2),
    ]
    # 100, 0 and 50; of types alone it would be (8 / 9 + 1 / 2) / 2, of difficulties alone (9 / 10 + 0) / 2.
    assert PAIR_ACCURACY_STRATA_MEAN.score_records(records) == pytest.approx(50.0)
    assert PAIR_ACCURACY.score_records(records) == pytest.approx(900 / 11)


def test_a_stratum_without_pairs_is_in_no_mean() -> None:
    records = [*pairs("planning", "easy", 1, 1), *pairs("planning", "med", 1, 4)]
    assert PAIR_ACCURACY_STRATA_MEAN.score_records(records) == pytest.approx(62.5)
    assert PAIR_ACCURACY_STRATA_MEAN.score_records([]) is None

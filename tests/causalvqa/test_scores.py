"""CausalVQA's mean over strata by hand, and the official reader."""

from __future__ import annotations

import pytest
from oracles import read_oracle

from lmms_eval_tasks.causalvqa.benchmark import PAIR_ACCURACY_STRATA_MEAN
from lmms_eval_tasks.causalvqa.hooks import official_choice
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


def test_strata_of_type_and_difficulty_count_alike_however_many_pairs_they_have() -> None:
    records = [
        *pairs("planning", "easy", 8, 8),
        *pairs("planning", "hard", 0, 1),
        *pairs("descriptive", "easy", 1, 2),
    ]
    # 100, 0 and 50; of types alone it would be (8 / 9 + 1 / 2) / 2, of difficulties alone (9 / 10 + 0) / 2.
    assert PAIR_ACCURACY_STRATA_MEAN.score_records(records) == pytest.approx(50.0)
    assert PAIR_ACCURACY.score_records(records) == pytest.approx(900 / 11)
    assert PAIR_ACCURACY_STRATA_MEAN.score_records([]) is None


# Behaviour of the official function, read from facebookresearch/CausalVQA@3f65605 tasks/utils.py.
QUIRKS = [
    ("Your Answer Letter: C END", "C"),
    ("C. A ball is hit", "A"),
    ("Your Answer Letter: CEND", "your answer letter: cend"),
    ("Answer: B, as I'd say", "D"),
    ("", ""),
    ("?!", ""),
    ("b", "B"),
    ("F", "f"),
    ("(B)", "B"),
    ("Die Antwort ist É", "die antwort ist é"),
    ("A/B", "B"),
    ("A/ B", "B"),
    ("A/B / x", "ab  x"),
    ("1,5 x-B", "15 xb"),
    ("x-B", "B"),
    ("..B", "B"),
    ("B.5", "B"),
    ("x" + "." * 33, "x."),
    ("x" + "." * 32, "x"),
    ("A\tor\nB", "B"),
    ("'((b))'", "B"),
    ("_B_", "B"),
    ("答案是B", "答案是b"),
]


def test_the_official_reader_has_the_official_quirks() -> None:
    assert [(text, official_choice(text)) for text, _ in QUIRKS] == QUIRKS


def test_the_official_reader_equals_the_official_outputs() -> None:
    for item in read_oracle("answer_extraction.json")["items"]:
        choice = official_choice(item["text"])
        assert choice == item["causalvqa_official_extract"], item["id"]
        scored = [letter for letter in "ABCDE" if official_choice(letter) == choice]
        assert scored == item["causalvqa_official_scores_correct_for"], item["id"]

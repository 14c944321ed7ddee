"""Pairs made at random: against all pairings of small sets, what has to hold of any, and `report --pairing random`."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import printed, refusal
from expected import Expected
from logged_runs import write_run

from lmms_eval_tasks.report.random_pairs import AskedRecord, RandomPairing, pair_at_random
from lmms_eval_tasks.utils.data.card import SetKind
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

Flags = Sequence[tuple[bool | None, bool | None]]
OUTCOMES = {None: Outcome.UNSCORED, True: Outcome.CORRECT, False: Outcome.WRONG}
TASK = "mvp_mini_temporal_reasoning"
# Either both clips of a pair are easy or none is.
ALIKE = {str(number): (number % 2 > 0,) * 2 for number in range(40)}


def asked(question: str, pairs: Flags, keys: tuple[str, str] = ("A", "B")) -> list[AskedRecord]:
    """Items of one question in pairs; None where one was not scored. The order of a pair's members changes."""
    items = []
    for number, flags in enumerate(pairs):
        group = f"{question}{number}"
        pair = [
            (Record(f"{group}_{member}", group, {}, keys[member], None, OUTCOMES[flag]), question)
            for member, flag in enumerate(flags)
        ]
        items += pair[:: -1 if number % 2 else 1]
    return items


def paired(*parts: list[AskedRecord], seed: int = 0, draws: int = 1000) -> RandomPairing:
    pairing, left_out = pair_at_random(parts, seed, draws)
    assert pairing is not None and left_out == {}
    return pairing


def enumerated(questions: Sequence[Flags]) -> float:
    """Percent of pairs that are right in the mean over all pairings that keep none."""
    right = 0.0
    for pairs in questions:
        orders = permutations(range(len(pairs)))
        moved = [order for order in orders if all(place != partner for place, partner in enumerate(order))]
        right += np.mean(
            [sum(bool(pairs[place][0] and pairs[partner][1]) for place, partner in enumerate(order)) for order in moved]
        )
    return 100 * right / sum(map(len, questions))


@pytest.mark.parametrize("seed", range(10))
def test_the_score_is_that_of_all_pairings(seed: int) -> None:
    chance = random.Random(seed)
    parts = [
        [
            [(chance.random() < 0.6, chance.random() < 0.5) for _ in range(chance.randint(2, 5))]
            for _ in range(chance.randint(1, 4))
        ]
        for _ in range(chance.randint(1, 2))
    ]
    items = [[item for name, pairs in enumerate(part) for item in asked(f"q{name}", pairs)] for part in parts]
    pairing = paired(*items, draws=10)
    assert pairing.random.value == pytest.approx(np.mean([enumerated(part) for part in parts]))
    real = [100 * np.mean([all(pair) for pairs in part for pair in pairs]) for part in parts]
    assert pairing.real.value == pytest.approx(np.mean(real))
    assert pairing.difference.value == pytest.approx((pairing.real.value or 0) - (pairing.random.value or 0))
    sizes = [len(pairs) for part in parts for pairs in part]
    assert (pairing.pairs, pairing.questions) == (sum(sizes), len(sizes))


def test_what_has_to_hold_of_any_pairs() -> None:
    # A model that always gives one letter stays at 0.
    for letter in (0, 1):
        for number in (3, 30):
            pairs: Flags = [(letter == 0, letter == 1)] * number
            found = paired(asked("q", pairs) + asked("r", pairs))
            assert (found.random.value, found.random.low, found.random.high) == (0.0, 0.0, 0.0)
    # Either both members are easy or none is: as paired half are right, at random a quarter.
    found = paired(asked("q", [(easy, easy) for easy in (True, False)] * 500))
    assert found.real.value == 50 and found.random.value == pytest.approx(25, abs=0.05)
    assert found.difference.low is not None and found.difference.low > 20
    # Both clips are of one source: across sources 20% of the pairs would be right, (3 · 3 - 3) / 5 of 6.
    sources = [
        (replace(record, stratum={"source": source}), "q")
        for source, right in (("pt", True), ("ssv2", False))
        for record, _ in asked(source, [(right, right)] * 3)
    ]
    assert (paired(sources).random.value, paired(sources).questions) == (50, 2)
    # Other keys are other sides, and the same seed gives the same numbers.
    pairs = [(True, False), (False, True)]
    others = [(record, "q") for record, _ in asked("p", pairs, ("C", "D"))]
    assert [paired(asked("q", pairs * 2)).questions, paired(asked("q", pairs) + others).questions] == [1, 2]
    chance = random.Random(0)
    items = asked("q", [(chance.random() < 0.5, chance.random() < 0.5) for _ in range(101)])
    first, again, other = (paired(items, seed=seed, draws=501) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.slow
@pytest.mark.parametrize(("questions", "size"), [(60, 2), (3, 40), (20, 8), (12, 12)])
def test_intervals_hold_the_truth(questions: int, size: int) -> None:
    """Right answers of the two sides go together within a pair, as they do where clips are alike."""
    rng = np.random.default_rng(size)
    easy = rng.beta(2, 2, 40_000)
    truth, held, runs = 100 * easy.mean() ** 2, 0, 200
    for _ in range(runs):
        flags = (rng.random((2, questions * size)) < rng.choice(easy, questions * size)).T.tolist()
        parts = [asked(f"q{place} ", flags[place * size : (place + 1) * size]) for place in range(questions)]
        score = paired([item for part in parts for item in part], draws=400).random
        held += score.low <= truth <= score.high
    assert held / runs > 0.89


def test_what_cannot_be_paired_is_counted() -> None:
    lone = asked("other", [(True, True)])
    items = [
        *asked("q", [(True, True), (True, False), (False, True), (True, None)]),
        *lone,
        *((record, f"{prompt} {number}") for number, (record, prompt) in enumerate(asked("x", [(True, True)]))),
        *asked("y", [(True, True)], ("A", "A")),
        *asked("z", [(True, True)])[:1],
    ]
    pairing, left_out = pair_at_random([items])
    assert pairing is not None and (pairing.pairs, pairing.questions) == (3, 1)
    assert left_out == {
        "incomplete or unscored": 2,
        "with two questions, or other options": 1,
        "with one key": 1,
        "alone with their question and source": 1,
    }
    assert pair_at_random([items, lone])[0] is pair_at_random([])[0] is None


@pytest.mark.usefixtures("hundred_columns")
def test_the_report_has_random_pairs_beside_the_real_ones(tmp_path: Path, expected: Expected) -> None:
    def write(name: str, right: Mapping[str, tuple[bool, ...]], question: str = "Which is it?", **more: Any) -> Path:
        return write_run(tmp_path / name, right, (TASK,), question=question, **{"keys": "AB", **more})

    # Of 40 pairs 20 are right; a member has 19 of 39 other partners that are: 100 · 20 / 40 · 19 / 39 = 24.4.
    one = write("one", ALIKE, kind=SetKind.SAMPLE)
    two = write("two", dict.fromkeys(ALIKE, (True, False)))
    few = write("few", dict(list(ALIKE.items())[:8]))
    same_key = write("same", ALIKE, keys="")
    asked = ("--pairing", "random")
    shown = [
        printed("report", *runs, *asked, "--seed", "3").partition(": paired at random ")[2]
        for runs in ([one, two], [two], [few], [same_key])
    ]
    assert "24.4" in shown[0]
    expected("\n".join([*shown, refusal("report", write("silent", ALIKE, question=""), *asked)]))

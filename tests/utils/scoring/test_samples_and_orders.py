"""Scores of several samples and of options in every order, each against a calculation from a table of answers."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from lmms_eval_tasks.utils.benchmark.benchmark import TaskKind
from lmms_eval_tasks.utils.benchmark.views import NoneOfThese, Rotated, join_samples
from lmms_eval_tasks.utils.scoring.bootstrap import estimate
from lmms_eval_tasks.utils.scoring.compare import compare_records
from lmms_eval_tasks.utils.scoring.metrics import (
    PAIR_ACCURACY,
    PAIRS_SCORED,
    SELF_AGREEMENT,
    SINGLE_ACCURACY,
    UNPARSED_RATE,
    over_samples,
    settle,
    variances,
    vote,
)
from lmms_eval_tasks.utils.scoring.record import (
    GradedItem,
    Outcome,
    Record,
    UnscoredReason,
)

SAMPLES = 4
PAIRS = 30
ANSWERS = np.random.default_rng(7).choice(list("AABC-"), size=(PAIRS, 2, SAMPLES))
"""What is answered to each member of each pair in each sample, where A is the key; - cannot be read."""


def record(pair: int, member: int, answers: str) -> Record:
    samples = []
    for number, answer in enumerate(answers, start=1):
        outcome = Outcome.CORRECT if answer == "A" else Outcome.UNPARSED if answer == "-" else Outcome.WRONG
        read = None if answer == "-" else answer
        samples.append(Record(f"{pair}.{member}", f"{pair}", {}, "A", read, outcome, sample=number))
    first, *others = samples
    return replace(first, samples=tuple(others))


RECORDS = [record(pair, member, "".join(ANSWERS[pair, member])) for pair in range(PAIRS) for member in range(2)]


def majority(answers: np.ndarray) -> str:
    read = [answer for answer in answers if answer != "-"]
    most = max(Counter(read).values(), default=0)
    return next((answer for answer in read if Counter(read)[answer] == most), "-")


def test_scores_are_those_of_the_table() -> None:
    right = ANSWERS == "A"
    pairs = right.all(axis=1)  # of each sample by itself
    voted = np.apply_along_axis(majority, 2, ANSWERS) == "A"
    expected = {
        "pair_accuracy": pairs.mean(),
        "pair_accuracy_any_of_k": pairs.any(axis=1).mean(),
        "pair_accuracy_all_of_k": pairs.all(axis=1).mean(),
        "pair_accuracy_majority": voted.all(axis=1).mean(),
        "single_accuracy": right.mean(),
        "single_accuracy_any_of_k": right.any(axis=2).mean(),
        "single_accuracy_all_of_k": right.all(axis=2).mean(),
        "single_accuracy_majority": voted.mean(),
        "unparsed_rate": (ANSWERS == "-").mean(),
        "self_agreement": np.mean(
            [one != "-" and one == two for item in ANSWERS.reshape(-1, SAMPLES) for one, two in combinations(item, 2)]
        ),
    }
    leading = PAIR_ACCURACY, SINGLE_ACCURACY
    metrics = [*leading, UNPARSED_RATE, SELF_AGREEMENT, *(one for metric in leading for one in over_samples(metric))]
    found = {metric.name: metric.score_records(RECORDS) for metric in metrics}
    assert found == pytest.approx({name: 100 * value for name, value in expected.items()})
    assert PAIRS_SCORED.score_records(RECORDS) == PAIRS


def test_an_interval_is_that_of_groups_drawn_with_all_their_samples() -> None:
    found = estimate(PAIR_ACCURACY, [RECORDS])
    means = 100 * (ANSWERS == "A").all(axis=1).mean(axis=1)
    draws = np.random.default_rng(1).choice(means, size=(20_000, PAIRS)).mean(axis=1)
    assert found and found.value == pytest.approx(means.mean()) and found.groups == PAIRS
    assert (found.low, found.high) == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=2.5)
    first = estimate(PAIR_ACCURACY, [[replace(one, samples=()) for one in RECORDS]])
    assert first and found.high - found.low < first.high - first.low, "more samples tell more"


def test_the_variance_is_split_as_an_analysis_of_variance_has_it() -> None:
    values = 100.0 * (ANSWERS == "A").all(axis=1)
    within = values.var(axis=1, ddof=1).mean()
    between = values.mean(axis=1).var(ddof=1) - within / SAMPLES
    assert variances(PAIR_ACCURACY, [RECORDS]) == pytest.approx((max(between, 0), within))
    assert variances(SINGLE_ACCURACY, [RECORDS[:1]]) is None
    assert variances(SINGLE_ACCURACY, [[replace(one, samples=()) for one in RECORDS]]) is None
    # A record keeps its samples.
    for one in (*RECORDS[:5], replace(RECORDS[0], samples=(), sample=None)):
        assert Record.from_json(json.loads(json.dumps(one.to_json()))) == one
        assert GradedItem.first_of(one, None).record == replace(one, samples=())
    assert {"sample", "samples"}.isdisjoint(one.to_json())
    first, *others = RECORDS[0].each
    for samples in (others[::-1], others[1:], [*others[:-1], RECORDS[1].samples[-1]]):
        with pytest.raises(ValueError, match="Expected a record"):
            Record.from_json(replace(first, samples=tuple(samples)).to_json())


def test_a_sample_without_a_score_leaves_what_needs_it() -> None:
    def lose(item: Record) -> Record:
        lost = replace(item.samples[0], outcome=Outcome.UNSCORED, unscored_reason=UnscoredReason.FAILED, answered=None)
        return replace(item, samples=(lost, *item.samples[1:]))

    items = [lose(record(0, 0, "ABAA")), record(0, 1, "ABBA"), record(1, 0, "AABA"), record(1, 1, "AAAA")]
    scores = {metric.name: metric.score_records(items) for metric in (PAIR_ACCURACY, *over_samples(PAIR_ACCURACY))}
    assert scores == pytest.approx({
        "pair_accuracy": 100 * np.mean([2 / 3, 3 / 4]), "pair_accuracy_any_of_k": 100, "pair_accuracy_all_of_k": 0,
        "pair_accuracy_majority": 100,
    })  # fmt: skip
    assert vote(items[0]).answered == "A" and vote(record(0, 0, "CBBC")).answered == "C", "the earlier of equally many"
    assert vote(record(0, 0, "--B-")).answered == "B" and vote(record(0, 0, "----")).answered is None


def test_runs_of_other_numbers_of_samples_are_compared_by_their_means() -> None:
    single = [replace(one, samples=(), sample=None) for one in RECORDS]
    compared = compare_records({"task": single}, {"task": RECORDS}, [PAIR_ACCURACY, SINGLE_ACCURACY])
    right = ANSWERS == "A"
    assert (compared.items, compared.groups, compared.left_out) == (2 * PAIRS, PAIRS, {})
    changes = [100 * (right.all(axis=1).mean() - right[:, :, 0].all(axis=1).mean())]
    assert [one.change for one in compared.differences] == pytest.approx(
        [*changes, 100 * (right.mean() - right[:, :, 0].mean())]
    )
    voted = (np.apply_along_axis(majority, 2, ANSWERS) == "A").all(axis=1)
    first = right[:, :, 0].all(axis=1)
    assert compared.test and (compared.test.only_first, compared.test.only_second) == (
        (first & ~voted).sum(), (voted & ~first).sum(),
    )  # fmt: skip


ROW = {"item_id": "q", "options": ["w", "x", "y"], "kinds": ["1", None, "2"], "answer": "B", "question": "?"}
OPTIONS = 3
CHOSEN = np.random.default_rng(5).choice(list("AAAAB-"), size=(PAIRS, 2, OPTIONS))
"""What is chosen for each member of each pair in each order, in the letters of its own order, where A is the key."""


def ask(pair: int, member: int) -> list[Record]:
    """The records of an item's rows, as they are logged."""
    row: dict[str, Any] = {"item_id": f"{pair}.{member}", "options": list("xyz"), "answer": "A"}
    records = []
    for shown, choice in zip(Rotated().rotate(row, ("options",)), CHOSEN[pair, member], strict=True):
        meant = {"A": "x", "B": "y"}.get(choice)
        letter = "ABC"[shown["options"].index(meant)] if meant else None
        outcome = Outcome.UNPARSED if letter is None else Outcome.CORRECT if choice == "A" else Outcome.WRONG
        shown_key = Record(shown["item_id"], str(pair), {}, shown["answer"], letter, outcome, view="rotated")
        records.append(Rotated().keep(shown_key, shown, TaskKind(())))
    return records


LOGGED = [record for pair, member in product(range(PAIRS), range(2)) for record in ask(pair, member)]


def test_every_option_is_in_every_place_once_with_all_that_belongs_to_it() -> None:
    rows = list(Rotated().rotate(ROW, ("options", "kinds")))
    assert [row["item_id"] for row in rows] == ["q", "q#rotated1", "q#rotated2"]
    assert sorted(zip(*(row["options"] for row in rows), strict=True)) == [tuple("wxy"), tuple("xyw"), tuple("ywx")]
    assert [row["options"]["ABC".index(row["answer"])] for row in rows] == ["x"] * 3
    kinds = dict(zip(ROW["options"], ROW["kinds"], strict=True))
    assert all(dict(zip(row["options"], row["kinds"], strict=True)) == kinds for row in rows)
    withheld = list(Rotated().rotate({**ROW, "answer": None, "kinds": None}, ("options", "kinds")))
    assert [(row["answer"], row["kinds"]) for row in withheld] == [(None, None)] * 3
    assert list(Rotated().rotate({**ROW, "options": []}, ("options",))) == [{**ROW, "options": []}]
    # The key is replaced where it is known.
    assert NoneOfThese().replace_key(ROW) == {**ROW, "options": ["w", NoneOfThese.OPTION, "y"]}
    for row in ({**ROW, "answer": None}, {**ROW, "options": []}):
        assert NoneOfThese().replace_key(row) == row


def test_an_item_is_right_only_if_it_is_right_in_all_orders() -> None:
    records = join_samples(np.random.default_rng(0).permutation(np.array(LOGGED, dtype=object)))
    assert len(records) == 2 * PAIRS and {record.expected for record in records} == {"A"}
    right = CHOSEN == "A"
    whole = right.all(axis=2)
    assert 0 < whole.sum() < whole.size
    scores = {
        PAIR_ACCURACY: whole.all(axis=1).mean(),
        SINGLE_ACCURACY: whole.mean(),
        UNPARSED_RATE: (CHOSEN == "-").mean(),
        over_samples(SINGLE_ACCURACY)[0]: right.any(axis=2).mean(),
        over_samples(PAIR_ACCURACY)[1]: whole.all(axis=1).mean(),
        SELF_AGREEMENT: (pairs := np.roll(CHOSEN, 1, axis=2) == CHOSEN)[CHOSEN != "-"].sum() / pairs.size,
    }
    for metric, expected in scores.items():
        assert metric.score_records(records) == pytest.approx(100 * expected), metric.name
    cut = join_samples(LOGGED[: OPTIONS + 1])
    assert SINGLE_ACCURACY.score_records(cut) == 100 * whole[0, 0], "an item that lacks orders has no score"
    assert SINGLE_ACCURACY.score_records(join_samples(LOGGED[:1])) is None


def test_a_view_may_count_an_item_as_right_that_is_right_in_any_of_its_samples() -> None:
    right = (ANSWERS == "A").any(axis=2)
    records = [replace(one, across="any", needs=SAMPLES) for one in RECORDS]
    assert SINGLE_ACCURACY.score_records(records) == pytest.approx(100 * right.mean())
    assert UNPARSED_RATE.score_records(records) == UNPARSED_RATE.score_records(RECORDS), "a rate stays a mean"
    assert [bool(settle(one).correct) for one in records] == list(right.reshape(-1))
    lacking = replace(records[0], samples=records[0].samples[1:])
    assert settle(lacking).correct is None and SINGLE_ACCURACY.score_records([lacking]) is None
    assert {"across", "needs"}.isdisjoint(records[0].to_json()), "a log has rows as they were asked"

"""Options in every order and without the key: rows, and scores of what is right in all orders."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from lmms_eval_tasks.utils.scoring.compare import compare_records
from lmms_eval_tasks.utils.scoring.metrics import (
    PAIR_ACCURACY,
    SELF_AGREEMENT,
    SINGLE_ACCURACY,
    UNPARSED_RATE,
    over_samples,
)
from lmms_eval_tasks.utils.scoring.orders import NONE, join_orders, replace_key, rotate, turn_back
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

ROW = {"item_id": "q", "options": ["w", "x", "y"], "kinds": ["1", None, "2"], "answer": "B", "question": "?"}
PAIRS, OPTIONS = 20, 3
CHOSEN = np.random.default_rng(5).choice(list("AAAAB-"), size=(PAIRS, 2, OPTIONS))
"""What is chosen for each member of each pair in each order, in the letters of its own order, where A is the key."""


def ask(pair: int, member: int) -> list[Record]:
    """The records of an item's rows, as they are logged."""
    row: dict[str, Any] = {"item_id": f"{pair}.{member}", "options": list("xyz"), "answer": "A"}
    records = []
    for shown, choice in zip(rotate(row, ("options",)), CHOSEN[pair, member], strict=True):
        meant = {"A": "x", "B": "y"}.get(choice)
        letter = "ABC"[shown["options"].index(meant)] if meant else None
        outcome = Outcome.UNPARSED if letter is None else Outcome.CORRECT if choice == "A" else Outcome.WRONG
        shown_key = Record(shown["item_id"], str(pair), {}, shown["answer"], letter, outcome, view="rotated")
        records.append(turn_back(shown_key, shown))
    return records


LOGGED = [record for pair, member in product(range(PAIRS), range(2)) for record in ask(pair, member)]


def test_every_option_is_in_every_place_once_with_all_that_belongs_to_it() -> None:
    rows = list(rotate(ROW, ("options", "kinds")))
    assert [row["item_id"] for row in rows] == ["q", "q#rotated1", "q#rotated2"]
    assert sorted(zip(*(row["options"] for row in rows), strict=True)) == [tuple("wxy"), tuple("xyw"), tuple("ywx")]
    assert [row["options"]["ABC".index(row["answer"])] for row in rows] == ["x"] * 3
    kinds = dict(zip(ROW["options"], ROW["kinds"], strict=True))
    assert all(dict(zip(row["options"], row["kinds"], strict=True)) == kinds for row in rows)
    withheld = list(rotate({**ROW, "answer": None, "kinds": None}, ("options", "kinds")))
    assert [(row["answer"], row["kinds"]) for row in withheld] == [(None, None)] * 3
    assert list(rotate({**ROW, "options": []}, ("options",))) == [{**ROW, "options": []}]


def test_the_key_is_replaced_where_it_is_known() -> None:
    assert replace_key(ROW) == {**ROW, "options": ["w", NONE, "y"]}
    for row in ({**ROW, "answer": None}, {**ROW, "options": []}):
        assert replace_key(row) == row


def test_an_item_is_right_only_if_it_is_right_in_all_orders() -> None:
    records = list(join_orders(np.random.default_rng(0).permutation(np.array(LOGGED, dtype=object))))
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
    for metric in (PAIR_ACCURACY, SINGLE_ACCURACY, UNPARSED_RATE):  # as lmms-eval gathers them, row by row
        gathered = json.loads(json.dumps([metric.item(record) for record in LOGGED]))
        assert metric.score(gathered) == pytest.approx(100 * scores[metric])
    cut = list(join_orders(LOGGED[: OPTIONS + 1]))
    assert SINGLE_ACCURACY.score_records(cut) == 100 * whole[0, 0], "an item that lacks orders has no score"
    assert SINGLE_ACCURACY.score([SINGLE_ACCURACY.item(LOGGED[0])]) is None


def test_a_view_in_all_orders_is_compared_with_the_whole() -> None:
    single = [replace(record, view="", fields={}) for record in LOGGED if "#" not in record.item_id]
    compared = compare_records({"task": single}, {"task": list(join_orders(LOGGED))}, [PAIR_ACCURACY])
    first, every = (CHOSEN[:, :, 0] == "A").all(axis=1), (CHOSEN == "A").all(axis=(1, 2))
    assert compared.items == 2 * PAIRS and not compared.left_out and compared.test
    assert (compared.test.only_first, compared.test.only_second) == ((first & ~every).sum(), 0)
    assert compared.differences[0].change == pytest.approx(100 * (every.mean() - first.mean()))

"""Which records and responses are about the same item, and what is left out."""

from __future__ import annotations

import pytest
from beside_people import LETTERS, make_item, make_record

from lmms_eval_tasks.utils.people.agreement import share_items, sum_groups
from lmms_eval_tasks.utils.people.responses import UNKNOWN, AskedQuestion, Response
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, UnscoredReason

ASKED = {
    (item, version): AskedQuestion(key, LETTERS, item_id=f"{item}_{version}")
    for item, version, key in [("q", "0", "A"), ("q", "1", "B"), ("r", "0", "C"), ("s", "0", "D")]
}


def responses(*given: tuple[str, str, str, float]) -> list[Response]:
    return [Response(item, version, f"p{n}", choice, credit) for n, (item, version, choice, credit) in enumerate(given)]


def test_ids_match_and_what_does_not_is_named() -> None:
    people = responses(("q", "0", "A", 1.0), ("q", "0", UNKNOWN, 0.5), ("q", "1", "C", 0.0), ("r", "0", "C", 1.0))
    first = [
        make_record("q_0", "q", "A", "B"),
        make_record("q_1", "q", "B", None),
        make_record("r_0", "r", "A", "A"),
        make_record("s_0", "s", "D", "D"),
    ]
    unscored = Record("q_0", "q", {}, "A", None, Outcome.UNSCORED, UnscoredReason.NO_CLIP)
    shared = share_items(people, ASKED, [{"t": first}, {"t": [unscored, make_record("q_1", "q", "B", "C")]}])
    assert shared.left_out == (
        {"with another key": ("r_0",), "no person answered": ("s_0",)},
        {"unscored in the run": ("q_0",), "only people answered": ("r_0",)},
    )
    one, other = shared.items
    assert (one.record.item_id, one.share_right, one.right(0), one.right(1)) == ("q_0", 0.5, 0.0, None)
    assert one.people == (("A", 1.0), (UNKNOWN, 0.0)) and one.wrong_options == []
    assert (one.wrong_option(0), other.wrong_option(0), other.wrong_option(1)) == ("B", None, "C")
    assert (other.right(0), other.right(1), other.wrong_options) == (0.0, 0.0, ["C"])


def test_a_group_adds_one_sum_to_its_task() -> None:
    # Items 0 and 1 are one group, 2 is of another.
    items = [make_item(number, "A", "A", "A") for number in range(3)]
    assert sum_groups((item, (1.0, 10.0 * at)) for at, item in enumerate(items)) == [[(2.0, 10.0), (1.0, 20.0)]]


@pytest.mark.parametrize(
    ("question", "expected", "answered"),
    [
        (AskedQuestion("SECOND", ("FIRST", "SECOND"), item_id="i"), "forward", "backward"),
        (AskedQuestion("A", LETTERS, item_id="i"), "the red block", "the blue block"),
        (AskedQuestion("A", LETTERS, item_id="i"), None, "B"),
        (AskedQuestion(None, LETTERS, item_id="i"), "A", "B"),
        (AskedQuestion("2", (), written=True, item_id="i"), "2.0", "3"),
    ],
)
def test_a_run_that_was_asked_otherwise_is_compared_by_right_and_wrong_alone(
    question: AskedQuestion, expected: str | None, answered: str
) -> None:
    record = Record("i", "i", {}, expected, answered, Outcome.WRONG)
    (item,) = share_items(responses(("x", "", "FIRST", 0.0)), {("x", ""): question}, [{"t": [record]}]).items
    assert (item.right(0), item.share_right, item.wrong_option(0)) == (0.0, 0.0, None)


def test_case_does_not_matter_and_versions_of_one_item_come_together() -> None:
    asked = {("x", way): AskedQuestion("YES", ("YES", "NO"), item_id="x") for way in ("one", "other")}
    people = responses(("x", "one", "NO", 0.0), ("x", "other", "YES", 1.0))
    (item,) = share_items(people, asked, [{"t": [make_record("x", "x", "yes", "no")]}]).items
    assert (item.wrong_option(0), item.wrong_options, item.share_right) == ("NO", ["NO"], 0.5)

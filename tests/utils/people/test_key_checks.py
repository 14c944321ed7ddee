from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from lmms_eval_tasks.utils.people.baseline import (
    LinkCounts,
    compare_version_sets,
    compare_versions,
    count_links,
    disputed_questions,
)
from lmms_eval_tasks.utils.people.responses import Response


def responses(item: str, version: str, choices: str, key: str) -> list[Response]:
    return [
        Response(item, version, f"{version}{number}", choice, 0.5 if choice == "?" else float(choice == key))
        for number, choice in enumerate(choices)
    ]


def test_a_question_is_disputed_where_the_modal_answer_of_one_version_is_not_the_key() -> None:
    cases = {"AAB": False, "ABB": True, "AABB": False, "BBCC": True, "A??": True, "A?": False, "BCD": True}
    found = {choices: bool(disputed_questions(responses("q", "0", choices, "A"))) for choices in cases}
    assert found == cases
    both = responses("q", "0", "AAA", "A") + responses("q", "1", "BBA", "A") + responses("p", "0", "AAA", "A")
    assert disputed_questions(both) == ["q"]


def test_versions_are_tested_exactly_and_adjusted_for_their_number() -> None:
    hard = responses("q", "0", "A" * 9, "A") + responses("q", "1", "B" * 9, "A")
    even = responses("p", "0", "AAB", "A") + responses("p", "1", "AB?", "A")
    single = responses("o", "0", "AAB", "A")
    tests = compare_versions(hard + even + single)
    assert [(test.item, test.right, test.responses) for test in tests] == [("p", (2, 1), (3, 3)), ("q", (9, 0), (9, 9))]
    # 2 of the 48,620 ways to choose 9 of 18 are as extreme.
    assert tests[1].p_value == pytest.approx(2 / 48_620)
    assert tests[1].adjusted == pytest.approx(4 / 48_620) and tests[0].adjusted == tests[0].p_value == 1.0


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from("pq"), st.sampled_from("01"), st.sampled_from("AB?")), max_size=30))
def test_any_responses_are_tested(rows: Sequence[tuple[str, str, str]]) -> None:
    answered = [
        Response(item, version, str(number), choice, {"A": 1.0, "B": 0.0, "?": 0.5}[choice])
        for number, (item, version, choice) in enumerate(rows)
    ]
    for test in compare_versions(answered):
        table = [[right, total - right] for right, total in zip(test.right, test.responses, strict=True)]
        assert test.p_value == pytest.approx(fisher_exact(table).pvalue)
        assert test.p_value <= test.adjusted <= 1.0
    assert set(disputed_questions(answered)) <= {item for item, _, _ in rows}


def test_versions_are_compared_as_sets() -> None:
    right = {"MCQ": 10_079, "MCQ'": 10_111}
    responses = [
        Response(str(item), version, f"{version}{item}", "A", float(item < number))
        for version, number in right.items()
        for item in range(11_895)
    ]
    found = compare_version_sets(responses)
    assert found is not None
    assert found[0] == {version: (number, 11_895) for version, number in right.items()}
    assert round(found[1], 2) == 0.57
    assert compare_version_sets(responses[:11_895]) is None


LINKS = st.sets(st.sampled_from([(a, b) for a in "abcd" for b in "abcd" if a != b]))


def links(text: str) -> list[tuple[str, str]]:
    return [(link[0], link[1]) for link in text.split()]


def test_agreement_on_links_by_hand() -> None:
    # Of six pairs of four actions: a-b and c-d are linked in both, b-c in the prediction alone, a-d in the truth alone.
    counts = count_links(links("ab cd bc"), links("ab cd ad"), "abcd")
    assert counts == LinkCounts(hits=2, extra=1, missed=1, neither=2)
    assert (counts.precision, counts.recall, counts.f1, counts.accuracy) == pytest.approx((2 / 3, 2 / 3, 2 / 3, 4 / 6))
    # The wrong direction is a link of another pair, which the order of time does not have.
    turned = count_links(links("ba"), links("ab"), "ab")
    assert turned == LinkCounts(hits=0, extra=1, missed=1, neither=0)
    assert (turned.precision, turned.f1, turned.accuracy) == (0.0, 0.0, 0.0)


def test_what_cannot_be_said_is_none() -> None:
    nothing = count_links([], [], "abc")
    assert (nothing.precision, nothing.recall, nothing.f1, nothing.accuracy) == (None, None, None, 1.0)
    assert count_links([], [], "a").accuracy is None
    assert count_links(links("ab"), [], None).recall is None
    assert count_links(links("ab"), links("ab"), None).accuracy is None
    assert (LinkCounts(1, 0, 0, 5) + LinkCounts(1, 1, 1, None)) == LinkCounts(2, 1, 1, None)


@settings(max_examples=40)
@given(LINKS, LINKS)
def test_properties_of_the_agreement_on_links(predicted: set[tuple[str, str]], truth: set[tuple[str, str]]) -> None:
    counts = count_links(predicted, truth, "abcd")
    turned = count_links(truth, predicted, "abcd")
    assert (counts.precision, counts.recall) == (turned.recall, turned.precision)
    assert (counts.f1, counts.accuracy) == (turned.f1, turned.accuracy)
    for value in (counts.precision, counts.recall, counts.f1, counts.accuracy):
        assert value is None or 0.0 <= value <= 1.0
    if counts.precision and counts.recall:
        harmonic = 2 * counts.precision * counts.recall / (counts.precision + counts.recall)
        assert counts.f1 == pytest.approx(harmonic)
    same = count_links(truth, truth, "abcd")
    assert same.accuracy == 1.0
    assert same.f1 == (1.0 if truth else None)

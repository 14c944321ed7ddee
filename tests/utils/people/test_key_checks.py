from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from lmms_eval_tasks.utils.people.baseline import compare_version_sets, compare_versions, disputed_questions
from lmms_eval_tasks.utils.people.responses import Response


def responses(item: str, version: str, choices: str, key: str) -> list[Response]:
    return [
        Response(item, version, f"{version}{number}", choice, 0.5 if choice == "?" else float(choice == key))
        for number, choice in enumerate(choices)
    ]


@pytest.mark.parametrize(
    ("choices", "key", "disputed"),
    [
        ("AAB", "A", False),
        ("ABB", "A", True),
        ("AABB", "A", False),
        ("BBCC", "A", True),
        ("A??", "A", True),
        ("A?", "A", False),
        ("BCD", "A", True),
    ],
)
def test_a_question_is_disputed_where_its_modal_answer_is_not_the_key(choices: str, key: str, disputed: bool) -> None:
    assert disputed_questions(responses("q", "0", choices, key)) == (["q"] if disputed else [])


def test_one_disputed_version_is_enough() -> None:
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

"""People's baseline: summaries by stratum, difficulty, checks of keys, and agreement on links."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from published import TABLE_6, records
from scipy.stats import fisher_exact

from lmms_eval_tasks.utils.people.baseline import (
    LinkCounts,
    compare_version_sets,
    compare_versions,
    count_links,
    difficulty,
    disputed_questions,
    human_scores,
    question_strata,
    summarise,
)
from lmms_eval_tasks.utils.people.responses import AskedQuestion, Response, read_human_responses, read_items

EXAMPLE = Path(__file__).parent / "human_example"
EXPECTED: dict[str, Any] = json.loads((EXAMPLE / "expected.json").read_text(encoding="utf-8"))
# Of 30 annotators, how many are right: above 86.67%, 70-86.67%, 36.67-70%.
BANDS = {"easy": (27, 30), "medium": (21, 26), "hard": (11, 20)}
ANNOTATORS = 30


def test_six_questions_by_hand() -> None:
    asked = read_items(EXAMPLE / "items.csv")
    responses = read_human_responses(EXAMPLE / "responses.csv", asked)
    summaries = {one.item: one for one in summarise(responses)}
    assert list(summaries) == list(EXPECTED["questions"])
    for item, expected in EXPECTED["questions"].items():
        found = summaries[item]
        assert found.difficulty == expected["difficulty"]
        assert sum(version.responses for version in found.versions.values()) == 6
        assert found.percent_right == pytest.approx(expected["percent_right"], abs=1e-4)
        for version, said in found.versions.items():
            assert list(said.modal) == expected["modal"][version], item
            assert said.agreement == pytest.approx(expected["agreement"][version], abs=1e-4)
    for columns, expected in (
        (["type"], EXPECTED["by_type"]),
        (["type", "difficulty"], EXPECTED["by_type_and_difficulty_without_dropped"]),
    ):
        strata = question_strata(list(summaries.values()), asked, columns)
        scores = {score.name: score for score in human_scores(responses, strata)}
        assert set(scores) == {*expected, "mean over strata"}
        for name, values in expected.items():
            assert scores[name].questions == values["questions"]
            assert scores[name].percent == pytest.approx(values["percent"], abs=1e-4), name
            assert scores[name].interval[0] <= scores[name].percent <= scores[name].interval[1]


def test_bounds_of_difficulty_in_thirtieths() -> None:
    found = [difficulty(100 * right / 30) for right in (30, 27, 26, 21, 20, 11, 10, 0)]
    assert found == ["easy", "easy", "medium", "medium", "hard", "hard", "dropped", "dropped"]


def published_strata() -> dict[tuple[str, str], tuple[int, float]]:
    """The paper's strata: number of questions and human accuracy."""
    return {
        (row["category"], row["difficulty"]): (row["n"], row["value"])
        for row in records("causalvqa", TABLE_6)
        if row["model"] == "Human" and row["category"] not in ("all", "reasoning") and row["difficulty"] != "all"
    }


def annotate(
    strata: dict[tuple[str, str], tuple[int, float]], rng: np.random.Generator
) -> tuple[dict[str, tuple[str, str]], list[Response]]:
    """Questions of which as many annotators are right as the band and the stratum's mean ask; who is right is drawn."""
    questions, responses = {}, []
    for (kind, level), (number, percent) in strata.items():
        low, high = BANDS[level]
        right: NDArray[np.int64] = rng.integers(low, high + 1, size=number)
        target = round(number * ANNOTATORS * percent / 100)
        while right.sum() != target:
            step = int(np.sign(target - right.sum()))
            movable = np.flatnonzero((right + step >= low) & (right + step <= high))
            right[rng.choice(movable)] += step
        for index, count in enumerate(right.tolist()):
            item = f"{kind}-{level}-{index}"
            questions[item] = (kind, level)
            order = rng.permutation(ANNOTATORS)
            for place, annotator in enumerate(order.tolist()):
                credit = float(place < count)
                version = str(annotator % 2)
                responses.append(Response(item, version, f"p{annotator}", "A" if credit else "B", credit))
    return questions, responses


def test_annotators_built_to_the_papers_bands_give_the_papers_strata_back() -> None:
    strata = published_strata()
    assert sum(number for number, _ in strata.values()) == 793
    questions, responses = annotate(strata, np.random.default_rng(0))
    summaries = summarise(responses)
    assert {one.item: one.difficulty for one in summaries} == {item: level for item, (_, level) in questions.items()}
    asked = {(item, "0"): AskedQuestion("A", strata={"type": kind}) for item, (kind, _) in questions.items()}
    part = {item for item, (kind, _) in questions.items() if kind != "descriptive"}
    scores = {
        score.name: score
        for score in human_scores(
            responses, question_strata(summaries, asked, ["type", "difficulty"]), {"reasoning": part}
        )
    }
    for (kind, level), (number, percent) in strata.items():
        found = scores[f"{kind} {level}"]
        assert found.questions == number
        assert found.percent == pytest.approx(percent, abs=100 / (number * ANNOTATORS))
        assert found.interval[0] < percent < found.interval[1]
    # Table 6 and the introduction; the paper's aggregates are bootstraps of their own and off by up to 0.04.
    aggregates = {"all": 84.78, "easy": 95.05, "medium": 77.32, "hard": 60.05, "planning": 83.99, "reasoning": 81.43}
    for name, percent in aggregates.items():
        assert scores[name].percent == pytest.approx(percent, abs=0.1), name


def test_the_interval_is_that_of_one_human() -> None:
    # 100 questions, each right by half of its annotators: one response each is a binomial of 100.
    for annotators in (2, 30):
        responses = [
            Response(str(item), "0", f"p{person}", "A", float(person % 2))
            for item in range(100)
            for person in range(annotators)
        ]
        score = human_scores(responses, {str(item): ("x",) for item in range(100)})[-1]
        assert score.percent == 50
        assert score.interval == pytest.approx((40, 60), abs=1.1)


def test_intervals_of_small_strata_are_percentiles() -> None:
    responses = [Response(str(item), "0", "p", "A", float(item > 0)) for item in range(15)]
    (score, *_) = human_scores(responses, {str(item): ("x",) for item in range(15)})
    draws = np.random.default_rng(0).binomial(15, 14 / 15, 200_000)
    assert score.interval == pytest.approx(np.quantile(draws, (0.025, 0.975)) * 100 / 15)
    assert human_scores(responses, {str(item): (str(item % 2),) for item in range(15)})[-1].name == "mean over strata"


def test_order_of_rows_does_not_matter_and_no_questions_have_no_scores() -> None:
    assert human_scores([], {}) == human_scores([Response("q", "0", "p", "A", 1.0)], {}) == []
    asked = read_items(EXAMPLE / "items.csv")
    responses = read_human_responses(EXAMPLE / "responses.csv", asked)
    strata = question_strata(summarise(responses), asked, ["type"])
    assert human_scores(responses[::-1], strata) == human_scores(responses, strata)
    assert summarise(responses[::-1]) == summarise(responses)


def answers_of(item: str, version: str, choices: str, key: str) -> list[Response]:
    return [
        Response(item, version, f"{version}{number}", choice, 0.5 if choice == "?" else float(choice == key))
        for number, choice in enumerate(choices)
    ]


def test_a_question_is_disputed_where_the_modal_answer_of_one_version_is_not_the_key() -> None:
    cases = {"AAB": False, "ABB": True, "AABB": False, "BBCC": True, "A??": True, "A?": False, "BCD": True}
    found = {choices: bool(disputed_questions(answers_of("q", "0", choices, "A"))) for choices in cases}
    assert found == cases
    both = answers_of("q", "0", "AAA", "A") + answers_of("q", "1", "BBA", "A") + answers_of("p", "0", "AAA", "A")
    assert disputed_questions(both) == ["q"]


def test_versions_are_tested_exactly_and_adjusted_for_their_number() -> None:
    hard = answers_of("q", "0", "A" * 9, "A") + answers_of("q", "1", "B" * 9, "A")
    even = answers_of("p", "0", "AAB", "A") + answers_of("p", "1", "AB?", "A")
    single = answers_of("o", "0", "AAB", "A")
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

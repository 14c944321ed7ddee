"""People's baseline: summaries by stratum, difficulty, checks of keys, and agreement on links."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from published import TABLE_6, records
from scipy import stats

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
from lmms_eval_tasks.utils.people.responses import Response, read_human_responses, read_items

EXAMPLE = Path(__file__).parent / "human_example"
EXPECTED: dict[str, Any] = json.loads((EXAMPLE / "expected.json").read_text(encoding="utf-8"))


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
            low, high = scores[name].interval or (0.0, 100.0)
            assert low <= scores[name].percent <= high
            assert (scores[name].interval is None) is (values["questions"] == 1)


def test_the_papers_strata_give_its_aggregates() -> None:
    published = {
        (row["category"], row["difficulty"]): (row["n"], row["value"])
        for row in records("causalvqa", TABLE_6)
        if row["model"] == "Human" and row["category"] not in ("all", "reasoning") and row["difficulty"] != "all"
    }
    items = [(f"{stratum} {n}", stratum, value) for stratum, (count, value) in published.items() for n in range(count)]
    assert len(items) == 793
    part = {item for item, (kind, _), _ in items if kind != "descriptive"}
    responses = [Response(item, "0", "p", "A", percent / 100) for item, _, percent in items]
    found = human_scores(responses, {item: stratum for item, stratum, _ in items}, {"reasoning": part})
    scores = {score.name: score for score in found}
    for (kind, level), (number, percent) in published.items():
        score = scores[f"{kind} {level}"]
        assert score.questions == number and score.percent == pytest.approx(percent)
    # Table 6 and the introduction; the paper's aggregates are bootstraps of their own and off by up to 0.04.
    aggregates = {"all": 84.78, "easy": 95.05, "medium": 77.32, "hard": 60.05, "planning": 83.99, "reasoning": 81.43}
    for name, percent in aggregates.items():
        assert scores[name].percent == pytest.approx(percent, abs=0.1), name


def test_the_interval_is_that_of_one_human_and_of_few_questions_bca() -> None:
    # 100 questions, each right by half of its annotators: one response each is a binomial of 100.
    for annotators in (2, 30):
        responses = [
            Response(str(item), "0", f"p{person}", "A", float(person % 2))
            for item in range(100)
            for person in range(annotators)
        ]
        strata = {str(item): ("x",) for item in range(100)}
        score = human_scores(responses, strata)[-1]
        assert score.interval is not None
        assert (score.percent, *score.interval) == pytest.approx((50, 40, 60), abs=1.1)
    assert human_scores(responses[::-1], strata) == human_scores(responses, strata)
    assert summarise(responses[::-1]) == summarise(responses)
    # One wrong question: scipy's BCa, and from 30 questions on the percentiles of the draws.
    for number in (15, 29, 30):
        right = np.arange(number) > 0
        responses = [Response(str(item), "0", "p", "A", float(is_right)) for item, is_right in enumerate(right)]
        (score, *_) = human_scores(responses, {str(item): ("x",) for item in range(number)})
        method = "BCa" if number < 30 else "percentile"
        drawn = stats.bootstrap((100.0 * right,), np.mean, n_resamples=50_000, method=method, random_state=0)
        # Draws differ by one answer at most; the two methods by two or more.
        assert score.interval == pytest.approx(tuple(drawn.confidence_interval), abs=101 / number), number
    # Half of the people are right about one question: no other question says how much questions differ.
    both = [Response("0", "0", f"p{person}", "A", float(person)) for person in (0, 1)]
    (score, *_) = human_scores(both, {"0": ("x",)})
    assert (score.percent, score.interval) == (50.0, None)
    assert score.number("%", 2).text == "50.00 (no interval)"
    responses = [Response(str(item), "0", "p", "A", float(item > 0)) for item in range(15)]
    assert human_scores(responses, {str(item): (str(item % 2),) for item in range(15)})[-1].name == "mean over strata"
    assert human_scores([], {}) == human_scores(responses, {}) == []
    found = [difficulty(100 * right / 30) for right in (30, 27, 26, 21, 20, 11, 10, 0)]
    assert found == ["easy", "easy", "medium", "medium", "hard", "hard", "dropped", "dropped"]


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
    tests = compare_versions(hard + even + answers_of("o", "0", "AAB", "A"))
    assert [(test.item, test.right, test.responses) for test in tests] == [("p", (2, 1), (3, 3)), ("q", (9, 0), (9, 9))]
    # 2 of the 48,620 ways to choose 9 of 18 are as extreme.
    assert tests[1].p_value == pytest.approx(2 / 48_620)
    assert tests[1].adjusted == pytest.approx(4 / 48_620) and tests[0].adjusted == tests[0].p_value == 1.0
    # And as sets.
    right = {"MCQ": 10_079, "MCQ'": 10_111}
    responses = [
        Response(str(item), version, f"{version}{item}", "A", float(item < number))
        for version, number in right.items()
        for item in range(11_895)
    ]
    found = compare_version_sets(responses)
    assert found is not None and round(found[1], 2) == 0.57
    assert found[0] == {version: (number, 11_895) for version, number in right.items()}
    assert compare_version_sets(responses[:11_895]) is None


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
    nothing = count_links([], [], "abc")
    assert (nothing.precision, nothing.recall, nothing.f1, nothing.accuracy) == (None, None, None, 1.0)
    assert count_links([], [], "a").accuracy is count_links(links("ab"), [], None).recall is None
    assert count_links(links("ab"), links("ab"), None).accuracy is None
    assert (LinkCounts(1, 0, 0, 5) + LinkCounts(1, 1, 1, None)) == LinkCounts(2, 1, 1, None)

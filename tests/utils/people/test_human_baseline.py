from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from published import TABLE_6, records

from lmms_eval_tasks.utils.people.baseline import difficulty, human_scores, question_strata, summarise
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


def test_annotators_who_vary_give_the_difficulty_back_but_for_the_borders() -> None:
    rng = np.random.default_rng(1)
    chances = {"easy": 0.97, "medium": 0.78, "hard": 0.52}
    truth, responses = {}, []
    for level, chance in chances.items():
        for index in range(100):
            truth[f"{level}{index}"] = level
            for annotator, right in enumerate(rng.random(ANNOTATORS) < chance):
                choice = "A" if right else "B"
                responses.append(Response(f"{level}{index}", str(annotator % 2), f"p{annotator}", choice, float(right)))
    summaries = summarise(responses)
    found = np.mean([one.difficulty == truth[one.item] for one in summaries])
    assert found > 0.8
    scores = {score.name: score for score in human_scores(responses, {item: (truth[item],) for item in truth})}
    for level, chance in chances.items():
        assert scores[level].percent == pytest.approx(100 * chance, abs=3)


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

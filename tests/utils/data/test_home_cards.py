"""Facts of the cards that must agree with each other."""

from __future__ import annotations

from collections import Counter

import pytest

from lmms_eval_tasks.registry import read_card, registry


@pytest.mark.parametrize("benchmark", ["causalvqa", "mvp"])
def test_items_groups_and_strata_agree(benchmark: str) -> None:
    card = read_card(benchmark)
    assert (card.name, benchmark in registry().benchmarks) == (benchmark, True)
    for split, facts in card.splits.items():
        assert facts.items == 2 * facts.groups
        assert all(len(stratum) == len(card.strata_columns) for stratum in facts.strata)
        total = sum(facts.strata.values())
        assert total == facts.groups or (benchmark, split) == ("mvp", "full")


def test_causalvqa_totals_are_those_of_the_paper() -> None:
    by_type: Counter[str] = Counter()
    by_difficulty: Counter[str] = Counter()
    for (kind, difficulty), pairs in read_card("causalvqa").splits["test"].strata.items():
        by_type[kind] += pairs
        by_difficulty[difficulty] += pairs
    assert by_difficulty == {"easy": 454, "medium": 215, "hard": 124}
    assert by_type == {
        "anticipation": 208,
        "counterfactual": 89,
        "descriptive": 288,
        "hypothetical": 67,
        "planning": 141,
    }

"""Rules that choose an option by its text: what they choose, and what they score."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_tasks.utils.scoring.shortcuts import (
    FREQUENT_ANSWER,
    ChoiceItem,
    Shortcut,
    ShortcutScore,
    chance,
    constant_shortcuts,
    same_choice,
    score_shortcut,
    shared_ngrams,
    text_shortcuts,
)

OPTIONS = ("it falls", "it rolls away", "it stays", "it rolls back")


def item(group: object, options: tuple[str, ...], key: int | None, question: str = "", stratum: str = "") -> ChoiceItem:
    return ChoiceItem(str(group), (stratum,), question, options, key)


def rule(name: str, items: list[ChoiceItem]) -> Shortcut:
    (one,) = [one for one in text_shortcuts(items) if one.name == name]
    return one


def values(score: ShortcutScore) -> tuple[float | None, float | None, float | None]:
    single, pair = (None if one is None else one.value for one in (score.single, score.pair))
    return single, pair, score.removed


def test_every_rule_on_four_questions() -> None:
    # Two pairs: the longest option is the key three times, once in a pair that is wholly right.
    items = [
        item("p", ("short", "the longest"), 1, "Which is the longest?"),
        item("p", ("a longer one", "short"), 0, "Which is short?"),
        item("q", ("short", "the longest"), 0, "Which is short?"),
        item("q", ("of medium length", "short"), 0, "Which is of medium length?"),
    ]
    scores = {one.name: values(score_shortcut(one, items, 2)) for one in text_shortcuts(items)}
    assert scores == {
        "always A": (75.0, 50.0, pytest.approx(100 / 3)),
        "always B": (25.0, 0.0, 100.0),
        "longest option": (75.0, 50.0, pytest.approx(100 / 3)),
        "shortest option": (25.0, 0.0, 100.0),
        # The other pair's keys mislead three times and say nothing of the last question.
        "most frequent answer": (12.5, 0.0, 100.0),
        "most like the question": (75.0, 50.0, pytest.approx(100 / 3)),
        "least like the question": (25.0, 0.0, 100.0),
    }
    assert values(chance(items, 2)) == (50.0, 25.0, 50.0)


def test_the_frequent_answer_is_that_of_other_groups_of_the_stratum() -> None:
    def of(group: str, key: int, stratum: str) -> ChoiceItem:
        return item(group, ("Left", "right"), key, stratum=stratum)

    items = [of("1", 0, "x"), of("2", 0, "x"), of("3", 1, "x"), of("4", 1, "y"), of("4", 1, "y")]
    # 1 and 2: one of each elsewhere, a tie. 3: left twice elsewhere. 4: nothing elsewhere, though right twice in it.
    assert FREQUENT_ANSWER.choose(items) == [(0.5, 0.5), (0.5, 0.5), (1.0, 0.0), (0.5, 0.5), (0.5, 0.5)]
    again = [*items, item("5", ("RIGHT ", "left"), 1, stratum="x")]
    assert FREQUENT_ANSWER.choose(again)[2] == (1.0, 0.0) and FREQUENT_ANSWER.choose(again)[5] == (0.0, 1.0)


def test_overlap_counts_words_and_pairs_of_words() -> None:
    question = "Does the red ball hit the blue ball?"
    # red, ball, (red ball), of yes, red, ball, (yes red), (red ball).
    shared = {"The red ball.": 1.0, "yes: RED ball": 3 / 5, "ball red": 2 / 3, "…": 0.0, "no": 0.0}
    assert {text: shared_ngrams(text, question) for text in shared} == shared
    items = [item(number, ("no", "yes"), int(number > 0)) for number in range(4)]
    scores = {one.name: values(score_shortcut(one, items, None))[0] for one in constant_shortcuts(items)}
    assert scores == {"always no": 25.0, "always yes": 75.0, "most frequent answer": 75.0}
    # A place that an item lacks is no answer.
    items = [item("p", ("a", "b"), 0), item("q", ("a", "b", "c"), 2)]
    score = score_shortcut(rule("always C", items), items, None)
    assert (values(score), score.decided) == ((50.0, None, None), 50.0)


ITEM = st.permutations(OPTIONS).flatmap(
    lambda options: st.tuples(st.just(tuple(options[:3])), st.integers(0, 2), st.sampled_from(OPTIONS))
)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.lists(st.tuples(ITEM, ITEM), min_size=1, max_size=5).map(
        lambda found: [item(number, *one) for number, pair in enumerate(found) for one in pair]
    ),
    st.sampled_from(["longest option", "most frequent answer", "most like the question", "always B"]),
)
def test_scores_are_the_mean_over_every_way_to_break_ties(items: list[ChoiceItem], name: str) -> None:
    score = score_shortcut(rule(name, items), items, 2)
    choices = rule(name, items).choose(items)
    single = [choice[one.key] for one, choice in zip(items, choices, strict=True) if one.key is not None]
    assert score.single is not None and score.single.value == pytest.approx(100 * sum(single) / len(single))
    pair = []
    for at in range(0, len(items), 2):
        first, second = items[at : at + 2]
        chances = [dict(zip(one.options, choices[at + side], strict=True)) for side, one in enumerate((first, second))]
        alike = first.question == second.question and chances[0] == chances[1]
        keys = [one.options[one.key or 0] for one in (first, second)]
        ways = [(one, one) for one in chances[0]] if alike else list(product(*chances))
        weights = [chances[0][one] if alike else chances[0][one] * chances[1][two] for one, two in ways]
        pair.append(math.fsum(weight for way, weight in zip(ways, weights, strict=True) if list(way) == keys))
    assert score.pair is not None and score.pair.value == pytest.approx(100 * sum(pair) / len(pair))
    assert 0 <= score.pair.low <= score.pair.value <= score.pair.high <= 100
    if not name.startswith("always"):  # the order of options and items is nothing to a rule of texts
        turned = [replace(one, options=one.options[::-1], key=2 - (one.key or 0)) for one in items[::-1]]
        assert values(score_shortcut(rule(name, turned), turned, 2)) == pytest.approx(values(score))


def test_items_without_a_key_and_incomplete_groups_leave_the_scores() -> None:
    items = [item("p", ("a", "b"), 0), item("p", ("c", "d"), None), item("q", ("e", "f"), 0), item("q", ("g", "h"), 0)]
    score = score_shortcut(rule("always A", items), items, 2)
    assert score.single is not None and (score.single.value, score.single.groups) == (100.0, 2)
    assert score.pair is not None and (score.pair.value, score.pair.groups) == (100.0, 1)
    alone = score_shortcut(rule("always A", items), items, None)
    assert (alone.pair, alone.removed) == (None, None)
    withheld = [item("p", ("a", "b"), None), item("p", ("a", "c"), None)]
    assert values(score_shortcut(rule("always A", withheld), withheld, 2)) == (None, None, None)
    assert same_choice(rule("always A", withheld), withheld, 2) == 100.0
    assert same_choice(rule("always B", withheld), withheld, 2) == 0.0
    # The same choice where both tie is a matter of chance: a quarter each that both take a.
    assert same_choice(rule("longest option", withheld), withheld, 2) == 25.0

"""Nobody scores far above chance on the sample without watching it."""

from collections import Counter

import numpy as np
import pytest

from lmms_eval_tasks.sample.solver import decode

pytestmark = pytest.mark.slow  # the sample is filmed first

CHANCE = {"causalvqa": 0.2, "mvp": 0.5}


def always(position):
    return lambda item, items: position


def longest(item, items):
    return max(range(len(item.options)), key=lambda i: len(item.options[i]))


def shortest(item, items):
    return min(range(len(item.options)), key=lambda i: len(item.options[i]))


def most_frequent_elsewhere(item, items):
    """The option whose text is right most often among the other questions of its kind."""
    others = Counter(right(other) for other in items if other.kind == item.kind and other.group != item.group)
    return max(range(len(item.options)), key=lambda i: others[item.options[i]])


def most_frequent_offer(item, items):
    """The option whose text is offered most often."""
    offers = Counter(option for other in items for option in other.options)
    return max(range(len(item.options)), key=lambda i: offers[item.options[i]])


def right(item):
    return item.options["ABCDE".index(item.answer)]


@pytest.mark.parametrize("benchmark", CHANCE)
@pytest.mark.parametrize(
    "guess", [always(0), always(1), longest, shortest, most_frequent_elsewhere, most_frequent_offer]
)
def test_text_alone_is_worth_no_more_than_chance(items, benchmark, guess):
    asked = [item for item in items if item.benchmark == benchmark]
    accuracy = np.mean([guess(item, asked) == "ABCDE".index(item.answer) for item in asked])
    noise = np.sqrt(CHANCE[benchmark] * (1 - CHANCE[benchmark]) / len({item.group for item in asked}))
    assert accuracy < CHANCE[benchmark] + 2.5 * noise


def test_the_right_option_is_at_every_place_equally_often(items):
    for version in (1, 2):
        places = Counter(i.answer for i in items if i.benchmark == "causalvqa" and i.version == version)
        assert set(places.values()) == {8}
    assert set(Counter(item.answer for item in items if item.benchmark == "mvp").values()) == {32}


def test_mean_colour_does_not_tell_the_clips_of_a_pair_apart(items):
    asked = [item for item in items if item.benchmark == "mvp"]
    colours = {item: decode(item.clip).mean(axis=(0, 1, 2)) for item in asked}
    pairs: dict[str, list[bool]] = {}
    for item in asked:
        others = [other for other in asked if other.question[:9] == item.question[:9] and other.group != item.group]
        nearest = min(others, key=lambda other: float(np.abs(colours[other] - colours[item]).sum()))
        said = right(nearest) if right(nearest) in item.options else item.options["ABCDE".index(nearest.answer)]
        pairs.setdefault(item.group, []).append(said == right(item))
    single = np.mean([hit for pair in pairs.values() for hit in pair])
    assert 0.3 < single < 0.7
    assert np.mean([all(pair) for pair in pairs.values()]) < 0.25 + 2.5 * np.sqrt(0.25 * 0.75 / len(pairs))


def test_clips_of_a_pair_look_the_same_at_a_glance(items):
    pairs: dict[str, list[np.ndarray]] = {}
    for item in items:
        if item.benchmark == "mvp":
            pairs.setdefault(item.group, []).append(decode(item.clip).mean(axis=(0, 1, 2)))
    assert max(np.abs(one - other).max() for one, other in pairs.values()) < 4

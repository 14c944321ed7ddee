"""The solver is right on every item, by the pixels alone, and nobody is far above chance without watching."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lmms_eval_tasks.sample.solver import CANNOT_TELL, decode, solve
from lmms_eval_tasks.utils.data.clips import write_placeholder

pytestmark = pytest.mark.slow

Items = list[Any]
"""As tests/sample/conftest.py has them."""

LETTERS = "ABCDEF"
# The laws of these two are the same in both directions of time.
SYMMETRIC = {"intphys", "inflevel"}


def right(item: Any) -> str:
    """The text of the right option."""
    return item.options[LETTERS.index(item.answer)]


def said(item: Any, clip: Path | None = None, **rest: Any) -> str:
    return solve(item.question, item.options, clip or item.clip, **rest)


@pytest.fixture(scope="module")
def causal(items: Items) -> Items:
    return [item for item in items if item.benchmark == "causalvqa" and item.version == 1]


@pytest.fixture(scope="module")
def pairs(items: Items) -> list[Items]:
    """The items of MVP by their pairs."""
    grouped: defaultdict[str, Items] = defaultdict(list)
    for item in items:
        if item.benchmark == "mvp":
            grouped[item.group].append(item)
    return list(grouped.values())


@pytest.fixture(scope="module")
def colours(items: Items) -> dict[Any, Any]:
    """The mean colour of each clip of MVP."""
    return {item: decode(item.clip).mean(axis=(0, 1, 2)) for item in items if item.benchmark == "mvp"}


def test_every_answer_is_right_in_any_order_of_options_and_by_the_pixels_alone(items: Items, tmp_path: Path) -> None:
    assert [item for item in items if said(item) != item.answer] == []
    for number, item in enumerate(items[::8]):
        copy = Path(shutil.copy(item.clip, tmp_path / f"{number}.mp4"))
        backwards = item.options[::-1]
        assert backwards[LETTERS.index(solve(item.question, backwards, copy))] == right(item)


def test_what_cannot_be_seen_is_not_guessed(items: Items, tmp_path: Path) -> None:
    for question in ("Why is the sky blue?", "", "Which object sets the brown ball in motion?"):
        assert solve(question, ("The red ball", "The blue block"), items[0].clip) == CANNOT_TELL
    write_placeholder(tmp_path / "black.mp4")
    for item in items[::5]:
        assert said(item, tmp_path / "black.mp4") == CANNOT_TELL
        rest = [option for option in item.options if option != right(item)]
        assert solve(item.question, rest, item.clip) == CANNOT_TELL or item.benchmark == "mvp"
    assert not set(CANNOT_TELL.replace("I ", "").split()) & set(LETTERS)


def test_a_reversed_clip_or_a_strangers_is_not_answered_rightly(causal: Items, pairs: list[Items]) -> None:
    assert not [item for item in causal if said(item, reverse=True) == item.answer]
    strangers = zip(causal, causal[1:] + causal[:1], strict=True)
    assert sum(said(item, stranger.clip) == item.answer for item, stranger in strangers) / len(causal) < 0.2
    whole = {pair[0].kind for pair in pairs if all(said(item, reverse=True) == item.answer for item in pair)}
    assert whole == SYMMETRIC
    for one, other in pairs:
        assert said(one, other.clip) == other.answer != one.answer


def most(score: Callable[[str], Any]) -> Callable[[Any, Items], int]:
    return lambda item, items: max(range(len(item.options)), key=lambda place: score(item.options[place]))


def most_frequent_elsewhere(item: Any, items: Items) -> int:
    """The option whose text is right most often among the other questions of its kind."""
    others = Counter(right(other) for other in items if other.kind == item.kind and other.group != item.group)
    return max(range(len(item.options)), key=lambda place: others[item.options[place]])


def most_frequent_offer(item: Any, items: Items) -> int:
    offers = Counter(option for other in items for option in other.options)
    return max(range(len(item.options)), key=lambda place: offers[item.options[place]])


GUESSES: dict[str, Callable[[Any, Items], int]] = {
    "first": lambda item, items: 0,
    "second": lambda item, items: 1,
    "last": lambda item, items: len(item.options) - 1,
    "longest": most(len),
    "shortest": most(lambda option: -len(option)),
    "right elsewhere": most_frequent_elsewhere,
    "offered most": most_frequent_offer,
}


def test_text_alone_is_worth_no_more_than_chance(items: Items, more_evidence: Items) -> None:
    for benchmark in ("causalvqa", "mvp", "cast_bench"):
        asked = [item for item in (*items, *more_evidence) if item.benchmark == benchmark]
        chance = np.mean([1 / len(item.options) for item in asked])
        noise = np.sqrt(chance * (1 - chance) / len({item.group for item in asked}))
        for name, guess in GUESSES.items():
            accuracy = np.mean([guess(item, asked) == LETTERS.index(item.answer) for item in asked])
            assert accuracy < chance + 2.5 * noise, (benchmark, name)
    places = Counter((item.benchmark, item.version, item.answer) for item in items)
    assert {(key[0], count) for key, count in places.items() if key[0] == "causalvqa"} == {("causalvqa", 8)}
    assert Counter(item.answer for item in items if item.benchmark == "mvp") == {"A": 32, "B": 32}


def test_mean_colour_does_not_tell_the_clips_of_a_pair_apart(pairs: list[Items], colours: dict[Any, Any]) -> None:
    assert max(np.abs(colours[one] - colours[other]).max() for one, other in pairs) < 4
    hits = []
    for pair in pairs:
        for item in pair:
            others = [o for o in colours if o.question[:9] == item.question[:9] and o.group != item.group]
            nearest = min(others, key=lambda other: float(np.abs(colours[other] - colours[item]).sum()))
            alike = right(nearest) in item.options
            hits.append((right(nearest) if alike else item.options[LETTERS.index(nearest.answer)]) == right(item))
    both = [one and other for one, other in zip(hits[::2], hits[1::2], strict=True)]
    assert 0.3 < np.mean(hits) < 0.7
    assert np.mean(both) < 0.25 + 2.5 * np.sqrt(0.25 * 0.75 / len(pairs))

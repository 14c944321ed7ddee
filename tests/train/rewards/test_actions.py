"""Which phrases name an action of a clip, and which do not."""

from __future__ import annotations

import pytest

from lmms_eval_tasks.train.rewards.graph_rewards import ABSENT, ActionFinder
from lmms_eval_tasks.train.rewards.reward_sample import RewardSample

ACTIONS = (
    "C takes eggs from the fridge",
    "C cracks the eggs into a bowl",
    "C pours the egg mixture into the hot pan",
    "The midfielder passes the ball to the winger",
    "The winger crosses the ball into the penalty area",
    "C turns on the light",
    "C folds the omelette",
    "opens the boxes",
    "The man feels the felt hat",
    "C looks at the phone on the table",
    "The boxes fall over",
    "The front wheel lifts off the ground",
    "A box drops onto the road",
    "C cuts the onion",
    "C cuts the onion",
)
FIND = ActionFinder(RewardSample(actions=ACTIONS, absent="C salts the eggs")).find


@pytest.mark.parametrize(
    ("phrase", "place"),
    [
        (ACTIONS[0], 0),
        ("taking the eggs from the fridge", 0),
        ("C took eggs", 0),
        ("takes eggs", 0),
        ("he has taken the eggs", 0),
        ("The camera wearer cracks the eggs", 1),
        ("the camera-wearer cracked the eggs in a bowl.", 1),
        ("Cracking eggs into the bowl", 1),
        ("C pours the mixture into the pan", 2),
        ("pouring the egg mixture in the hot pan", 2),
        ("the midfielder passed the ball", 3),
        ("passing the ball to the winger", 3),
        ("the winger crosses the ball", 4),
        ("turning on the light", 5),
        ("turns the light", 5),
        ("C's folding the omelette", 6),
        ("opened the boxes", 7),
        ("the man felt the felt hat", 8),
        ("the man feels the hat", 8),
        ("looks at the phone", 9),
        ("the boxes fell", 10),
        ("the front wheel lifts", 11),
        ("lifting off the ground", 11),
        ("a box drops", 12),
        ("C salted the eggs", ABSENT),
    ],
)
def test_the_action_that_is_named(phrase: str, place: int) -> None:
    assert FIND(phrase) == {place}


@pytest.mark.parametrize(
    "phrase",
    [
        "C takes milk from the fridge",
        "C takes eggs from the box",
        "C cracks the plates into a bowl",
        "C drops the eggs",
        "the winger passes the ball to the midfielder",
        "C passes the ball to the winger",
        "somebody takes eggs from the fridge",
        "C does not take eggs from the fridge",
        "C never folds the omelette",
        "perhaps C folds the omelette",
        "C might fold the omelette",
        "C tries to fold the omelette",
        "folds",
        "C folds",
        "the omelette",
        "C looks",
        "lifts",
        "the boxes",
        "eggs",
        "C",
        "",
        "?!",
        "takes cracks",
        "the fridge takes the eggs",
        "C takes eggs and cracks eggs",
        "egg mixture",
        "C pours",
        "into the hot pan",
        "C takes eggs from the fridge " * 3,
        "C plie l'omelette",
        "action 1",
        "a" * 100,
        "omelette the folds C",
    ],
)
def test_what_names_no_action(phrase: str) -> None:
    assert FIND(phrase) == frozenset()


def test_actions_with_the_same_words_are_all_meant() -> None:
    assert FIND("cutting the onion") == {13, 14}


def test_a_phrase_for_several_actions_names_none_but_the_one_it_is_word_for_word() -> None:
    find = ActionFinder(RewardSample(actions=("C opens the door", "C opens the door of the car", "C shuts it"))).find
    assert find("C opens the door") == {0} and find("opens the door of the car") == {1}
    assert find("opening the door") == frozenset()


def test_without_actions_nothing_is_named() -> None:
    assert ActionFinder(RewardSample(actions=("", "the"))).find("the") == frozenset()

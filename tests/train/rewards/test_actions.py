"""Which phrases name an action of a clip, and which do not."""

from __future__ import annotations

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


NAMED = """
0: C takes eggs from the fridge
0: taking the eggs from the fridge
0: C took eggs
0: takes eggs
0: he has taken the eggs
1: The camera wearer cracks the eggs
1: the camera-wearer cracked the eggs in a bowl.
1: Cracking eggs into the bowl
2: C pours the mixture into the pan
2: pouring the egg mixture in the hot pan
3: the midfielder passed the ball
3: passing the ball to the winger
4: the winger crosses the ball
5: turning on the light
5: turns the light
6: C's folding the omelette
7: opened the boxes
8: the man felt the felt hat
8: the man feels the hat
9: looks at the phone
10: the boxes fell
11: the front wheel lifts
11: lifting off the ground
12: a box drops
"""
NOT_NAMED = """
C takes milk from the fridge
C takes eggs from the box
C cracks the plates into a bowl
C drops the eggs
the winger passes the ball to the midfielder
C passes the ball to the winger
somebody takes eggs from the fridge
C does not take eggs from the fridge
C never folds the omelette
perhaps C folds the omelette
C might fold the omelette
C tries to fold the omelette
folds
C folds
the omelette
C looks
lifts
the boxes
eggs
C
?!
takes cracks
the fridge takes the eggs
C takes eggs and cracks eggs
egg mixture
C pours
into the hot pan
C plie l'omelette
action 1
omelette the folds C
"""


def test_phrases_name_the_action_whose_words_they_have_and_no_other() -> None:
    named = [line.split(": ") for line in NAMED.strip().splitlines()]
    wrong = [phrase for place, phrase in named if FIND(phrase) != {int(place)}]
    others = [*NOT_NAMED.strip().splitlines(), "", "C takes eggs from the fridge " * 3, "a" * 100]
    assert not wrong and not [phrase for phrase in others if FIND(phrase)]
    assert FIND("C salted the eggs") == {ABSENT}
    assert FIND("cutting the onion") == {13, 14}, "actions with the same words are all meant"
    assert ActionFinder(RewardSample(actions=("", "the"))).find("the") == frozenset()


def test_a_phrase_for_several_actions_names_none_but_the_one_it_is_word_for_word() -> None:
    find = ActionFinder(RewardSample(actions=("C opens the door", "C opens the door of the car", "C shuts it"))).find
    assert find("C opens the door") == {0} and find("opens the door of the car") == {1}
    assert find("opening the door") == frozenset()

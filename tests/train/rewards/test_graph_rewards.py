"""What answers in the form earn, and which phrases name an action of a clip."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lmms_eval_tasks.train.rewards.answer_form import LinkClaim, expected_verdict, write_answer
from lmms_eval_tasks.train.rewards.best_answer import best_answer
from lmms_eval_tasks.train.rewards.functions import graph_reward, verdict_reward, weighted_mean
from lmms_eval_tasks.train.rewards.graph_rewards import (
    ABSENT,
    ActionFinder,
    causal_reward,
    has_more_to_say,
    visual_reward,
)
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
    "C stirs the sauce slowly",
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
15: stirring the sauce
15: C stirred the sauce slowly
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
C stirs slowly
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


TAP, CUP, TEA, SONG, SIP = "C opens the tap", "C fills the cup", "C brews the tea", "C hums a song", "C sips the tea"
CHAIN = RewardSample(
    actions=(TAP, CUP, TEA, SONG, SIP),
    ids=("a", "b", "c", "d", "e"),
    links=frozenset({(0, 1), (1, 2), (2, 4)}),
    intervened=0,
    queried=2,
    key="no",
    question="Had C not opened the tap, would C still have brewed the tea?",
)
ASIDE = replace(
    CHAIN, intervened=3, queried=4, key="yes", question="Had C not hummed, would C still have sipped the tea?"
)
NEVER = replace(ASIDE, intervened=None, absent="C sneezes", question="Had C not sneezed, would C have sipped the tea?")


TAKEN_BACK = (
    "No. Yes.", "No.yes", "No (yes)", "No => Yes", "No, not really", "No. False.", "No. I changed my mind.",
    "No. It happens anyway.", "No. \u0423\u0435\u0455", "No, yes, yes.", "No. On second thought, yes.",
    "No. They are independent of each other.", "No. That answer is incorrect.", "No. I meant yes.",
    "No. Or rather yes.",
    "No, said nobody.", "No. I was wrong.", "No? Yes!", "No. Both are possible.", "No with 10% confidence.",
    # What is right and more is no verdict either.
    "No. Without the water there is no tea.", "No!", "**No**",
)  # fmt: skip


def answer(*claims: str, end: str = "conclusion: no", says: str = "No.") -> str:
    return "<think>\n<claims>\n{}\n</claims></think><answer>{}</answer>".format("\n".join((*claims, end)), says)


def yes(*claims: str) -> str:
    return answer(*claims, end="conclusion: yes", says="Yes.")


FIRST, SECOND = f"link: {TAP} -> {CUP}", f"link: {CUP} -> {TEA}"


@pytest.mark.parametrize(
    ("claims", "reward"),
    [
        ((FIRST, SECOND), 1.0),
        ((FIRST, SECOND, f"link: {TEA} -> {SIP}", f"link: {TAP} -> {SIP}", f"no link: {SONG} -> {TEA}"), 1.0),
        ((FIRST, SECOND, FIRST.upper()), 1.0),
        ((FIRST,), 2 / 3),
        ((f"link: {TAP} -> {TEA}",), 0.3),
        ((f"link: {TAP} -> {TEA}", FIRST), 2 / 3),
        ((f"link: {TEA} -> {SIP}",), 0.0),
        ((), 0.0),
        ((FIRST, SECOND, f"link: {SONG} -> {TEA}"), 0.5 * 0.8),
        ((FIRST, SECOND, f"link: {SONG} -> {TEA}", f"link: {TEA} -> {CUP}"), 0.2 * 2 / 3),
        ((FIRST, SECOND, "link: C opens the door -> C fills the cup"), 0.5 * 0.8),
        ((FIRST, SECOND, "happened: C opens the door"), 0.5 * 0.8),
        ((FIRST, SECOND, "and so on"), 0.5 * 0.8),
        ((FIRST, SECOND, f"link: {CUP} -> {CUP}"), 0.5 * 0.8),
        ((FIRST, SECOND, f"no link: {CUP} -> {TEA}"), 0.5 * 0.5),
        ((FIRST, SECOND, f"no link: {TAP} -> {SIP}"), 0.5 * 0.8),
    ],
)
def test_links_of_a_path(claims: tuple[str, ...], reward: float) -> None:
    assert causal_reward(answer(*claims), CHAIN) == pytest.approx(reward)


@pytest.mark.parametrize(
    ("claims", "reward"),
    [
        ((f"no link: {SONG} -> {SIP}", f"link: {TEA} -> {SIP}"), 1.0),
        # The verdict says so already.
        ((f"no link: {SONG} -> {SIP}",), 0.0),
        ((f"link: {TEA} -> {SIP}",), 1.0),
        ((f"link: {CUP} -> {SIP}",), 0.0),
        ((f"link: {SONG} -> {SIP}", f"link: {TEA} -> {SIP}"), 0.5 * 2 / 3),
        ((f"no link: {SONG} -> {SIP}", f"link: {TEA} -> {SIP}", f"link: {CUP} -> {TAP}"), 0.5 * 2 / 3),
    ],
)
def test_links_of_what_the_outcome_depends_on(claims: tuple[str, ...], reward: float) -> None:
    assert causal_reward(yes(*claims), ASIDE) == pytest.approx(reward)


def test_an_action_that_never_happened() -> None:
    cause = f"link: {TEA} -> {SIP}"
    assert causal_reward(yes(cause), NEVER) == 1.0
    assert causal_reward(yes(cause, f"no link: C sneezes -> {SIP}"), NEVER) == 1.0
    named = answer(cause, end="conclusion: yes, C never sneezes", says="Yes. C never sneezes.")
    assert causal_reward(named, NEVER) == 0.1
    for wrong in (f"link: C sneezes -> {SIP}", "happened: C sneezes"):
        assert causal_reward(yes(cause, wrong), NEVER) == pytest.approx(0.5 * 2 / 3)
    assert causal_reward(yes(f"no link: C sneezes -> {SIP}"), NEVER) == 0.0


@pytest.mark.parametrize(
    ("end", "says"),
    [
        ("conclusion: yes", "Yes."),
        ("conclusion: no", "Yes."),
        ("conclusion: yes", "No."),
        ("", "No."),
        ("conclusion: no", ""),
        ("conclusion: no\nconclusion: yes", "No."),
        ("conclusion: no", "No. C would still have brewed the tea."),
        ("conclusion: no", "No. Wait, actually yes."),
        ("conclusion: no", "It would not have happened."),
        ("conclusion: maybe", "No."),
        ("conclusion: no", "No and yes."),
        ("conclusion: no", "Not no."),
        *(("conclusion: no", says) for says in TAKEN_BACK),
        ("conclusion: no. yes", "No."),
    ],
)
def test_a_wrong_end_earns_a_tenth_at_most(end: str, says: str) -> None:
    text = answer(f"happened: {TAP}", f"happened: {CUP}", f"happened: {TEA}", FIRST, SECOND, end=end, says=says)
    assert causal_reward(text, CHAIN) == graph_reward(text, CHAIN) == 0.1
    assert visual_reward(text, CHAIN) == 1.0


def test_a_verdict_with_any_word_beside_it_is_not_paid() -> None:
    assert verdict_reward("<answer>No.</answer>", CHAIN) == 1.0
    for says in TAKEN_BACK:
        assert verdict_reward(f"<answer>{says}</answer>", CHAIN) == verdict_reward(says, CHAIN) == 0.0, says
    assert [expected_verdict(replace(CHAIN, key=key)) for key in ("No", " yes", "B", None)] == ["no", "yes", "no", "no"]
    assert expected_verdict(replace(ASIDE, key=None)) == "yes" and expected_verdict(RewardSample()) is None


def test_the_sum_of_both_has_the_same_ceiling_and_nothing_is_earned_without_the_form() -> None:
    happened = [f"happened: {text}" for text in (TAP, CUP, TEA)]
    for wrong, most in (((), 1.0), ((f"link: {SONG} -> {TEA}",), 0.5), (("a", "b"), 0.2)):
        assert graph_reward(answer(*happened, FIRST, SECOND, *wrong), CHAIN) == most
    assert graph_reward(answer(*happened), CHAIN) == 0.3
    for text in ("No. Opening the tap lets C fill the cup.", f"{TAP} -> {CUP} -> {TEA}", ""):
        assert (causal_reward(text, CHAIN), visual_reward(text, CHAIN), graph_reward(text, CHAIN)) == (0.0, 0.0, 0.0)


NO_CHAIN = (
    replace(CHAIN, queried=1),
    replace(CHAIN, queried=None, key="no"),
    replace(CHAIN, intervened=3, queried=0, key="yes"),
    replace(CHAIN, intervened=None, queried=None, absent="C sneezes", key="yes"),
)
"""The question's two actions alone are linked; the main goal is asked about; the outcome has no cause; both."""


@pytest.mark.parametrize("sample", NO_CHAIN)
def test_where_no_chain_can_be_judged_the_verdict_carries_the_causal_half(sample: RewardSample) -> None:
    assert not has_more_to_say(sample)
    right, wrong = ("no", "yes") if expected_verdict(sample) == "no" else ("yes", "no")
    happened = f"happened: {TAP}"
    for verdict, says, reward in (
        (right, right.upper(), 1.0), (wrong, wrong, 0.0), (right, wrong, 0.0),
        (right, f"{right}. I meant {wrong}.", 0.0),
    ):  # fmt: skip
        text = answer(happened, end=f"conclusion: {verdict}", says=says)
        assert causal_reward(text, sample) == reward
    # A false claim costs here as elsewhere.
    false = answer(happened, f"link: {SIP} -> {TAP}", end=f"conclusion: {right}", says=right)
    assert causal_reward(false, sample) == 0.5 and causal_reward(right, sample) == 0.0
    of_both = [graph_reward(write_answer(best_answer(sample, verdict)), sample) for verdict in (right, wrong)]
    assert of_both == [1.0, 0.1]


def claim(cause: str, effect: str, holds: bool = True) -> LinkClaim:
    return LinkClaim(cause, effect, holds)


MARKED = replace(CHAIN, actions=(TAP, "C <fills> the cup", "C -> brews", SONG, SIP), queried=4)
TWICE = replace(CHAIN, actions=(TAP, CUP, f" {CUP}", SONG, SIP), queried=4)
BEST = [
    (CHAIN, None, (TAP, CUP, TEA), (claim(TAP, CUP), claim(CUP, TEA)), "no"),
    (CHAIN, "yes", (TAP, CUP, TEA), (claim(TAP, CUP), claim(CUP, TEA)), "yes"),
    (ASIDE, None, (TEA, SONG, SIP), (claim(TEA, SIP), claim(SONG, SIP, holds=False)), "yes"),
    (NEVER, None, (TEA, SIP), (claim(TEA, SIP),), "yes"),
    # The shorter of two ways, beside a link between the two actions themselves.
    (replace(CHAIN, links=frozenset({(0, 1), (1, 2), (2, 4), (0, 3), (3, 4), (0, 4)}), queried=4), None,
     (TAP, SONG, SIP), (claim(TAP, SONG), claim(SONG, SIP)), "no"),
    (replace(CHAIN, queried=1), None, (TAP, CUP), (claim(TAP, CUP),), "no"),
    # What has a mark of the form in it is left out, and what happens twice is said once.
    (MARKED, None, (TAP, SIP), (), "no"),
    (TWICE, None, (TAP, CUP, SIP), (claim(TAP, CUP), claim(CUP, CUP), claim(CUP, SIP)), "no"),
]  # fmt: skip


@pytest.mark.parametrize(("sample", "verdict", "happened", "links", "end"), BEST)
def test_the_best_answer_says_what_the_question_needs(
    sample: RewardSample, verdict: str | None, happened: tuple[str, ...], links: tuple[LinkClaim, ...], end: str
) -> None:
    best = best_answer(sample, verdict)
    assert (best.happened, best.links, best.conclusions, best.answer) == (
        happened, links, (end,), f"{end.capitalize()}."
    )  # fmt: skip


@pytest.mark.parametrize("sample", [CHAIN, ASIDE, NEVER, *NO_CHAIN])
def test_the_best_answer_earns_all_and_with_the_wrong_verdict_a_tenth(sample: RewardSample) -> None:
    wrong = {"yes": "no", "no": "yes"}[expected_verdict(sample) or ""]
    assert causal_reward(write_answer(best_answer(sample)), sample) == 1.0
    assert visual_reward(write_answer(best_answer(sample)), sample) == 1.0
    assert (causal_reward(write_answer(best_answer(sample, wrong)), sample) or 0.0) <= 0.1


def test_what_more_the_graph_has_to_say() -> None:
    for sample in (RewardSample(), replace(CHAIN, key="B", queried=None), RewardSample(key="no")):
        assert not has_more_to_say(sample) and causal_reward(answer(FIRST), sample) is None
    beside = replace(CHAIN, links=CHAIN.links | {(0, 2)})
    assert best_answer(beside).links == best_answer(CHAIN).links and len(best_answer(CHAIN).links) == 2
    assert causal_reward(answer(FIRST, SECOND), beside) == 1.0
    assert causal_reward(answer(f"link: {TAP} -> {TEA}"), beside) == pytest.approx(0.3)
    circle = replace(CHAIN, links=CHAIN.links | {(2, 1)})
    assert causal_reward(answer(FIRST, SECOND), circle) == 1.0, "read in order of time"


def test_the_path_of_which_most_is_said_counts() -> None:
    sample = replace(CHAIN, links=frozenset({(0, 1), (1, 2), (2, 4), (0, 3), (3, 4)}), queried=4)
    short, long = f"link: {TAP} -> {SONG}\nlink: {SONG} -> {SIP}", f"{FIRST}\n{SECOND}\nlink: {TEA} -> {SIP}"
    assert causal_reward(answer(short), sample) == causal_reward(answer(long), sample) == 1.0
    assert causal_reward(answer(FIRST, SECOND), sample) == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("happened", "reward"),
    [
        ((TAP, CUP, TEA), 1.0),
        ((TAP, CUP, SONG, TEA), 3 / 4),
        ((TAP, CUP, TEA, SONG), 1.0),
        ((TAP, TEA), 2 / 3),
        ((TEA, CUP, TAP), 1 / 3),
        ((SONG,), 0.0),
        ((TAP, CUP, TEA, "C opens the door"), 3 / 4),
        ((TAP, CUP, TEA, TAP.upper()), 1.0),
        ((TAP, "C opens the door", "C fills the glass"), 0.0),
        ((), 0.0),
    ],
)
def test_what_happened(happened: tuple[str, ...], reward: float) -> None:
    text = answer(*(f"happened: {text}" for text in happened))
    assert visual_reward(text, CHAIN) == pytest.approx(reward)


def test_what_happened_beside_the_way_from_the_action_to_the_outcome_is_not_asked_for() -> None:
    text = answer(*(f"happened: {text}" for text in (TAP, CUP, TEA)))
    assert visual_reward(text, replace(CHAIN, links=CHAIN.links | {(3, 2)})) == 1.0


def test_claims_of_the_same_words_are_of_any_of_their_actions() -> None:
    sample = replace(CHAIN, actions=(TAP, CUP, TEA, TAP, SIP), intervened=1, queried=4)
    text = answer(f"happened: {CUP}", f"happened: {TEA}", f"happened: {TAP}", f"happened: {SIP}")
    assert visual_reward(text, sample) == 1.0


def test_a_mean_needs_a_weight_for_each_reward() -> None:
    assert weighted_mean((None, 0.5), (0.5, 0.5)) == 0.5 and weighted_mean((None,), (1.0,)) is None
    with pytest.raises(ValueError, match="Expected 2 weights"):
        weighted_mean((0.5, 0.5), (1.0,))

"""What holds of the rewards whatever is said, and the order of answers that were ordered by hand."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from statistics import fmean
from typing import Any

import pytest
from expected import Expected
from hypothesis import given, settings
from hypothesis import strategies as st
from model_output import outputs, pieces
from oracles import measurement
from ordered_answers import HELD_OUT, ORDERED, OrderedGroup, read_columns, read_formed

from lmms_eval_tasks.train.countervqa.rewards import REWARDS
from lmms_eval_tasks.train.rewards.answer_form import FormedAnswer, LinkClaim, write_answer
from lmms_eval_tasks.train.rewards.best_answer import best_answer
from lmms_eval_tasks.train.rewards.graph_rewards import causal_reward
from lmms_eval_tasks.train.rewards.reward_sample import read_sample

GROUPS = list(read_formed())


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_a_better_answer_earns_more(group: OrderedGroup) -> None:
    reward = REWARDS["graph" if group.reward == "combined" else group.reward]

    def earned(answer: str) -> float:
        value = reward(answer, group.sample)
        assert value is not None and 0.0 <= value <= 1.0, answer
        return value

    levels = [list(map(earned, level)) for level in group.levels]
    # What claims nothing and what claims only wrong things both earn nothing.
    assert all(min(better) > max(worse) or not any((*better, *worse)) for better, worse in pairwise(levels)), levels
    assert any(levels[0])


@pytest.mark.nightly
def test_neither_distance_nor_order_earn_what_the_links_do() -> None:
    attacks = measurement("reward_attacks")
    samples = attacks.samples_of_tests()
    of = {
        key: Counter(attacks.distance(one) for one in samples if attacks.expected_verdict(one) == key)
        for key in ("yes", "no")
    }
    assert of["yes"] == of["no"] and len(of["yes"]) >= 10 and len(samples) >= 250
    earned = {}
    for name in (
        "the two before, not the asked", "no from a distance of 3 on", "links and verdict by shared words",
        "a path of several links by overlap", "a thread of things, else the latest",
    ):  # fmt: skip
        answers = [attacks.KNOWING_NOTHING[name](one, None) for one in samples[::3]]
        for reward, most in (("causal", attacks.MOST_OF_CAUSAL), ("graph", attacks.MOST_OF_GRAPH)):
            earned[name, reward] = fmean(map(attacks.REWARDS[reward], answers, samples[::3]))
            # Over a third of the questions a mean is less exact than the bound.
            assert earned[name, reward] < most + 0.05, (name, reward)
    # The page's bound is near what the best of them earns.
    assert max(earned.values()) > attacks.MOST_OF_GRAPH - 0.1


@pytest.mark.slow
def test_no_ending_in_words_is_paid() -> None:
    attacks = measurement("reward_attacks")
    samples = attacks.samples_of_tests()[::150]
    for name, policy in attacks.ENDING_WRONGLY.items():
        for sample in samples:
            assert (attacks.causal_reward(policy(sample, random.Random(0)), sample) or 0.0) <= 0.1, name


ANSWERS = [answer for group in GROUPS for level in group.levels for answer in level]
CLIPS = [*read_columns(ORDERED), *read_columns(HELD_OUT)]
SECONDS = 2.0
"""For 200,000 characters; a reader whose time grows with their square takes minutes."""


def relabelled(columns: dict[str, Any], seed: int) -> dict[str, Any]:
    """The same question with other ids, and the actions and links in another order."""
    chance = random.Random(seed)
    graph = json.loads(columns["graph"])
    names = [action["id"] for action in graph["actions"]]
    others = dict(zip(names, chance.sample(range(1_000, 9_999), len(names)), strict=True))
    for action in graph["actions"]:
        action["id"] = f"node{others[action['id']]}"
    for link in graph["links"]:
        link["cause"], link["effect"] = (f"node{others[link[end]]}" for end in ("cause", "effect"))
    chance.shuffle(graph["actions"])
    chance.shuffle(graph["links"])
    ends = {end: columns[end] and f"node{others[columns[end]]}" for end in ("action", "outcome")}
    return {**columns, **ends, "graph": json.dumps(graph)}


def test_other_names_of_the_actions_change_nothing() -> None:
    for seed, group in enumerate(GROUPS[::4]):
        other = read_sample(relabelled(group.columns, seed))
        for answer in (answer for level in group.levels for answer in level):
            for name in ("causal", "visual", "graph"):
                assert REWARDS[name](answer, other) == pytest.approx(REWARDS[name](answer, group.sample)), answer


@given(st.sampled_from(CLIPS), st.integers(0, 2**32))
@settings(max_examples=30)
def test_a_further_right_link_never_lowers_the_reward(columns: dict[str, Any], seed: int) -> None:
    sample, chance = replace(read_sample(columns), key="no"), random.Random(seed)
    links = sorted(sample.links)
    chance.shuffle(links)
    wrong = [(cause, effect) for cause in range(3) for effect in range(3) if cause != effect]
    said = [link for link in chance.sample(wrong, chance.randint(0, 2)) if link not in sample.links]
    last = 0.0
    for number in range(len(links) + 1):
        claims = tuple(LinkClaim(sample.actions[one], sample.actions[other]) for one, other in (*said, *links[:number]))
        answer = FormedAnswer(links=claims, conclusions=("no",), answer="No.")
        reward = causal_reward(write_answer(answer), sample)
        if reward is None:
            return
        assert reward >= last - 1e-12
        last = reward


@given(outputs() | st.sampled_from(ANSWERS), st.sampled_from(CLIPS))
@settings(max_examples=60)
def test_whatever_is_said_is_rewarded_within_bounds(text: str, columns: dict[str, Any]) -> None:
    sample = read_sample({**columns, "answer": "no", "options": ["yes", "no"]})
    for name, reward in REWARDS.items():
        value = reward(text, sample)
        assert 0.0 <= value <= 1.0 if value is not None else name == "causal"


@given(st.text(), st.sampled_from(CLIPS))
@settings(max_examples=40)
def test_whatever_is_in_a_block_is_rewarded_within_bounds(block: str, columns: dict[str, Any]) -> None:
    text = (
        f"<think><claims>{block}\nhappened: {block}\nlink: {block} -> {block}</claims></think><answer>{block}</answer>"
    )
    sample = read_sample(columns)
    for name in ("causal", "visual", "graph"):
        value = REWARDS[name](text, sample)
        assert value is None or 0.0 <= value <= 0.5


@given(
    st.dictionaries(
        st.sampled_from(["graph", "action", "outcome", "absent_action", "answer", "options", "clip"]),
        st.none()
        | st.text(max_size=20)
        | st.integers()
        | st.sampled_from(pieces())
        | st.lists(st.integers() | st.text(max_size=3), max_size=3)
        | st.just({"actions": [{"text": "a"}, 3, {}], "links": [[0, 1], {"cause": "0"}, 7]}),
    )
)
@settings(max_examples=30)
def test_whatever_the_columns_hold_nothing_is_raised(columns: dict[str, Any]) -> None:
    sample = read_sample(columns)
    for reward in REWARDS.values():
        value = reward(ANSWERS[0], sample)
        assert value is None or 0.0 <= value <= 1.0
    nothing = read_sample({})
    assert [REWARDS[name](ANSWERS[0], nothing) for name in ("causal", "visual", "graph", "choice")] == [None] * 4


def test_a_time_too_large_for_a_float_is_no_time() -> None:
    late = {"id": "A", "text": "he drinks", "start": 10**400, "end": 10**400}
    graph = {"actions": [late, {"id": "B", "text": "he opens it", "start": 1, "end": 2}], "links": []}
    for form in (graph, json.dumps(graph)):
        assert read_sample({"graph": form}).ids == ("A", "B")


TWO = {"actions": [{"id": "A", "text": "he drinks"}, {"id": "B", "text": "he opens it"}], "links": []}


@pytest.mark.parametrize(
    ("columns", "intervened", "absent"),
    [
        ({"graph": TWO, "action": "B"}, 1, None),
        ({"graph": TWO, "action": "he opens it"}, 1, None),
        ({"graph": TWO, "action": " he sings "}, None, "he sings"),
        ({"graph": TWO, "absent_action": "he sings "}, None, "he sings"),
        ({"graph": TWO, "action": "he hums", "absent_action": "he sings"}, None, "he sings"),
        ({"graph": TWO, "action": "A", "absent_action": "he sings"}, 0, None),
        ({"graph": TWO, "action": " "}, None, None),
        ({"action": "he sings"}, None, None),
    ],
)
def test_an_action_is_one_of_the_graph_or_one_that_never_happened(
    columns: dict[str, Any], intervened: int | None, absent: str | None
) -> None:
    sample = read_sample(columns)
    assert (sample.intervened, sample.absent) == (intervened, absent)


LINES = (
    "link: C cracks the eggs -> C whisks the eggs", "happened: C takes eggs {}", "happened: eggs {} eggs",
    "no link: {} -> {}", "conclusion: no {}", "happened:" + " C takes eggs" * 500, "{}",
    "link: C takes eggs -> " + "not " * 500, "because {} -> {} -> {}",
)  # fmt: skip


PIECES = (
    "<think>", "<claims>\n", "</claims>", "</think><answer>", "<answer></answer>", "happened: a\n", "link: a -> b\n",
    "no link: ", "->", "\n", " ", ":", "<", "happened:" + " " * 9,
)  # fmt: skip


def long_answers() -> Iterator[str]:
    """Answers of 200,000 characters in the form, and texts of so many in none."""
    for line in LINES:
        lines = "\n".join(line.replace("{}", str(number)) for number in range(200_000 // len(line)))
        yield f"<think><claims>\n{lines}\n</claims></think><answer>No.</answer>"
    for piece in PIECES:
        many = piece * (200_000 // len(piece))
        yield from (many, f"<think><claims>{many}</claims></think><answer>No</answer>", f"<think>{many}<claims>")


@pytest.mark.nightly
def test_time_is_linear() -> None:
    for text in long_answers():
        started = time.process_time()
        for reward in REWARDS.values():
            reward(text, GROUPS[0].sample)
        assert time.process_time() - started < SECONDS, text[:60]


@pytest.mark.slow
@pytest.mark.parametrize("reward", REWARDS)
def test_every_answer_earns_what_it_earned(reward: str, expected: Expected) -> None:
    lines = []
    for group in GROUPS:
        answers = [*(answer for level in group.levels for answer in level), write_answer(best_answer(group.sample))]
        earned = [REWARDS[reward](answer, group.sample) for answer in answers]
        lines.append(f"{group.name}: {' '.join('none' if one is None else f'{one:.4g}' for one in earned)}")
    expected("\n".join(lines))

"""What holds of the rewards whatever is said: bounds, relabelling, further right links, time, and no failure."""

from __future__ import annotations

import json
import random
import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_output import outputs, pieces
from ordered_answers import HELD_OUT, ORDERED, read_groups

from lmms_eval_tasks.train.rewards.causal import causal_reward
from lmms_eval_tasks.train.rewards.functions import REWARDS
from lmms_eval_tasks.train.rewards.sample import read_sample

GROUPS = [*read_groups(ORDERED), *read_groups(HELD_OUT)]
ANSWERS = [answer for group in GROUPS for level in group.levels for answer in level]
CLIPS = [group.columns for group in GROUPS]
PARTS = 3
"""Of the groups, each with other names: all of them for each would take long."""
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
    if seed % 2:
        for action in graph["actions"]:
            del action["start"]
    ends = {end: columns[end] and f"node{others[columns[end]]}" for end in ("action", "outcome")}
    return {**columns, **ends, "graph": json.dumps(graph)}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(PARTS))
def test_other_names_of_the_actions_change_nothing(seed: int) -> None:
    for group in GROUPS[seed::PARTS]:
        other = read_sample(relabelled(group.columns, seed))
        for answer in (answer for level in group.levels for answer in level):
            if seed % 2 and re.search(r"(?:step|action) \d", answer.casefold()):
                # "Action 3" is the third in the list where times do not tell.
                continue
            for name in ("causal", "visual"):
                reward = REWARDS[name]
                assert reward(answer, other) == pytest.approx(reward(answer, group.sample)), (name, answer)


@given(st.sampled_from(CLIPS), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_a_further_right_link_never_lowers_the_reward(columns: dict[str, Any], seed: int) -> None:
    sample, chance = read_sample(columns), random.Random(seed)
    links = sorted(sample.links)
    chance.shuffle(links)
    wrong = [(cause, effect) for cause in range(3) for effect in range(3) if cause != effect]
    said = [link for link in chance.sample(wrong, chance.randint(0, 2)) if link not in sample.links]
    form = chance.choice(("{} -> {}", "{} -> {}.", "- {} → {}", "1. {} --> {}"))
    last = 0.0
    for number in range(len(links) + 1):
        lines = [form.format(*(sample.actions[end] for end in link)) for link in (*said, *links[:number])]
        reward = causal_reward("<think>" + "\n".join(lines) + "</think><answer>cannot tell</answer>", sample)
        assert reward is not None
        assert reward >= last - 1e-12 or number == 0
        last = reward


@pytest.mark.slow
@given(outputs() | st.sampled_from(ANSWERS), st.sampled_from(CLIPS))
@settings(max_examples=150, deadline=None)
def test_whatever_is_said_is_rewarded_within_bounds(text: str, columns: dict[str, Any]) -> None:
    sample = read_sample({**columns, "answer": "no", "options": ["yes", "no"]})
    for reward in REWARDS.values():
        value = reward(text, sample)
        assert value is not None and 0.0 <= value <= 1.0


@given(
    st.dictionaries(
        st.sampled_from(["graph", "action", "outcome", "absent_action", "answer", "options"]),
        st.none()
        | st.text(max_size=20)
        | st.integers()
        | st.sampled_from(pieces())
        | st.lists(st.integers() | st.text(max_size=3), max_size=3)
        | st.just({"actions": [{"text": "a"}, 3, {}], "links": [[0, 1], {"cause": "0"}, 7]}),
    )
)
@settings(max_examples=60, deadline=None)
def test_whatever_the_columns_hold_nothing_is_raised(columns: dict[str, Any]) -> None:
    sample = read_sample(columns)
    for reward in REWARDS.values():
        value = reward("He opens it because it leads to -> 1. Action 1 causes action 2.", sample)
        assert value is None or 0.0 <= value <= 1.0


def test_a_time_too_large_for_a_float_is_no_time() -> None:
    late = {"id": "A", "text": "he drinks", "start": 10**400, "end": 10**400}
    graph = {"actions": [late, {"id": "B", "text": "he opens it", "start": 1, "end": 2}], "links": []}
    for form in (graph, json.dumps(graph)):
        assert read_sample({"graph": form}).ids == ("A", "B")


@pytest.mark.parametrize("response", [None, 3, b"No", ["No"], "", "  ", "\x00", "\ud800"])
def test_what_is_no_answer_earns_next_to_nothing(response: object) -> None:
    for name in ("causal", "visual", "graph", "format"):
        assert REWARDS[name](response, GROUPS[0].sample) <= 0.02


@pytest.mark.slow
@pytest.mark.parametrize("piece", [
    "He cracks the eggs because he takes the eggs from the fridge, which leads to whisking. ",
    "cracks the eggs -> ", "if he had not cracked the eggs ", "because ", "<think>", "</answer>", "{\"a\": [", "a ",
    ", ", "not ", "A: he cracks the eggs\n", "\n", "step 1 leads to step 2 ",
])  # fmt: skip
def test_time_is_linear(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    started = time.process_time()
    for reward in REWARDS.values():
        reward(text, GROUPS[0].sample)
    assert time.process_time() - started < SECONDS


def test_where_a_reward_does_not_apply_it_is_none() -> None:
    nothing = read_sample({})
    assert [REWARDS[name]("No", nothing) for name in ("causal", "visual", "graph", "choice")] == [None] * 4
    no_question = read_sample({"graph": GROUPS[0].columns["graph"]})
    assert causal_reward("C takes eggs from the fridge -> C cracks the eggs into a bowl", no_question) == pytest.approx(
        0.02 + 0.98 * 0.4
    )

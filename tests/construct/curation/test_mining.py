"""Mined pairs against a double loop over all pairs, and the choices that mining makes."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from lmms_eval_tasks.construct.curation import mining as neighbours
from lmms_eval_tasks.construct.curation.candidates import Candidate, find_rule
from lmms_eval_tasks.construct.curation.mining import Mining, as_cosine, distinct_clips, mine_pairs
from lmms_eval_tasks.construct.curation.vectors import EXACT, Floats, exact_units
from lmms_eval_tasks.utils.core.errors import InputError


def double_loop(
    candidates: Sequence[Candidate], vectors: Floats, per_skill: int | None, total: int | None
) -> list[tuple[str, str]]:
    rows = {clip: row for row, clip in enumerate(distinct_clips(candidates))}
    ordered = sorted(candidates, key=lambda one: one.item_id)
    pairs: dict[str, list[tuple[float, str, str, str, str]]] = {}
    for place, one in enumerate(ordered):
        for other in ordered[place + 1 :]:
            same = (one.skill, one.question) == (other.skill, other.question)
            if same and one.answer != other.answer and one.clip != other.clip:
                cosine = float(np.dot(vectors[rows[one.clip]], vectors[rows[other.clip]]))
                entry = (-cosine, one.item_id, other.item_id, one.clip, other.clip)
                pairs.setdefault(one.skill, []).append(entry)
    turns = {skill: iter(sorted(found)) for skill, found in sorted(pairs.items())}
    taken = dict.fromkeys(turns, 0)
    used: set[str] = set()
    mined: list[tuple[str, str]] = []
    waiting = list(turns)
    while waiting and (total is None or len(mined) < total):
        skill = waiting.pop(0)
        for _, first, second, *clips in turns[skill]:
            if used.isdisjoint(clips):
                used.update(clips)
                mined.append((first, second))
                taken[skill] += 1
                if per_skill is None or taken[skill] < per_skill:
                    waiting.append(skill)
                break
    return mined


def ids(mining: Mining) -> list[tuple[str, str]]:
    return [(pair.first.item_id, pair.second.item_id) for pair in mining.pairs]


def made_up(chance: random.Random, rng: np.random.Generator) -> tuple[list[Candidate], Floats]:
    """Candidates with few distinct vectors or many, clips with one question or several, answers of unequal number."""
    number, dimensions = chance.choice([5, 40, 120]), chance.choice([1, 2, 16])
    clips = chance.choice([number, number // 2 + 1])
    few = chance.random() < 0.5
    vectors = rng.integers(-2, 3, (clips, dimensions)) if few else rng.normal(size=(clips, dimensions))
    vectors[~vectors.any(axis=1)] = 1
    questions, answers, skills = chance.choice([1, 2, 6]), chance.choice([2, 3, 10]), chance.choice([1, 3])
    candidates = [
        Candidate(
            f"i{chance.random()}",
            f"c{place if clips == number else chance.randrange(clips)}",
            f"q{chance.randrange(questions)}",
            f"a{min(chance.randrange(answers), chance.randrange(answers))}",
            f"s{chance.randrange(skills)}",
        )
        for place in range(number)
    ]
    rows = [int(clip[1:]) for clip in distinct_clips(candidates)]
    return candidates, exact_units(vectors[rows].astype(float))


@pytest.mark.parametrize("seed", range(20))
def test_pairs_are_those_of_a_double_loop(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    for name, choices in (("ROWS", (7, 64, 512)), ("KEPT", (1, 2, 16))):
        monkeypatch.setattr(neighbours, name, chance.choice(choices))
    candidates, vectors = made_up(chance, np.random.default_rng(seed))
    per_skill, total = chance.choice([None, 5]), chance.choice([None, 20])
    mining = mine_pairs(candidates, vectors, per_skill=per_skill, total=total)
    assert ids(mining) == double_loop(candidates, vectors, per_skill, total)
    assert 2 * len(mining.pairs) + sum(sum(counts.values()) for counts in mining.dropped.values()) == len(candidates)


def test_no_cosine_is_above_one() -> None:
    assert [as_cosine(share * EXACT) for share in (0.12345678, -1.0, 1.0, 1.0 + 1e-6)] == [0.1234568, -1.0, 1.0, 1.0]


def circle(*degrees: float) -> Floats:
    """Vectors at angles."""
    angles = np.radians(degrees)
    return exact_units(np.stack([np.cos(angles), np.sin(angles)], axis=1))


def test_skills_take_turns() -> None:
    items = [Candidate(f"{skill}{i}", f"{skill}{i}", "Q?", "LR"[i % 2], skill) for skill in "ab" for i in range(8)]
    vectors = circle(*range(8), *range(0, 160, 20))
    mining = mine_pairs(items, vectors, total=6)
    assert [pair.first.skill for pair in mining.pairs] == ["a", "b"] * 3
    assert mining.dropped == {"a": {"limit": 2}, "b": {"limit": 2}}
    assert len(mine_pairs(items, vectors, per_skill=1).pairs) == 2


def test_why_a_candidate_is_in_no_pair() -> None:
    items = [
        Candidate("1", "x", "Q?", "left"),
        Candidate("2", "y", "Q?", "right"),
        Candidate("3", "z", "q? ", "Left."),
        Candidate("4", "x", "How many?", "two"),
        Candidate("5", "u", "How many?", "three"),
        Candidate("6", "v", "Who?", "Ann"),
        Candidate("7", "w", "Who?", "ann."),
    ]
    mining = mine_pairs(items, circle(0, 1, 40, 2, 3, 4))
    assert ids(mining) == [("1", "2")]
    assert mining.candidates == {"all": 7}
    assert mining.dropped == {"all": {"no partner": 2, "clip used": 1, "one answer": 2}}


def test_a_rule_is_asked_once_for_two_answers() -> None:
    asked: list[tuple[str, str, str]] = []

    def rule(question: str, first: str, second: str) -> bool:
        asked.append((question, first, second))
        return "red" not in first + second

    answers = ["a ball", "a red ball", "a ball", "a red ball", "a cup", "a red ball"]
    items = [Candidate(str(place), str(place), "What?", answer) for place, answer in enumerate(answers)]
    mining = mine_pairs(items, circle(0, 1, 2, 3, 40, 41), rule)
    assert ids(mining) == [("2", "4")]
    assert sorted(asked) == sorted({*asked}) and len(asked) <= 3
    assert mining.dropped == {"all": {"refused": 4}}


def test_our_stricter_rule_refuses_an_answer_that_is_part_of_the_other() -> None:
    rule = find_rule("not-entailed")
    assert not rule("", "A ball.", "a red ball") and rule("", "a blue ball", "a red ball")


def test_rules_of_others_are_found_and_their_failures_named() -> None:
    assert find_rule("operator:ne") is find_rule("operator.ne")
    for name in ("differs", "operator:nothing", "no.such.module:f", "sys:path"):
        with pytest.raises(
            InputError, match=r"^Expected a rule, one of not-entailed, differ or package.module:function"
        ):
            find_rule(name)
    items = [Candidate("1", "x", "Q?", "left"), Candidate("2", "y", "Q?", "right")]
    with pytest.raises(InputError, match=r"^The rule fails on the answers 'left' and 'right' to 'Q\?': TypeError: "):
        mine_pairs(items, circle(0, 1), find_rule("operator:neg"))

"""The scenes that come with the package: the standard set, and those of the sample."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from hashlib import sha256
from typing import Any

import pytest

pytest.importorskip("mujoco")

from worlds_recount import recount

from lmms_eval_tasks.api.release import as_lines
from lmms_eval_tasks.worlds.benchmark import STANDARD_SCENES
from lmms_eval_tasks.worlds.card import DEPTHS, FAMILIES, STANDARD
from lmms_eval_tasks.worlds.facts_and_clips import all_facts
from lmms_eval_tasks.worlds.kept_scenes import SceneDraft, read_drafts
from lmms_eval_tasks.worlds.questions.question_set import questions_of_set
from lmms_eval_tasks.worlds.scenes.scene import Facts

FEWEST = 25
"""Scenes of each family: with five clips and twenty questions each that is a set of 1,500 clips and 6,000 questions."""
RECOUNTED = 12


@cache
def standard() -> list[SceneDraft]:
    return read_drafts(STANDARD_SCENES)


@cache
def one_of_each() -> list[SceneDraft]:
    return [next(draft for draft in standard() if draft.scene.family == family) for family in FAMILIES]


@cache
def known() -> list[Facts]:
    """What is known of these; it raises where something else happens than where the set was made."""
    return all_facts(one_of_each(), processes=1)


def test_the_standard_set_has_as_many_scenes_of_each_family() -> None:
    counts = Counter(draft.scene.family for draft in standard())
    assert set(counts) == set(FAMILIES)
    assert set(counts.values()) == {max(counts.values())}
    assert max(counts.values()) >= FEWEST
    assert {str(draft.scene.depth) for draft in standard()} <= set(DEPTHS)


def test_the_card_knows_the_standard_set_by_its_scenes() -> None:
    scenes = as_lines(draft.scene.model_dump(mode="json") for draft in standard()).encode()
    assert sha256(scenes).hexdigest() == STANDARD


def test_every_scene_was_run_with_nearly_equal_ones() -> None:
    assert all(draft.digest and draft.worlds for draft in standard())


def test_the_same_happens_here_as_where_the_set_was_made() -> None:
    assert [one.scene for one in known()] == [draft.scene for draft in one_of_each()]


def test_counterfactual_answers_hold_in_another_program() -> None:
    facts = known()
    scenes = {one.scene.id: one.scene.model_dump(mode="json") for one in facts}
    questions = [one for one in questions_of_set(facts, 0) if one.task == "counterfactual"]
    asked: list[dict[str, Any]] = [json.loads(question.model_dump_json()) for question in questions[:RECOUNTED]]
    for question in asked:
        question["about"] = [", ".join(filter(None, key)) for key in question["about"]]
    assert len(asked) == RECOUNTED
    assert recount(scenes, asked) == []

"""The standard set of scenes: families, depths, what happens, and answers in another program."""

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

RECOUNTED = 12


@cache
def standard() -> list[SceneDraft]:
    return read_drafts(STANDARD_SCENES)


def test_the_card_knows_the_standard_set_which_has_as_many_scenes_of_each_family() -> None:
    scenes = as_lines(draft.scene.model_dump(mode="json") for draft in standard()).encode()
    assert sha256(scenes).hexdigest() == STANDARD
    # With five clips and twenty questions each that is a set of 1,500 clips and 6,000 questions.
    counts = Counter(draft.scene.family for draft in standard())
    assert set(counts) == set(FAMILIES) and min(counts.values()) == max(counts.values()) >= 25
    assert {str(draft.scene.depth) for draft in standard()} <= set(DEPTHS)
    # Every scene was run with nearly equal ones.
    assert all(draft.digest and draft.worlds for draft in standard())


@pytest.mark.slow
def test_the_same_happens_here_as_where_the_set_was_made_and_answers_hold_in_another_program() -> None:
    drafts = [next(draft for draft in standard() if draft.scene.family == family) for family in FAMILIES]
    # It raises where something else happens.
    facts = all_facts(drafts, processes=1)
    assert [one.scene for one in facts] == [draft.scene for draft in drafts]
    scenes = {one.scene.id: one.scene.model_dump(mode="json") for one in facts}
    questions = [one for one in questions_of_set(facts, 0) if one.task == "counterfactual"][:RECOUNTED]
    asked: list[dict[str, Any]] = [json.loads(question.model_dump_json()) for question in questions]
    for question in asked:
        question["about"] = [", ".join(filter(None, key)) for key in question["about"]]
    assert len(asked) == RECOUNTED and recount(scenes, asked) == []

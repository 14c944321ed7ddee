"""The standard set of scenes: families, depths, what happens, and answers in another program."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from expected import Expected
from small_worlds import in_millimetres
from worlds_recount import recount

from lmms_eval_tasks.api.release import as_lines
from lmms_eval_worlds.card import CARD, DEPTHS, FAMILIES, SPLIT, STANDARD
from lmms_eval_worlds.drafts import SceneDraft, draw_scene
from lmms_eval_worlds.physics.nearly_equal import numbers
from lmms_eval_worlds.physics.rollout import roll_out
from lmms_eval_worlds.physics.violations import broken_poses, choose_violations, suitable_violations
from lmms_eval_worlds.questions.question_set import questions_of_set
from lmms_eval_worlds.scenes.families import families
from lmms_eval_worlds.scenes.scene import Facts

RECOUNTED = 12
DRAWN = 60
"""Scenes of each family: so many that they have all its forms."""


def test_the_card_knows_the_standard_set_which_has_as_many_scenes_of_each_family(drafts: list[SceneDraft]) -> None:
    scenes = as_lines(draft.scene.model_dump(mode="json") for draft in drafts).encode()
    assert sha256(scenes).hexdigest() == STANDARD
    # With five clips and twenty questions each that is a set of 1,500 clips and 6,000 questions.
    counts = Counter(draft.scene.family for draft in drafts)
    assert set(counts) == set(FAMILIES) and min(counts.values()) == max(counts.values()) >= 25
    assert {str(draft.scene.depth) for draft in drafts} <= set(DEPTHS)
    whole = CARD.splits[SPLIT]
    numbers = f"{len(drafts):,} scenes, {whole.clips:,} clips,\n{whole.items:,} questions"
    assert numbers in Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")
    # Every scene was run with nearly equal ones.
    assert all(draft.digest and draft.worlds for draft in drafts)


def test_every_scene_can_be_drawn_again_and_its_family_names_its_twin(drafts: list[SceneDraft]) -> None:
    for draft in drafts:
        family, seed, number = draft.scene.id.rsplit("_", 2)
        assert draw_scene(family, int(seed), int(number)) == draft.scene
        twins = families()[family].vary(draft.scene, numbers("vary", draft.scene.id, draft.scene.seed))
        assert draft.twin is None or draft.twin.body in twins, draft.scene.id


def test_each_family_draws_the_same_scenes_and_the_same_twins_of_them(expected: Expected) -> None:
    parts: dict[str, str] = {}
    for name, family in families().items():
        scenes = [draw_scene(name, 0, number) for number in range(DRAWN)]
        twins = [list(family.vary(shown, np.random.default_rng(shown.seed))) for shown in scenes]
        parts[f"{name}: scenes"] = "\n".join(shown.model_dump_json() for shown in scenes)
        parts[f"{name}: twins"] = "\n".join(one.model_dump_json() for of_scene in twins for one in of_scene)
    expected.digests(parts)


MAKERS = (
    *("drafts", "scenes.scene", "scenes.family", "scenes.families"),
    *(f"physics.{name}" for name in ("mechanics", "rollout", "nearly_equal", "other_worlds", "violations", "pictures")),
    *(f"questions.{name}" for name in ("wording", "askable", "balance", "perception", "cause_and_effect")),
    *(f"questions.{name}" for name in ("counterfactual", "two_clips", "question", "question_set")),
)
"""Modules by whose numbers and words a set is made."""


def test_the_numbers_and_words_by_which_a_set_is_made_are_those_of_its_version(expected: Expected) -> None:
    lines: dict[str, None] = {}
    for maker in MAKERS:
        for name, value in vars(import_module(f"lmms_eval_worlds.{maker}")).items():
            if name.isupper():
                with suppress(TypeError):  # of functions, and of what else is no number or word
                    plain = json.loads(json.dumps(value), parse_float=lambda number: round(float(number), 9))
                    lines.update({f"{name} = {json.dumps(plain)}": None})
    expected("\n".join(lines))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["containment", "dominoes", "occlusion", "pendulum", "seesaw"])
def test_what_a_clip_of_a_scene_breaks_is_found_again_and_broken_the_same_way(
    family: str, drafts: list[SceneDraft], expected: Expected
) -> None:
    draft = next(draft for draft in drafts if draft.scene.family == family)
    suitable = suitable_violations(draft.scene, roll_out(draft.scene))
    assert len(draft.violations) == 2 and all(violation in suitable for violation in draft.violations)
    assert len({violation.principle for violation in suitable}) == len(suitable)
    assert choose_violations([suitable])[0] == suitable[:2]
    broken = {clip.name: clip.violation for clip in draft.clips if clip.violation}
    expected.digests({name: str(in_millimetres(broken_poses(draft.scene, how))) for name, how in broken.items()})


@pytest.mark.slow
def test_answers_hold_in_another_program(standard_facts: list[Facts]) -> None:
    scenes = {one.scene.id: one.scene.model_dump(mode="json") for one in standard_facts}
    questions = [one for one in questions_of_set(standard_facts, 0) if one.task == "counterfactual"][:RECOUNTED]
    asked = [question.model_dump(mode="json") for question in questions]
    assert len(asked) == RECOUNTED and recount(scenes, asked) == []

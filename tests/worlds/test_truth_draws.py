"""Drawing scenes: always the same ones, and what is thrown away is counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the extra worlds is not installed")

from causal_worlds import ball, prototype, scene

from lmms_eval_tasks.api import InputError
from lmms_eval_tasks.worlds import new_scenes
from lmms_eval_tasks.worlds import new_scenes as draws
from lmms_eval_tasks.worlds.facts_and_clips import all_facts
from lmms_eval_tasks.worlds.kept_scenes import SceneDraft
from lmms_eval_tasks.worlds.new_scenes import DrawCounts, draw_scene, make_drafts
from lmms_eval_tasks.worlds.physics.other_worlds import changed_field
from lmms_eval_tasks.worlds.physics.processes import Workers
from lmms_eval_tasks.worlds.physics.rollout import roll_out
from lmms_eval_tasks.worlds.physics.violations import breaks_visibly, choose_violations, suitable_violations
from lmms_eval_tasks.worlds.scenes.families import families
from lmms_eval_tasks.worlds.scenes.family import SceneFamily
from lmms_eval_tasks.worlds.scenes.scene import Scene, Violation

SEED, FAMILY = 4, "elastic"


@pytest.fixture(scope="module")
def made() -> tuple[list[SceneDraft], list[DrawCounts]]:
    """A draft of a family, made by one process."""
    return make_drafts(1, SEED, names=[FAMILY], processes=1)


def test_as_many_processes_as_there_are_make_the_same(made: tuple[list[SceneDraft], list[DrawCounts]]) -> None:
    assert make_drafts(1, SEED, names=[FAMILY], processes=2) == made


def test_what_was_tried_before_an_interruption_is_not_tried_again(
    made: tuple[list[SceneDraft], list[DrawCounts]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []
    really = new_scenes._try

    def count(asked: tuple[str, int, int]) -> new_scenes.TriedScene:
        if len(tried) == 1:
            raise KeyboardInterrupt
        tried.append(asked[2])
        return really(asked)

    monkeypatch.setattr(draws, "_try", count)
    with pytest.raises(KeyboardInterrupt):
        make_drafts(2, SEED, names=[FAMILY], processes=1, folder=tmp_path)
    assert tried == [0]
    monkeypatch.setattr(draws, "_try", lambda asked: tried.append(asked[2]) or really(asked))
    assert make_drafts(1, SEED, names=[FAMILY], processes=1, folder=tmp_path) == made
    again = list(tried)
    assert again == list(range(made[1][0].drawn))
    # A call for more goes on where that one ended; one for as many tries none.
    two = make_drafts(2, SEED, names=[FAMILY], processes=1, folder=tmp_path)
    assert tried == list(range(two[1][0].drawn)) and len(tried) > len(again)
    assert make_drafts(2, SEED, names=[FAMILY], processes=1, folder=tmp_path) == two
    assert tried == list(range(two[1][0].drawn))
    assert two[0][0].scene == made[0][0].scene


def test_the_twin_of_a_draft_differs_in_one_field_and_in_what_happens(
    made: tuple[list[SceneDraft], list[DrawCounts]],
) -> None:
    (draft,), (counts,) = made
    assert (counts.family, counts.kept, counts.drawn) == (FAMILY, 1, 1 + sum(counts.thrown.values()))
    twin = all_facts([draft], processes=1)[0].twin
    assert twin is not None
    assert twin.scene.id == f"{draft.scene.id}_twin"
    before, after = draft.scene.body(twin.body), twin.scene.body(twin.body)
    assert changed_field(before, after) == twin.parameter
    assert [body for body in draft.scene.bodies if body not in twin.scene.bodies] == [before]
    one, other = ({event.key for event in roll_out(which).events} for which in (draft.scene, twin.scene))
    assert twin.differs
    assert {tuple(key) for key in twin.differs} <= one ^ other
    assert twin.same_start == (twin.parameter in ("velocity", "mass", "friction", "bounce"))


def test_a_family_and_a_seed_give_a_scene_that_says_so() -> None:
    for name in families():
        shown = draw_scene(name, 9, 3)
        assert shown == draw_scene(name, 9, 3) != draw_scene(name, 10, 3)
        assert (shown.family, shown.id) == (name, f"{name}_9_0003")
        assert families()[name].draw(shown.id, shown.seed, np.random.default_rng(shown.seed)) == shown


def still(scene_id: str, seed: int, random: np.random.Generator) -> Scene:
    return scene(ball("red", 0.0), ball("green", 0.6), name=scene_id, seconds=0.5)


def apart(scene_id: str, seed: int, random: np.random.Generator) -> Scene:
    """A ball that falls by itself: no other body has to do with it."""
    high = ball("red", 0.0).model_copy(update={"place": [0.0, 0.0, 0.8]})
    return scene(high, ball("green", 0.6), name=scene_id, seconds=0.5)


def inside(scene_id: str, seed: int, random: np.random.Generator) -> Scene:
    return scene(ball("red", 0.0), ball("green", 0.1), name=scene_id, seconds=0.5)


def test_what_is_drawn_is_to_the_bit_what_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """-0 equals the default of 0, which files leave out; a clip's digest would tell them apart."""

    def turned(scene_id: str, seed: int, random: np.random.Generator) -> Scene:
        first, *others = prototype().bodies
        return scene(first.model_copy(update={"turn": [0.0, 0.0, -0.0]}), *others, name=scene_id)

    monkeypatch.setattr(draws, "families", lambda: {"odd": SceneFamily("odd", "", turned, lambda shown, random: ())})
    new, read = (make_drafts(1, 1, processes=1, folder=tmp_path)[0] for _ in range(2))
    assert [draft.model_dump_json() for draft in new] == [draft.model_dump_json() for draft in read]


@pytest.mark.parametrize(
    ("draw", "why"),
    [(still, "nothing happens"), (apart, "no body's removal changes"), (inside, "it cannot be run")],
)
def test_a_family_whose_scenes_are_all_thrown_away_is_named_with_the_reasons(
    monkeypatch: pytest.MonkeyPatch, draw: object, why: str
) -> None:
    family = replace(SceneFamily("odd", "", still, lambda shown, random: ()), draw=draw)  # type: ignore[arg-type]
    monkeypatch.setattr(draws, "families", lambda: {"odd": family})
    monkeypatch.setattr(draws, "MOST_DRAWN", 1)
    with pytest.raises(InputError, match=rf"Of 2 drawn scenes of the family odd only 0 can be used.*{why}.*2"):
        make_drafts(1, 0, processes=1)


def test_a_family_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="There is no family hovercraft; there are backup, chain"):
        make_drafts(1, 0, names=["hovercraft", "chain"], processes=1)


def test_principles_are_broken_equally_often_where_scenes_differ_in_what_suits_them() -> None:
    often = [Violation(principle=name, body="a", time=1.0) for name in ("permanence", "continuity", "inertia")]
    rare = Violation(principle="gravity", body="a", time=1.0)
    chosen = choose_violations([often, [*often, rare], often, [*often, rare]] * 3)
    counts = Counter(violation.principle for violations in chosen for violation in violations)
    assert set(map(len, chosen)) == {2}
    assert set(counts.values()) == {6}


def test_what_suits_a_scene_is_of_bodies_in_view_and_shows() -> None:
    shown = scene(ball("red", -1.0, velocity=(1.4, 0.0)), ball("green", 0.5), seconds=2.5)
    rollout = roll_out(shown)
    found = suitable_violations(shown, rollout)
    assert {violation.principle for violation in found} == {"permanence", "continuity", "solidity", "inertia"}
    assert all(breaks_visibly(shown, violation, rollout.poses) for violation in found)
    aside = shown.camera.model_copy(update={"target": [0.0, -6.0, 0.5]})
    assert suitable_violations(shown.model_copy(update={"camera": aside}), rollout) == []


def test_processes_give_what_one_gives_in_the_same_order() -> None:
    with Workers(2) as workers:
        assert list(workers.map(abs, range(-9, 0))) == list(range(9, 0, -1))
    with Workers(1) as workers:
        assert list(workers.map(abs, range(-9, 0))) == list(range(9, 0, -1))

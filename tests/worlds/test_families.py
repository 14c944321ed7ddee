"""Each family of scenes: what it draws is as its rules say, the same for the same seed, and not near a tie."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mujoco")

from lmms_eval_tasks.worlds.new_scenes import draw_scene
from lmms_eval_tasks.worlds.physics.mechanics import build_model, start
from lmms_eval_tasks.worlds.physics.nearly_equal import nearly_equal
from lmms_eval_tasks.worlds.physics.rollout import Rollout, roll_out
from lmms_eval_tasks.worlds.scenes.families import families
from lmms_eval_tasks.worlds.scenes.scene import Body, EventKey, Scene

pytestmark = pytest.mark.slow

Drawn = list[tuple[Scene, Rollout]]


def draw(family: str, seed: int) -> Scene:
    return families()[family].draw(f"{family}_{seed}", seed, np.random.default_rng(seed))


def keys(run: Rollout, apart: str = "") -> set[EventKey]:
    """What happens to others than a body, but for what comes to rest."""
    return {event.key for event in run.events if event.kind != "stops" and apart not in (event.body, event.other)}


@pytest.fixture(scope="module", params=families())
def drawn(request: pytest.FixtureRequest) -> Drawn:
    """Two scenes of a family, and what happens in them."""
    scenes = [draw(request.param, seed) for seed in range(2)]
    return [(scene, roll_out(scene)) for scene in scenes]


def test_a_family_and_a_seed_give_a_scene_that_says_so(drawn: Drawn) -> None:
    scenes = [scene for scene, _ in drawn]
    name = scenes[0].family
    assert scenes == [draw(name, seed) for seed in range(2)]
    assert len({scene.model_dump_json(exclude={"id", "seed"}) for scene in scenes}) == 2
    shown = draw_scene(name, 9, 3)
    assert shown == draw_scene(name, 9, 3) != draw_scene(name, 10, 3)
    assert (shown.family, shown.id) == (name, f"{name}_9_0003")
    assert families()[name].draw(shown.id, shown.seed, np.random.default_rng(shown.seed)) == shown


def test_a_scene_is_in_view_and_happens_soon_and_its_distractors_have_no_part(drawn: Drawn) -> None:
    for scene, run in drawn:
        assert scene.family in families() and scene.depth >= 1
        assert any(event.kind in ("hits", "falls", "enters") and event.time < 3 for event in run.events), scene.id
        for body in scene.bodies:
            x, y, z = body.place
            assert abs(x) < 1.45 and abs(y) < 1.1 and z < 1.25, (scene.id, body.name)
            assert body.name.startswith(body.colour) and (body.colour in ("grey", "brown")) == body.scenery
        # They are the last ones; in some families they are a chain of their own, or the second tower.
        if scene.family not in ("crossing", "stack", "two_chains"):
            for body in scene.bodies[len(scene.bodies) - scene.distractors :]:
                assert not any(body.velocity), (scene.id, body.name)
                assert not [event for event in run.events if body.name in (event.body, event.other)], scene.id


def deepest(shown: Scene) -> float:
    """By how many metres bodies are in each other, or in the floor, at the start; 0 where none are."""
    data = start(build_model(shown), shown)
    return max([0.0, *(-data.contact.dist).tolist()])


def test_nothing_starts_inside_another_body_and_most_scenes_are_not_near_a_tie(drawn: Drawn) -> None:
    agree = []
    for scene, run in drawn:
        # A body that is inside another would be thrown out within the first hundredth of a second.
        for body in scene.bodies:
            if body.moves == "freely" and not any(body.velocity):
                assert run.places[body.name][1][2] - body.place[2] < 0.003, (scene.id, body.name)
        draws = nearly_equal(scene)
        assert max(map(deepest, draws)) <= deepest(scene) * 1.05 + 1e-4
        agree.append(all(keys(roll_out(near)) == keys(run) for near in draws[:2]))
    assert np.mean(agree) >= 0.5


def test_candidates_for_a_twin_change_one_field_of_one_body(drawn: Drawn) -> None:
    changed = 0
    for scene, run in drawn:
        twins, again = (list(families()[scene.family].vary(scene, np.random.default_rng(scene.seed))) for _ in range(2))
        assert twins and twins == again, scene.id
        outcomes = []
        for twin in twins:
            before = scene.body(twin.name)
            (field,) = (name for name in Body.model_fields if getattr(before, name) != getattr(twin, name))
            assert field in ("velocity", "mass", "friction", "place", "bounce", "size")
            bodies = [twin if body.name == twin.name else body for body in scene.bodies]
            outcomes.append(keys(roll_out(scene.model_copy(update={"bodies": bodies}))))
        changed += any(outcome != keys(run) for outcome in outcomes)
    assert changed >= 0.7 * len(drawn)


def test_some_bodies_matter_to_what_happens_to_the_others_and_some_do_not(drawn: Drawn) -> None:
    matters = []
    for scene, run in drawn:
        for name in scene.actors:
            without = scene.model_copy(update={"bodies": [body for body in scene.bodies if body.name != name]})
            matters.append(keys(run, name) != keys(roll_out(without), name))
    assert 0 < np.mean(matters) < 1

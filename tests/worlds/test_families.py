"""Each family of scenes: what it draws is as its rules say, the same for the same seed, and not near a tie."""

import numpy as np
import pytest

pytest.importorskip("mujoco")

from lmms_eval_tasks.worlds.physics.nearly_equal import nearly_equal
from lmms_eval_tasks.worlds.physics.rollout import Rollout, roll_out
from lmms_eval_tasks.worlds.scenes.families import families
from lmms_eval_tasks.worlds.scenes.scene import Body, Scene

pytestmark = pytest.mark.slow

NAMES = tuple(families())
SEEDS = range(2)


def _draw(name: str, seed: int) -> Scene:
    return families()[name].draw(f"{name}_{seed}", seed, np.random.default_rng(seed))


def _keys(run: Rollout) -> frozenset:
    return frozenset(event.key for event in run.events if event.kind != "stops")


@pytest.fixture(scope="module", params=NAMES)
def drawn(request: pytest.FixtureRequest) -> list[tuple[Scene, Rollout]]:
    scenes = [_draw(request.param, seed) for seed in SEEDS]
    return [(scene, roll_out(scene)) for scene in scenes]


def test_same_seed_gives_the_same_scene_and_other_seeds_give_others(drawn):
    scenes = [scene for scene, _ in drawn]
    assert scenes == [_draw(scene.family, scene.seed) for scene in scenes]
    assert len({scene.model_dump_json(exclude={"id", "seed"}) for scene in scenes}) == len(scenes)


def test_scene_says_which_family_made_it(drawn):
    for scene, _ in drawn:
        assert scene.family in NAMES
        assert scene.depth >= 1
        assert all(body.name.startswith(body.colour) for body in scene.bodies)
        assert all((body.colour in ("grey", "brown")) == body.scenery for body in scene.bodies)


def test_something_happens_in_the_first_three_seconds(drawn):
    for scene, run in drawn:
        assert any(event.kind in ("hits", "falls", "enters") and event.time < 3 for event in run.events), scene.id


def test_action_begins_in_view(drawn):
    for scene, _ in drawn:
        for body in scene.bodies:
            x, y, z = body.place
            assert abs(x) < 1.45 and abs(y) < 1.1 and z < 1.25, (scene.id, body.name)


def test_bodies_that_have_no_part_stay_where_they_are(drawn):
    """They are the last ones of a scene. In some families they are a chain of their own, or the second tower."""
    for scene, run in drawn:
        if scene.family in ("crossing", "stack", "two_chains"):
            continue
        for body in scene.bodies[len(scene.bodies) - scene.distractors :]:
            assert not any(body.velocity), (scene.id, body.name)
            assert not [event for event in run.events if body.name in (event.body, event.other)], (scene.id, body.name)


def test_nothing_starts_inside_another_body(drawn):
    """A body that does would be thrown out within the first hundredth of a second."""
    for scene, _ in drawn:
        run = roll_out(scene.model_copy(update={"seconds": 0.25}))
        for body in scene.bodies:
            if body.moves == "freely" and not any(body.velocity):
                rise = run.places[body.name][1][2] - body.place[2]
                assert rise < 0.003, (scene.id, body.name)


def test_candidates_for_a_twin_change_one_field_of_one_body(drawn):
    changed = 0
    for scene, run in drawn:
        twins = families()[scene.family].vary(scene, np.random.default_rng(scene.seed))
        assert twins, scene.id
        assert list(twins) == list(families()[scene.family].vary(scene, np.random.default_rng(scene.seed)))
        for twin in twins:
            differing = _differing(scene.body(twin.name), twin)
            assert len(differing) == 1 and differing < {"velocity", "mass", "friction", "place", "bounce", "size"}
        outcomes = [_keys(roll_out(_with(scene, twin))) for twin in twins]
        changed += any(outcome != _keys(run) for outcome in outcomes)
    assert changed >= 0.7 * len(drawn)


def _differing(one: Body, other: Body) -> set[str]:
    return {name for name in Body.model_fields if getattr(one, name) != getattr(other, name)}


def _with(scene: Scene, body: Body) -> Scene:
    return scene.model_copy(update={"bodies": [body if other.name == body.name else other for other in scene.bodies]})


def test_most_scenes_are_not_near_a_tie(drawn):
    agree = [all(_keys(roll_out(near)) == _keys(run) for near in nearly_equal(scene)[:2]) for scene, run in drawn]
    assert np.mean(agree) >= 0.5


def test_some_bodies_matter_and_some_do_not(drawn):
    """Whether what happens to the others differs when a body is not there."""
    matters = []
    for scene, run in drawn[:2]:
        for name in scene.actors:
            without = scene.model_copy(update={"bodies": [body for body in scene.bodies if body.name != name]})
            others = {key for key in _keys(run) if name not in (key.body, key.other)}
            matters.append(others != {key for key in _keys(roll_out(without)) if name not in (key.body, key.other)})
    assert 0 < np.mean(matters) < 1

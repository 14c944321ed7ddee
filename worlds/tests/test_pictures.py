"""What is seen of scenes, and where."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from expected import Expected
from small_worlds import Look, ball, body, rolling, scene, wall

from lmms_eval_worlds.card import FRAME
from lmms_eval_worlds.drafts import SceneDraft
from lmms_eval_worlds.physics.mechanics import build_model, start
from lmms_eval_worlds.physics.pictures import _box, camera_at, events_of_view, picture_model
from lmms_eval_worlds.scenes.scene import COLOURS, FLOORS, Camera, Hinge, Sight

WIDTH, HEIGHT = FRAME
SQUARE = 32
LEVEL = Camera(place=[0, -3, 0.15], target=[0, 0, 0.15])
"""Looks along y at the height of a ball on the floor, 3 m away, with 42 degrees from top to bottom."""


def test_bodies_leave_view_and_come_into_it() -> None:
    times = {"a": (0.0, 0.25, 1.0), "b": (0.25, 0.5, 0.75, 1.0)}
    sights = [Sight(body=name, time=time, box=[0, 0, 9, 9], visible=1.0) for name in times for time in times[name]]
    found = [(event.kind, event.body, event.time) for event in events_of_view(sights)]
    assert found == [("comes into view", "b", 0.25), ("leaves view", "a", 0.5), ("comes into view", "a", 1.0)]
    assert events_of_view([]) == []


def test_a_box_goes_from_its_first_pixel_to_the_far_edge_of_its_last() -> None:
    pixels = np.zeros((6, 9), dtype=bool)
    pixels[2, 3:8] = pixels[3, 5] = True
    assert _box(pixels) == [3.0, 2.0, 8.0, 4.0]


def test_the_camera_travels_to_its_right_and_looks_at_its_target() -> None:
    shown = scene(ball("red", 0.0), camera=Camera(place=[0, -3, 1], target=[0, 0, 0.2], travel=0.8))
    places = []
    for share in (-0.5, 0.0, 0.5):
        place, turned = camera_at(shown, share)
        assert np.allclose(turned.T @ turned, np.eye(3)) and np.isclose(np.linalg.det(turned), 1.0)
        towards = np.array([0.0, 0.0, 0.2]) - place
        assert np.allclose(-turned[:, 2], towards / np.linalg.norm(towards)) and np.isclose(turned[2, 0], 0.0)
        places.append(place.tolist())
    assert np.allclose(places, [[-0.4, -3.0, 1.0], [0.0, -3.0, 1.0], [0.4, -3.0, 1.0]])


def test_looks_change_nothing_of_how_bodies_move() -> None:
    for floor in FLOORS:
        shown = rolling().model_copy(update={"floor": floor})
        plain, dressed = build_model(shown), picture_model(shown)
        assert (plain.ntex, dressed.ntex) == (0, 2)
        ran = [start(model, shown) for model in (plain, dressed)]
        for model, data in zip((plain, dressed), ran, strict=True):
            mujoco.mj_step(model, data, 100)
        assert np.array_equal(ran[0].qpos, ran[1].qpos)


def test_each_floor_is_painted_the_same_under_the_same_sky_and_light(expected: Expected) -> None:
    arrays = (
        *("geom_size", "geom_rgba", "geom_matid", "light_pos", "light_dir", "light_diffuse", "light_specular"),
        *("light_castshadow", "mat_texrepeat", "mat_texuniform", "mat_specular", "mat_shininess", "cam_fovy"),
    )
    tray = body("brown tray", [0.2, 0.2, 0.05], [0.5, 0.0, 0.05], moves="not at all", scenery=True)
    balls = [ball(colour, 0.3 * place, -0.5) for place, colour in enumerate(COLOURS)]
    at, swings = Hinge(point=[0.0, 0.0, 1.2], axis="y"), {"moves": "about its hinge"}
    hangs = body("red ball on a rod", [0.1], [0.0, 0.0, 0.5], hinge=at, **swings)
    parts: dict[str, str] = {}
    for floor in FLOORS:
        model = picture_model(scene(*balls, tray, hangs, floor=floor))
        look, quality = model.vis, model.vis.quality
        light = look.headlight.ambient, look.headlight.diffuse, look.headlight.specular, look.rgba.haze
        far = look.map.znear, look.map.zfar, look.map.shadowclip, look.map.haze, model.stat.extent, *model.stat.center
        found = [np.asarray(getattr(model, name), float) for name in arrays] + list(map(np.asarray, (*light, far)))
        parts[f"{floor}: what is painted"] = model.tex_data.tobytes().hex()
        parts[f"{floor}: bodies, light and camera"] = str(
            [quality.shadowsize, quality.offsamples, *(one.astype(float).round(6).tolist() for one in found)]
        )
    expected.digests(parts)


@pytest.mark.slow
def test_a_scene_looks_the_same(look: Look, drafts: list[SceneDraft], expected: Expected) -> None:
    """Means of red, green and blue in squares of its last frame; boxes and shares in percent of bodies at the start."""
    asked = {one.scene.family: one.scene.model_copy(update={"seconds": 0.25}) for one in reversed(drafts)}
    # Of the two small balls one has too few pixels to be seen.
    small = [ball(colour, x, radius=radius) for colour, x, radius in (("red", -0.3, 0.02), ("green", 0.3, 0.01))]
    shown, lines = [asked["ramp"], asked["chain"], scene(*small, seconds=0.25, camera=LEVEL)], list[str]()
    for one, seen in zip(shown, look([(one, None) for one in shown]), strict=True):
        squares = seen.frames[-1].reshape(HEIGHT // SQUARE, SQUARE, WIDTH // SQUARE, SQUARE, 3).mean(axis=(1, 3))
        lines += [one.id, *(" ".join(f"{value:.1f}" for value in row.ravel()) for row in squares)]
        lines += [f"{sight.body} {sight.time} {sight.box} {100 * sight.visible:.1f}" for sight in seen.sights]
    expected.within("\n".join(lines), 1.0)


@pytest.mark.slow
def test_a_body_is_seen_where_the_camera_projects_it_and_what_stands_before_it_hides_its_share(look: Look) -> None:
    red, green = ball("red", 0.0, radius=0.15), ball("green", 1.0, 0.5, radius=0.15)
    walls = [wall([x, -0.3, 0.3], [0.3, 0.02, 0.3]) for x in (0.3, 0.0)]
    bodies = [[ball("red", 0.5, radius=0.15)], *([red, green, one] for one in walls)]
    aside, half, whole = look([(scene(*some, seconds=0.25, camera=LEVEL), None) for some in bodies])
    assert [frame.shape for frame in aside.frames] == [(HEIGHT, WIDTH, 3)] * 3
    pixels = HEIGHT / 2 / np.tan(np.radians(21))
    (found,) = aside.sights
    assert (found.body, found.time, found.visible) == ("red ball", 0.0, 1.0)
    centre = np.array([found.box[0] + found.box[2], found.box[1] + found.box[3]]) / 2
    assert np.allclose(centre, [WIDTH / 2 + pixels * 0.5 / 3, HEIGHT / 2], atol=2.0)
    assert found.box[3] - found.box[1] == pytest.approx(2 * pixels * 0.15 / 3, abs=2.0)
    level = aside.frames[0][HEIGHT // 2, int(centre[0])].astype(int)
    assert level[0] > 2 * level[1] and level[0] > 2 * level[2]
    shares = {found.body: found.visible for found in half.sights}
    assert shares["red ball"] == pytest.approx(0.5, abs=0.05) and shares["green ball"] == 1.0
    assert [found.body for found in whole.sights] == ["green ball"]


@pytest.mark.slow
def test_scenes_that_differ_later_look_alike_at_the_start(look: Look) -> None:
    travelling = scene(ball("red", 0.0, -0.8), seconds=0.5, camera=Camera(travel=0.6))
    shown = (rolling(), rolling(velocity=0.9), rolling(), travelling)
    one, other, again, travelled = look([(one, None) for one in shown])
    assert np.array_equal(one.frames[0], other.frames[0]) and not np.array_equal(one.frames[-1], other.frames[-1])
    assert all(np.array_equal(*pair) for pair in zip(one.frames, again.frames, strict=True))
    # What is nearer than the target goes to the left where the camera goes to the right.
    assert travelled.sights[-1].box[0] < travelled.sights[0].box[0] - 10

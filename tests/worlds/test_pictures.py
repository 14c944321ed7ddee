"""What is seen of scenes: names and codes of clips without a renderer, frames and sights with one."""

from __future__ import annotations

import io
from typing import Any

import av
import numpy as np
import pytest
from small_worlds import Looked, ball, look, rolling, scene, wall

from lmms_eval_tasks.worlds.physics.filming import SceneClip, comment_of, encode_frames
from lmms_eval_tasks.worlds.physics.processes import Renderers
from lmms_eval_tasks.worlds.scenes.scene import FLOORS, Camera, Scene, Sight, Violation

HEIGHT, WIDTH = 288, 384
VANISHES = Violation(principle="permanence", body="red ball", time=0.2)


def seen(process: Renderers, shown: Scene) -> Looked:
    ((_, answer),) = process.each(look, [shown])
    assert not answer.refused, answer.refused
    looked: Looked = answer.result
    return looked


def gradient(count: int) -> list[Any]:
    """Frames over which a bright patch moves."""
    frames = []
    for number in range(count):
        frame = np.full((96, 128, 3), (60, 90, 120), np.uint8)
        frame[40:64, 8 * number : 8 * number + 24] = (200, 40, 40)
        frames.append(frame)
    return frames


def decoded(content: bytes) -> list[Any]:
    with av.open(io.BytesIO(content)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def test_a_clip_is_named_after_its_scene_and_what_is_done_to_it() -> None:
    shown = rolling("chain_7")
    clips = [SceneClip(shown), SceneClip(shown, backwards=True), SceneClip(shown, violation=VANISHES)]
    assert [clip.name for clip in clips] == ["chain_7.mp4", "chain_7_backwards.mp4", "chain_7_breaks_permanence.mp4"]
    with pytest.raises(ValueError, match="backwards or breaks a principle"):
        SceneClip(shown, backwards=True, violation=VANISHES)


def test_a_digest_changes_with_all_that_changes_the_frames() -> None:
    shown = rolling()
    later = VANISHES.model_copy(update={"time": 0.3})
    clips = [SceneClip(shown), SceneClip(shown, backwards=True), SceneClip(rolling(velocity=1.6))]
    clips += [SceneClip(shown, violation=violation) for violation in (VANISHES, later)]
    assert len({clip.digest for clip in clips}) == 5
    assert SceneClip(shown).digest == SceneClip(Scene.model_validate_json(shown.model_dump_json())).digest


def test_the_same_frames_give_the_same_bytes_and_are_hardly_changed(tmp_path: Any) -> None:
    frames = gradient(8)
    content = encode_frames(frames, 12, "0123")
    assert encode_frames(frames, 12, "0123") == content
    shown = decoded(content)
    assert len(shown) == 8
    assert max(np.abs(one.astype(int) - other).mean() for one, other in zip(shown, frames, strict=True)) < 4
    path = tmp_path / "clip.mp4"
    path.write_bytes(content)
    assert comment_of(path) == "0123"
    with av.open(str(path)) as container:
        (stream,) = container.streams
        assert (stream.codec_context.name, stream.average_rate, stream.pix_fmt) == ("h264", 12, "yuv420p")


def test_a_file_that_is_no_clip_carries_no_text(tmp_path: Any) -> None:
    (tmp_path / "half.mp4").write_bytes(encode_frames(gradient(4), 12, "0123")[:200])
    assert comment_of(tmp_path / "half.mp4") is None and comment_of(tmp_path / "none.mp4") is None


def test_clips_that_start_alike_start_with_the_same_pixels() -> None:
    """What comes later, still or moving, leaves no trace in the first picture."""
    moving, still = gradient(12), gradient(1) * 12
    first, other = (decoded(encode_frames(frames, 12, "of a test")) for frames in (moving, still))
    assert np.array_equal(first[0], other[0])
    assert not np.array_equal(first[-1], other[-1])


def test_a_clip_and_its_reversal_are_coded_alike() -> None:
    """Where frames are a palindrome, nothing is left that could tell the direction: bytes are equal."""
    frames = gradient(6)
    palindrome = [*frames, *frames[::-1]]
    assert encode_frames(palindrome[::-1], 12, "") == encode_frames(palindrome, 12, "")
    backward = decoded(encode_frames(frames[::-1], 12, ""))
    assert np.abs(backward[0].astype(int) - frames[-1]).mean() < 4


def sight(body: str, time: float) -> Sight:
    return Sight(body=body, time=time, box=[0.0, 0.0, 9.0, 9.0], visible=1.0)


def test_bodies_leave_view_and_come_into_it() -> None:
    pytest.importorskip("mujoco", reason="the extra worlds is not installed")
    from lmms_eval_tasks.worlds.physics.pictures import events_of_view

    sights = [sight("a", time) for time in (0.0, 0.25, 1.0)] + [sight("b", time) for time in (0.25, 0.5, 0.75, 1.0)]
    found = [(event.kind, event.body, event.time) for event in events_of_view(sights)]
    assert found == [("comes into view", "b", 0.25), ("leaves view", "a", 0.5), ("comes into view", "a", 1.0)]
    assert events_of_view([]) == []


def test_the_camera_travels_to_its_right_and_looks_at_its_target() -> None:
    pytest.importorskip("mujoco", reason="the extra worlds is not installed")
    from lmms_eval_tasks.worlds.physics.pictures import camera_at

    shown = scene(ball("red", [0.0, 0.0, 0.15]), camera=Camera(place=[0, -3, 1], target=[0, 0, 0.2], travel=0.8))
    places = []
    for share in (-0.5, 0.0, 0.5):
        place, turned = camera_at(shown, share)
        assert np.allclose(turned.T @ turned, np.eye(3)) and np.isclose(np.linalg.det(turned), 1.0)
        towards = np.array([0.0, 0.0, 0.2]) - place
        assert np.allclose(-turned[:, 2], towards / np.linalg.norm(towards)) and np.isclose(turned[2, 0], 0.0)
        places.append(place.tolist())
    assert np.allclose(places, [[-0.4, -3, 1], [0, -3, 1], [0.4, -3, 1]])


def test_looks_change_nothing_of_how_bodies_move() -> None:
    mujoco = pytest.importorskip("mujoco", reason="the extra worlds is not installed")
    from lmms_eval_tasks.worlds.physics.mechanics import build_model, start
    from lmms_eval_tasks.worlds.physics.pictures import dress

    for floor in FLOORS:
        shown = rolling().model_copy(update={"floor": floor})
        plain, dressed = build_model(shown), build_model(shown)
        dress(dressed, shown)
        assert not np.array_equal(plain.tex_data, dressed.tex_data)
        states = []
        for model in (plain, dressed):
            data = start(model, shown)
            mujoco.mj_step(model, data, 100)
            states.append(data.qpos.copy())
        assert np.array_equal(*states)


def test_a_body_is_seen_where_the_camera_projects_it(rendering_process: Renderers) -> None:
    """By hand: the camera looks along y at the ball's height, 3 m away, with 42 degrees from top to bottom."""
    camera = Camera(place=[0, -3, 0.15], target=[0, 0, 0.15])
    shown = scene(ball("red", [0.5, 0.0, 0.15]), seconds=0.25, camera=camera)
    looked = seen(rendering_process, shown)
    assert [frame.shape for frame in looked.frames] == [(HEIGHT, WIDTH, 3)] * 3
    pixels = HEIGHT / 2 / np.tan(np.radians(21))
    (found,) = looked.sights
    assert found.body == "red ball" and found.time == 0.0 and found.visible == 1.0
    centre = np.array([found.box[0] + found.box[2], found.box[1] + found.box[3]]) / 2
    assert np.allclose(centre, [WIDTH / 2 + pixels * 0.5 / 3, HEIGHT / 2], atol=2.0)
    assert found.box[3] - found.box[1] == pytest.approx(2 * pixels * 0.15 / 3, abs=2.0)
    red, green, blue = looked.frames[0][HEIGHT // 2, int(centre[0])].astype(int)
    assert red > 2 * green and red > 2 * blue


def test_what_stands_before_a_body_hides_its_share(rendering_process: Renderers) -> None:
    camera = Camera(place=[0, -3, 0.15], target=[0, 0, 0.15])
    red, green = ball("red", [0.0, 0.0, 0.15]), ball("green", [1.0, 0.5, 0.15])
    half = scene(red, green, wall([0.3, -0.3, 0.3], [0.3, 0.02, 0.3]), seconds=0.25, camera=camera)
    whole = scene(red, green, wall([0.0, -0.3, 0.3], [0.3, 0.02, 0.3]), seconds=0.25, camera=camera)
    shares = {found.body: found.visible for found in seen(rendering_process, half).sights}
    assert shares["red ball"] == pytest.approx(0.5, abs=0.05) and shares["green ball"] == 1.0
    assert [found.body for found in seen(rendering_process, whole).sights] == ["green ball"]


def test_scenes_that_differ_later_look_alike_at_the_start(rendering_process: Renderers) -> None:
    one, other = (seen(rendering_process, rolling(velocity=speed)).frames for speed in (1.5, 0.9))
    assert np.array_equal(one[0], other[0]) and not np.array_equal(one[-1], other[-1])
    again = seen(rendering_process, rolling()).frames
    assert all(np.array_equal(*pair) for pair in zip(one, again, strict=True))


def test_a_camera_that_travels_sees_what_rests_elsewhere(rendering_process: Renderers) -> None:
    shown = scene(ball("red", [0.0, -0.8, 0.15]), camera=Camera(travel=0.6))
    looked = seen(rendering_process, shown)
    first, last = looked.sights[0].box, looked.sights[-1].box
    # What is nearer than the target goes to the left where the camera goes to the right.
    assert last[0] < first[0] - 10

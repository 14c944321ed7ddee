import random
from dataclasses import replace

import numpy as np
import pytest

from lmms_eval_tasks.sample.scenes.table import rims
from lmms_eval_tasks.sample.world.bodies import TOP_VIEW, FlatBody, FlatWorld
from lmms_eval_tasks.sample.world.render import boxes, render
from lmms_eval_tasks.sample.world.scene import COLOURS, HEIGHT, WIDTH, DrawnScene, draw_look, draw_skin
from lmms_eval_tasks.sample.world.video import write_clip
from lmms_eval_tasks.sample.world.vision import decode, observe


def scene_of(seed: int) -> DrawnScene:
    rng = random.Random(seed)
    bodies = tuple(
        FlatBody(f"body {i}", rng.choice(["ball", "block"]), rng.uniform(6, 8), (30.0 + 26 * i, rng.uniform(40, 100)),
             (rng.uniform(-9, 9), rng.uniform(-30, 30)))
        for i in range(6)
    )  # fmt: skip
    skins = {body.name: draw_skin(rng, colour) for body, colour in zip(bodies, COLOURS, strict=True)}
    return DrawnScene(FlatWorld(TOP_VIEW, bodies, rims()), draw_look(rng), skins, 1.0)


def test_frames_boxes_and_labels():
    scene = scene_of(0)
    trajectory = scene.simulate()
    frames, labels = render(scene)
    assert frames.shape == (12, HEIGHT, WIDTH, 3) and frames.dtype == np.uint8
    seen = boxes(labels, len(trajectory.names))
    middle = (seen[..., :2] + seen[..., 2:]) / 2
    assert middle == pytest.approx(trajectory.positions, abs=1.0)
    for i, body in enumerate(scene.world.bodies):
        assert np.ptp(seen[0, i].reshape(2, 2), axis=0) == pytest.approx(2 * body.size, abs=1.1)


def test_what_is_behind_a_screen_or_gone_has_no_box():
    scene = scene_of(1)
    hidden, gone = scene.world.bodies[:2]
    x, y = hidden.position
    world = scene.world.changing(hidden.name, velocity=(0.0, 0.0)).changing(gone.name, vanishes_at=0.5)
    covered = replace(scene, world=world, screens=((x - 12, y - 12, x + 12, y + 12),))
    seen = boxes(render(covered)[1], 6)
    assert np.isnan(seen[:, 0]).all() and not np.isnan(seen[:, 2:]).any()
    assert np.isnan(seen[:, 1, 0]).tolist() == [False] * 6 + [True] * 6


def test_clips_decode_to_their_frames_and_repeat_byte_for_byte(tmp_path):
    frames = render(scene_of(2))[0]
    for name in ("a.mp4", "b.mp4"):
        write_clip(tmp_path / name, frames)
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()
    decoded, fps = decode(tmp_path / "a.mp4")
    assert decoded.shape == frames.shape and fps == 12
    assert np.abs(decoded.astype(int) - frames).mean() < 4


@pytest.mark.parametrize("seed", range(8))
def test_every_look_can_be_seen_through(tmp_path, seed):
    scene = scene_of(seed)
    trajectory = scene.simulate()
    write_clip(tmp_path / "clip.mp4", render(scene)[0])
    observed = observe(*decode(tmp_path / "clip.mp4"))
    assert set(observed.tracks) == {scene.called(name) for name in trajectory.names}
    for name in trajectory.names:
        track = observed.tracks[scene.called(name)]
        assert track.centres == pytest.approx(trajectory.path(name), abs=1.5)
        assert track.size == pytest.approx(scene.world.body(name).size, abs=0.8)

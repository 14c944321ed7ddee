"""The sample's causal clips have a direction that a small denoiser learns; its other clips have none to learn."""

import random
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from toy_denoiser import FPS, FRAMES, PIXELS, toy_engine, train
from yocausal_records import pair_record

from lmms_eval_tasks.models.video_diffusion.denoising import AskedClips
from lmms_eval_tasks.models.video_diffusion.latents import cover
from lmms_eval_tasks.sample.scenes.reversible import CAUSAL, NOT_CAUSAL, SceneFamily
from lmms_eval_tasks.sample.world.physics import FPS as FILMED
from lmms_eval_tasks.sample.world.render import render
from lmms_eval_tasks.sample.writers.yocausal import write_pair
from lmms_eval_tasks.utils.scoring.bootstrap import estimate
from lmms_eval_tasks.yocausal.metrics import CCI, RSI_CAUSAL
from lmms_eval_tasks.yocausal.rsi import compare_losses

HELD_OUT = 80
FILMS = 240


@cache
def seen() -> list[NDArray[np.uint8]]:
    """Small pictures of causal films that are not held out, twice as many as the toy model is shown."""
    films = []
    for number in range(FILMS):
        scene, _ = CAUSAL[number % len(CAUSAL)](random.Random(f"train/{number}"))
        frames, _ = render(scene)
        # `train` shows every second frame: these stand where the protocol takes its frames of a clip.
        step = FILMED / FPS
        kept = frames[[round(step * (index // 2) + (step - 1) / 2) for index in range(2 * FRAMES)]]
        films.append(
            cover(torch.from_numpy(kept).permute(0, 3, 1, 2).float(), PIXELS, PIXELS).permute(0, 2, 3, 1).numpy()
        )
    return films


def any_seen(rng: np.random.Generator) -> NDArray[np.uint8]:
    return seen()[int(rng.integers(FILMS))]


@pytest.fixture(scope="module")
def held_out(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, list[AskedClips]]:
    folder = tmp_path_factory.mktemp("held_out")
    pairs: dict[bool, list[AskedClips]] = {True: [], False: []}
    kinds: list[tuple[bool, tuple[SceneFamily, ...]]] = [(True, CAUSAL), (False, NOT_CAUSAL)]
    for causal, families in kinds:
        for number in range(HELD_OUT):
            scene, caption = families[number % len(families)](random.Random(f"test/{number}"))
            file = f"{causal}_{number}.mp4"
            write_pair(render(scene)[0], folder, file)
            forward, backward = (Path(folder / side / file) for side in ("fwd", "bwd"))
            pairs[causal].append(AskedClips.pair(file, forward, backward, caption))
    return pairs


@pytest.mark.parametrize("backwards", [False, True])
def test_training_direction_decides_rsi_where_there_is_a_cause(
    held_out: dict[bool, list[AskedClips]], backwards: bool
) -> None:
    engine = toy_engine(train(any_seen, backwards))
    records = []
    for causal, pairs in held_out.items():
        for pair in pairs:
            answer = engine.measure(pair)
            assert answer.loss is not None, answer.error
            winner = compare_losses(answer.loss.forward, answer.loss.backward)
            records.append(pair_record(pair.item_id, "physics", winner.value, causal))
    rsi, cci = estimate(RSI_CAUSAL, [records]), CCI.score_records(records)
    assert rsi is not None and cci is not None
    if backwards:
        assert rsi.value < 35 and rsi.high < 50 and cci < 0
    else:
        assert rsi.value > 65 and rsi.low > 50 and cci > 0

"""A denoiser that has seen balls fall expects them to fall, and one that has seen them rise expects them to rise."""

import numpy as np
import pytest
from small_clips import falling_ball, write_pair
from toy_denoiser import toy_engine, train
from yocausal_records import pair_record

from lmms_eval_tasks.models.video_diffusion.denoising import AskedClips
from lmms_eval_tasks.utils.scoring.bootstrap import estimate
from lmms_eval_tasks.yocausal.card import RSI, compare_losses

HELD_OUT = 40


@pytest.fixture(scope="module")
def held_out(tmp_path_factory: pytest.TempPathFactory) -> list[AskedClips]:
    folder, rng = tmp_path_factory.mktemp("held_out"), np.random.default_rng(1000)
    return [
        AskedClips.pair(str(index), *write_pair(folder, str(index), falling_ball(rng)), "a ball falls")
        for index in range(HELD_OUT)
    ]


@pytest.mark.parametrize("backwards", [False, True])
def test_training_direction_decides_rsi(held_out: list[AskedClips], backwards: bool) -> None:
    engine = toy_engine(train(falling_ball, backwards))
    records = []
    for pair in held_out:
        answer = engine.measure(pair)
        assert answer.loss is not None, answer.error
        winner = compare_losses(answer.loss.forward, answer.loss.backward)
        records.append(pair_record(pair.item_id, "physics", winner.value))
    rsi = estimate(RSI, [records])
    assert rsi is not None
    if backwards:
        assert rsi.value < 20 and rsi.high < 50
    else:
        assert rsi.value > 80 and rsi.low > 50


def test_swapped_files_flip_the_difference_exactly(held_out: list[AskedClips]) -> None:
    engine = toy_engine(train(falling_ball, backwards=False, films=32, steps=20))
    for pair in held_out[:5]:
        here = engine.measure(pair).loss
        there = engine.measure(AskedClips.pair(pair.item_id, *reversed(pair.clips), pair.caption)).loss
        assert here is not None and there is not None
        assert here.backward - here.forward == -(there.backward - there.forward)

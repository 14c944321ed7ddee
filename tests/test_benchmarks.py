"""The measurements measure what they say."""

from __future__ import annotations

import re
from types import ModuleType

import numpy as np
import pytest
from oracles import measurement

from lmms_eval_tasks.causalvqa.card import CARD


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    return measurement("bootstrap_draws")


def test_bootstrap_draws(bench: ModuleType) -> None:
    sizes = CARD.splits["test"].strata
    rng = np.random.default_rng(0)
    right = [rng.binomial(1, 0.5, size).astype(float) for size in sizes.values()]
    members = bench.breakdown_members(list(sizes))
    assert len(members) == 25
    theirs = bench.loop(right, members, 1_000, 0)
    assert bench.peak_mb(lambda: bench.ours(right, members, 10_000, 0, "bca")) < 200
    ours = bench.ours(right, members, 10_000, 0, "percentile")
    # The first ten scores are over 67 pairs or more; 1,000 draws of the loop leave its ends that uncertain.
    assert ours[:10] == pytest.approx(theirs[:10], abs=2.0)


def test_clip_readers() -> None:
    """Both readers give the same frames, or the measurement ends."""
    bench = measurement("clip_readers")
    lines = list(bench.lines(((96, 64),), (4,), length=12, repeats=1))
    assert len(lines) == len(bench.THREADS)
    assert all(
        re.search(r"^64 lines, 4 of 12 frames, .*: ours [\d.]+ s, decord [\d.]+ s, ratio [\d.]+$", one) for one in lines
    )

"""How fast scores with all breakdowns are bootstrapped, beside a plain loop over draws, and in how much memory."""

from __future__ import annotations

import argparse
import statistics
import time
import tracemalloc
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.causalvqa.card import CARD
from lmms_eval_tasks.utils.stats.bootstrap import DRAWS, Method, Strata, breakdowns, intervals

Members = list[list[int]]
Intervals = NDArray[np.float64]


def breakdown_members(names: list[tuple[str, str]]) -> Members:
    """Of each score, the strata that it is over: all, reasoning, every type, every difficulty, every stratum."""
    every = list(range(len(names)))
    kinds, difficulties = sorted({kind for kind, _ in names}), sorted({difficulty for _, difficulty in names})
    return [
        every,
        [index for index in every if names[index][0] != "descriptive"],
        *([index for index in every if names[index][0] == kind] for kind in kinds),
        *([index for index in every if names[index][1] == difficulty] for difficulty in difficulties),
        *([index] for index in every),
    ]


def loop(right: list[NDArray[np.float64]], members: Members, draws: int, seed: int) -> Intervals:
    """The rival: each draw in turn, groups by index with numpy, then every score of that draw."""
    rng = np.random.default_rng(seed)
    scores = np.empty((draws, len(members)))
    for draw in range(draws):
        drawn = [part[rng.integers(0, len(part), len(part))] for part in right]
        sums = [part.sum() for part in drawn]
        for score, strata in enumerate(members):
            scores[draw, score] = sum(sums[index] for index in strata) / sum(len(drawn[index]) for index in strata)
    return 100 * np.percentile(scores, [2.5, 97.5], axis=0).T


def ours(right: list[NDArray[np.float64]], members: Members, draws: int, seed: int, method: Method) -> Intervals:
    """The same scores from the same data, from contributions to intervals."""
    strata = Strata.of([(100.0 * value, 1.0) for value in part.tolist()] for part in right)
    return intervals(strata, breakdowns(members), method=method, seed=seed, draws=draws)


def timed(work: Callable[[], Intervals]) -> tuple[float, Intervals]:
    started = time.perf_counter()
    found = work()
    return time.perf_counter() - started, found


def peak_mb(work: Callable[[], Intervals]) -> float:
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often ours is timed")
    rounds = parser.parse_args().rounds
    sizes = CARD.splits["test"].strata
    names = [(kind, difficulty) for kind, difficulty in sizes]
    rng = np.random.default_rng(0)
    right = [rng.binomial(1, 0.5, size).astype(float) for size in sizes.values()]
    members = breakdown_members(names)
    print(f"{sum(sizes.values())} pairs, {len(sizes)} strata, {len(members)} scores, {DRAWS:,} draws")
    rival, theirs = timed(lambda: loop(right, members, DRAWS, 0))
    print(f"loop over draws, percentile: {rival:.2f} s")
    methods: tuple[Method, ...] = ("percentile", "bca")
    for method in methods:
        work = partial(ours, right, members, DRAWS, 0, method)
        memory = peak_mb(work)
        runs = [timed(work) for _ in range(rounds)]
        spent = statistics.median(seconds for seconds, _ in runs)
        apart = np.abs(runs[0][1] - theirs).mean()
        print(
            f"ours, {method}: {1000 * spent:.1f} ms (median of {rounds}), {rival / spent:.0f} times faster, "
            f"peak {memory:.0f} MB, ends on average {apart:.2f} points from the loop's"
        )


if __name__ == "__main__":
    main()

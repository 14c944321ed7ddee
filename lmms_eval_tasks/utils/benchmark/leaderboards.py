"""Leaderboards of several benchmarks: what each takes, as the benchmarks' cards say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark

PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class LeaderboardPlace:
    """What a leaderboard takes of a benchmark: the answers to a split."""

    key: str
    benchmark: Benchmark
    split: str
    needed: bool


def places_by_leaderboard(benchmarks: Iterable[Benchmark]) -> dict[str, tuple[LeaderboardPlace, ...]]:
    """Each leaderboard that a benchmark's card names, with what it takes, in the order of the benchmarks."""
    found: dict[str, tuple[LeaderboardPlace, ...]] = {}
    for benchmark in benchmarks:
        for leaderboard, keys in benchmark.card.leaderboards.items():
            places = (
                LeaderboardPlace(key, benchmark, split, not place) for place, (split, key) in enumerate(keys.items())
            )
            found[leaderboard] = (*found.get(leaderboard, ()), *places)
    return found


def check_leaderboards(benchmark: Benchmark, others: Iterable[Benchmark]) -> None:
    """Refuse a benchmark whose leaderboards cannot take it beside the benchmarks before it."""
    others = list(others)
    before, names, own = places_by_leaderboard(others), {one.name for one in others}, benchmark.card.leaderboards
    faults = ["a leaderboard takes it, but it has no form of submission"] if own and not benchmark.submission else []
    if benchmark.name in before:
        faults.append(f"the name {benchmark.name} is a leaderboard's")
    for leaderboard, keys in own.items():
        taken = {place.key for place in before.get(leaderboard, ())}
        if leaderboard in {*names, benchmark.name}:
            faults.append(f"the leaderboard {leaderboard} has the name of a benchmark")
        faults += [f"{text!r} is no plain name" for text in (leaderboard, *keys.values()) if not PLAIN.fullmatch(text)]
        faults += [f"it has no split {split}" for split in keys if split not in benchmark.card.splits]
        repeated = {key for key in keys.values() if key in taken or [*keys.values()].count(key) > 1}
        faults += [f"the key {key} of {leaderboard} is taken" for key in sorted(repeated)]
    if faults:
        raise ValueError("; ".join(faults))

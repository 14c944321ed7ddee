"""Policies that know nothing, that end wrongly or that invent earn little: `benchmarks/reward_attacks.py` on a part."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
from reward_attacks import HONEST, NOISES, POLICIES, broken_bounds, earnings, samples_of_tests

SAMPLES = samples_of_tests()[::5]
SEED = 1


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, policies in POLICIES.items() for name in policies])
def test_a_policy_keeps_within_its_bounds(kind: str, name: str) -> None:
    earned = earnings(POLICIES[kind][name], SAMPLES, SEED)
    assert broken_bounds(kind, name, earned) == []


def test_noise_lowers_what_an_honest_answer_earns() -> None:
    for reward in ("causal", "visual", "graph"):
        policies = [*POLICIES[HONEST].values(), *NOISES.values()]
        means = [earnings(policy, SAMPLES, SEED)[reward].mean for policy in policies]
        assert all(better > worse for better, worse in pairwise(means)), (reward, means)


def test_there_are_forty_attacks() -> None:
    assert sum(len(policies) for kind, policies in POLICIES.items() if kind not in (HONEST, "noisy")) >= 40

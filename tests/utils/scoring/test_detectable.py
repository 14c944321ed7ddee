import numpy as np
import pytest
from scipy import stats

from lmms_eval_tasks.utils.scoring.compare import effect_above_chance, mcnemar, paired_effect, unpaired_effect


def test_by_hand() -> None:
    # (1.959964 + 0.841621) sqrt(2 * 0.25 / 793), and the same with a fifth of the pairs discordant.
    assert unpaired_effect(793, 0.5) == pytest.approx(0.070348, abs=1e-5)
    assert paired_effect(793, 0.2) == pytest.approx(0.044492, abs=1e-5)


def test_pairing_saves_nothing_where_runs_are_independent() -> None:
    # Two independent runs at p differ on 2 p (1 - p) of the groups.
    assert paired_effect(793, 2 * 0.3 * 0.7) == pytest.approx(unpaired_effect(793, 0.3))


def test_asking_twice_lowers_what_is_needed_to_beat_chance() -> None:
    # CausalVQA: 793 questions; a guesser gets 0.2 of single items and 0.04 of pairs.
    # (1.96 sqrt(0.04 * 0.96) + 0.8416 sqrt(0.0608 * 0.9392)) / sqrt(793) = 0.0208, and so for single items.
    single, pair = effect_above_chance(793, 0.2), effect_above_chance(793, 0.04)
    assert single == pytest.approx(0.0410, abs=0.0005)
    assert pair == pytest.approx(0.0208, abs=0.0001)


@pytest.mark.parametrize(("units", "chance"), [(793, 0.2), (793, 0.04), (9208, 0.25), (100, 0.5)])
def test_the_effect_above_chance_is_found_four_times_in_five(units: int, chance: float) -> None:
    # The power of the test of normal approximation, exactly.
    score = chance + effect_above_chance(units, chance)
    needed = units * chance + 1.959964 * (units * chance * (1 - chance)) ** 0.5
    assert stats.binom.sf(np.ceil(needed) - 1, units, score) == pytest.approx(0.8, abs=0.04)


def test_the_paired_effect_is_found_four_times_in_five() -> None:
    groups, discordant = 793, 0.2
    effect = paired_effect(groups, discordant)
    chances = [(discordant - effect) / 2, (discordant + effect) / 2, 1 - discordant]
    simulated = np.random.default_rng(0).multinomial(groups, chances, size=600)
    found = np.mean([mcnemar(int(one), int(other)) < 0.05 for one, other, _ in simulated])
    # The exact test is a little more careful than the formula.
    assert 0.75 < found < 0.85


def test_nothing_can_be_told_from_chance_with_one_item() -> None:
    assert effect_above_chance(1, 0.5) == 0.5
    assert effect_above_chance(10_000, 0.5) < 0.02


@pytest.mark.parametrize(("chance", "points"), [(0.2, 5.6), (0.04, 2.8)])
def test_the_smallest_differences_of_causalvqas_appendix_d(chance: float, points: float) -> None:
    assert round(100 * unpaired_effect(793, chance), 1) == points

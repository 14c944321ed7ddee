"""Which differences a benchmark of a given size can show: minimal detectable effects, in shares 0-1."""

from __future__ import annotations

LEVEL = 0.05
POWER = 0.8


def _quantiles() -> tuple[float, float]:
    """The normal quantiles z and z' of level and power."""
    from scipy.stats import norm

    return float(norm.ppf(1 - LEVEL / 2)), float(norm.ppf(POWER))


def unpaired_effect(groups: int, share: float) -> float:
    """Smallest difference between two runs that share no items: ``(z + z') sqrt(2 p (1 - p) / n)``."""
    return float(sum(_quantiles()) * (2 * share * (1 - share) / groups) ** 0.5)


def paired_effect(groups: int, discordant: float) -> float:
    """Smallest difference between two runs over the same items: ``(z + z') sqrt(d / n)``."""
    return float(sum(_quantiles()) * (discordant / groups) ** 0.5)


def effect_above_chance(units: int, chance: float) -> float:
    """By how much a score has to exceed chance: d with ``n d² = (z sqrt(c (1 - c)) + z' sqrt(s (1 - s)))²``, s = c +
    d."""
    from scipy.optimize import brentq

    z, z_power = _quantiles()

    def surplus(effect: float) -> float:
        score = chance + effect
        needed = z * (chance * (1 - chance)) ** 0.5 + z_power * max(score * (1 - score), 0.0) ** 0.5
        return float(units**0.5 * effect - needed)

    return float(brentq(surplus, 0.0, 1 - chance)) if surplus(1 - chance) > 0 else 1 - chance

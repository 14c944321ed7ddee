"""How sure YoCausal's scores are: bootstrap intervals of RSI and CCI, pairs drawn within each part of the benchmark.

Source: docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from lmms_eval_tasks.utils.stats.bootstrap import (
    DRAWS,
    Contribution,
    Strata,
    intervals,
    macro_difference,
    macro_interval,
)
from lmms_eval_tasks.yocausal.rsi import Verdict, Winner

S = TypeVar("S", str, tuple[str, bool])


def rsi_interval(
    verdicts: Iterable[Verdict], tie_credit: float = 0.0, seed: int = 0, draws: int = DRAWS
) -> tuple[float, float] | None:
    """Bootstrap interval of RSI in percent, pairs drawn within each subset; None without a scored pair.

    Subsets without a scored pair are left out, as they are from RSI. Chance is 50.
    """
    parts = _credits(verdicts, tie_credit, lambda verdict: verdict.subset)
    return macro_interval(list(parts.values()), seed=seed, draws=draws) if parts else None


def cci_interval(
    verdicts: Iterable[Verdict], tie_credit: float = 0.0, seed: int = 0, draws: int = DRAWS
) -> tuple[float, float] | None:
    """Bootstrap interval of CCI in percentage points, pairs drawn within each subset and label; BCa.

    A subset without a scored pair of one label enters only the other label's mean, as in CCI. None where no scored pair
    has the one label or the other.
    """
    labelled = [verdict for verdict in verdicts if isinstance(verdict.causal, bool)]
    parts = _credits(labelled, tie_credit, lambda verdict: (verdict.subset, bool(verdict.causal)))
    halves = [[place for place, (_, causal) in enumerate(parts) if causal is half] for half in (True, False)]
    if not all(halves):
        return None
    low, high = intervals(Strata.of(parts.values()), macro_difference(*halves), seed=seed, draws=draws)
    return float(low), float(high)


def _credits(
    verdicts: Iterable[Verdict], tie_credit: float, stratum: Callable[[Verdict], S]
) -> dict[S, list[Contribution]]:
    """What each scored pair adds to its stratum's ratio, in percent; strata in order, whatever that of the pairs."""
    credit = {Winner.FORWARD.value: 100.0, Winner.TIE.value: 100.0 * tie_credit}
    parts: dict[S, list[Contribution]] = {}
    for verdict in verdicts:
        if verdict.winner is not None:
            winner = str(getattr(verdict.winner, "value", verdict.winner))
            known = winner in {member.value for member in Winner}
            earned = credit.get(winner, 0.0) if known else 100.0 * tie_credit
            parts.setdefault(stratum(verdict), []).append((earned, 1.0))
    return dict(sorted(parts.items()))

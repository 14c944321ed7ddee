"""The claims of a sentence as they are read."""

from __future__ import annotations

from collections.abc import Iterable

from lmms_eval_tasks.train.rewards.claim import Claim
from lmms_eval_tasks.train.rewards.mentions import ABSENT
from lmms_eval_tasks.train.rewards.sample import RewardSample


class ClaimCollector:
    """Collects claims about the actions of a sample.

    Attributes:
        claims: What was stated and denied, in order.
        asked: The action that the question leaves out, `ABSENT` for one that never happened; None where there is none.
    """

    def __init__(self, sample: RewardSample) -> None:
        self.claims: list[Claim] = []
        self.asked = ABSENT if sample.absent is not None else sample.intervened
        self._queried = sample.queried

    def is_asked(self, causes: frozenset[int], effects: frozenset[int]) -> bool:
        """Whether these are the two that the question asks about."""
        return self.asked in causes and self._queried in effects

    def deny_other(self, one: frozenset[int], mutual: bool) -> None:
        """Deny a link between the two asked about, of which one is named, and "it" stands for the other."""
        asked, queried = self.asked, self._queried
        if asked in one and queried is not None:
            self.add(one, frozenset((queried,)), holds=False, mutual=mutual)
        elif queried in one and asked is not None:
            self.add(frozenset((asked,)), one, holds=False, mutual=mutual)

    def deny_asked(self, strength: float, verdict: bool = False) -> None:
        """Deny the link that the question asks about."""
        if self.asked is not None and self._queried is not None:
            self.claims.append(Claim(self.asked, self._queried, False, strength, verdict=verdict))

    def add(
        self,
        causes: Iterable[int],
        effects: Iterable[int],
        *,
        holds: bool,
        strength: float = 1.0,
        mutual: bool = False,
        verdict: bool = False,
    ) -> None:
        """A link from each of the causes to each of the effects, but from none to itself."""
        ends = tuple(effects)
        for cause in causes:
            for effect in ends:
                if cause != effect:
                    self.claims.append(Claim(cause, effect, holds, strength, mutual, verdict))

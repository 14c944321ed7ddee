"""What long work shows of how far it is."""

from __future__ import annotations

from collections import defaultdict


class ShownProgress:
    """A `Progress` that notes what it is told."""

    def __init__(self) -> None:
        self.steps: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)

    def __call__(self, what: str, done: int, total: int) -> None:
        self.steps[what].append((done, total))

    def counted(self) -> dict[str, int]:
        """What was done, and of how many it was shown that one after the other was done, from the first to the last."""
        for what, steps in self.steps.items():
            total = steps[-1][1]
            assert steps == [(number, total) for number in range(1, total + 1)], what
        return {what: len(steps) for what, steps in self.steps.items()}

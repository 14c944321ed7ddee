"""The pairs of items of one question in falling order of their cosine, without ever holding all of them."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.build.curation.vectors import Floats

TILE = 2048
"""Items of a side of a matrix of cosines: 34 MB of float64."""
KEPT = 16
"""Partners of each item that are held at a time."""
GROUP = 16
"""Cosines of a row whose greatest is looked at first."""

Ints = NDArray[np.int64]
NOTHING = -1


class RankedPairs:
    """Pairs of the items of one question with different answers and clips, the most alike first."""

    def __init__(
        self, vectors: Floats, answers: Ints, clips: Ints, alive: NDArray[np.bool_], allowed: Callable[[int, int], bool]
    ) -> None:
        """Find each item's first partners."""
        self._vectors, self._clips = vectors, clips
        # Numbers of few bytes are compared faster.
        self._answers = answers.astype(np.min_scalar_type(int(answers.max())))
        self._alive, self._allowed = alive, allowed
        self._clips_repeat = len(np.unique(clips)) < len(clips)
        items = len(vectors)
        self._scores = np.full((items, KEPT), -np.inf)
        self._partners = np.full((items, KEPT), NOTHING, dtype=np.int64)
        self._after = np.full(items, np.inf), np.full(items, NOTHING, dtype=np.int64)
        self._exhausted = np.zeros(items, dtype=bool)
        self.refused: set[int] = set()
        """Items of pairs that were not allowed."""
        self._find_first()
        self._heap: list[tuple[float, int, int, int, bool]] = []
        for item in range(items):
            self._push(item)

    def pop(self) -> tuple[float, int, int] | None:
        """The next pair: product of its vectors, first and second item; None where there is none left."""
        while self._heap:
            negative, first, second, item, is_bound = heapq.heappop(self._heap)
            if not self._alive[item]:
                continue
            if is_bound:
                if self._exhausted[item]:
                    self._find_again()
                self._push(item)
                continue
            partner = second if item == first else first
            self._after[0][item], self._after[1][item] = -negative, partner
            self._push(item)
            if not self._alive[partner]:
                continue
            if self._allowed(first, second):
                return -negative, first, second
            self.refused |= {first, second}
        return None

    def _push(self, item: int) -> None:
        """Put an item's next free partner on the heap, or where its list ends, so that it is looked for again there."""
        score, partner = self._after[0][item], self._after[1][item]
        for next_score, next_partner in zip(self._scores[item].tolist(), self._partners[item].tolist(), strict=True):
            if next_partner == NOTHING:
                return
            if next_score > score or (next_score == score and next_partner <= partner):
                continue
            if self._alive[next_partner]:
                heapq.heappush(self._heap, self._entry(item, next_score, next_partner, False))
                return
        self._after[0][item], self._after[1][item] = self._scores[item, -1], self._partners[item, -1]
        self._exhausted[item] = True
        heapq.heappush(
            self._heap, self._entry(item, float(self._scores[item, -1]), int(self._partners[item, -1]), True)
        )

    def _entry(self, item: int, score: float, partner: int, is_bound: bool) -> tuple[float, int, int, int, bool]:
        return -score, min(item, partner), max(item, partner), item, is_bound

    def _find_first(self) -> None:
        """The first partners of all items; each tile of cosines serves both of its sides."""
        items = len(self._vectors)
        every = np.arange(items)
        for start in range(0, items, TILE):
            rows = every[start : start + TILE]
            for other in range(start, items, TILE):
                columns = every[other : other + TILE]
                cosines = self._vectors[rows[0] : rows[-1] + 1] @ self._vectors[columns[0] : columns[-1] + 1].T
                self._mask(cosines, rows, columns)
                self._merge(cosines, rows, columns)
                if other > start:
                    self._merge(cosines, columns, rows, by_column=True)

    def _find_again(self) -> None:
        """The next partners, among the items that are left, of those that have few."""
        columns = np.flatnonzero(self._alive)
        known = self._partners != NOTHING
        left = (known & self._alive[self._partners]).sum(axis=1)
        rows = np.flatnonzero(self._alive & known.all(axis=1) & (self._exhausted | (left <= KEPT // 2)))
        self._exhausted[rows] = False
        self._scores[rows], self._partners[rows] = -np.inf, NOTHING
        # An item all of whose rivals have its own answer has no partner.
        free = np.bincount(self._answers[columns], minlength=int(self._answers.max()) + 1)
        rows = rows[free[self._answers[rows]] < len(columns)]
        for other in range(0, len(columns), TILE):
            part = columns[other : other + TILE]
            vectors = self._vectors[part].T
            for start in range(0, len(rows), TILE):
                some = rows[start : start + TILE]
                cosines = self._vectors[some] @ vectors
                self._mask(cosines, some, part)
                score, partner = (values[some, None] for values in self._after)
                cosines[(cosines > score) | ((cosines == score) & (part <= partner))] = -np.inf
                self._merge(cosines, some, part)

    def _mask(self, cosines: Floats, rows: Ints, columns: Ints) -> None:
        same = self._answers[rows, None] == self._answers[columns]
        if self._clips_repeat:
            same |= self._clips[rows, None] == self._clips[columns]
        np.copyto(cosines, -np.inf, where=same)

    def _merge(self, cosines: Floats, rows: Ints, columns: Ints, by_column: bool = False) -> None:
        """Keep the first partners of each row among those it has and the columns, which all come after those."""
        axis = 0 if by_column else 1
        least = np.expand_dims(self._scores[rows, -1], axis)
        groups = len(columns) // GROUP
        if groups > KEPT and np.isneginf(least).any():
            # As many groups have a greatest value of at least this, so that no lower one is among the first.
            size = groups * GROUP
            if by_column:
                greatest = cosines[:size].reshape(groups, GROUP, len(rows)).max(axis=1)
            else:
                greatest = cosines[:, :size].reshape(len(rows), groups, GROUP).max(axis=2)
            bound = np.take(np.partition(greatest, groups - KEPT, axis=axis), [groups - KEPT], axis=axis)
            least = np.maximum(least, np.nextafter(bound, -np.inf))
        hits = np.flatnonzero(cosines > least)
        if not hits.size:
            return
        row, column = np.divmod(hits, cosines.shape[1])
        if by_column:
            row, column = column, row
        values = cosines.ravel()[hits]
        touched, row_of = np.unique(row, return_inverse=True)
        changed = rows[touched]
        owner = np.concatenate([np.repeat(np.arange(len(changed)), KEPT), row_of])
        score = np.concatenate([self._scores[changed].ravel(), values])
        partner = np.concatenate([self._partners[changed].ravel(), columns[column]])
        order = np.lexsort((partner, -score, owner))
        owner, score, partner = owner[order], score[order], partner[order]
        rank = np.arange(len(owner)) - np.searchsorted(owner, np.arange(len(changed)))[owner]
        kept = rank < KEPT
        self._scores[changed[owner[kept]], rank[kept]] = score[kept]
        self._partners[changed[owner[kept]], rank[kept]] = partner[kept]

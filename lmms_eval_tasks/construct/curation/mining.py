"""Mining of minimal pairs: one question, answers that exclude each other, clips in falling order of their cosine."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby, islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.construct.curation.candidates import Candidate, Rule, answers_differ, apply_rule, plain_text
from lmms_eval_tasks.construct.curation.vectors import EXACT, Floats

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


ONE_ANSWER = "one answer"
"""Every candidate with its question has the same answer."""
CLIP_USED = "clip used"
"""Another question about its clip is in a pair."""
REFUSED = "refused"
"""The rule refused a pair with it, and no other partner was left."""
NO_PARTNER = "no partner"
"""Its partners were taken."""
LIMIT = "limit"
"""There were pairs enough."""
REASONS = (ONE_ANSWER, CLIP_USED, REFUSED, NO_PARTNER, LIMIT)

T = TypeVar("T")


@dataclass(frozen=True)
class MinedPair:
    """Two candidates with one question, and the cosine of their clips' vectors (-1 to 1, 7 decimals)."""

    first: Candidate
    second: Candidate
    cosine: float

    def to_json(self) -> dict[str, object]:
        """The pair as JSON values."""
        return {
            "skill": self.first.skill,
            "question": self.first.question,
            "cosine": self.cosine,
            **{
                f"{name}_{place}": getattr(candidate, name)
                for place, candidate in enumerate((self.first, self.second), start=1)
                for name in ("item_id", "clip", "answer")
            },
        }


@dataclass(frozen=True)
class Mining:
    """Mined pairs, and why each other candidate is in none."""

    pairs: tuple[MinedPair, ...]
    candidates: Mapping[str, int]
    unpaired: tuple[tuple[Candidate, str], ...]

    @cached_property
    def dropped(self) -> dict[str, Counter[str]]:
        """Skill to how many candidates are in no pair, by reason."""
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for candidate, reason in self.unpaired:
            counts[candidate.skill][reason] += 1
        return dict(counts)


class _Skill:
    """The pairs of one skill, over all of its questions, the most alike first."""

    def __init__(self, blocks: Sequence[tuple[slice, RankedPairs]], ranks: Ints, alive: NDArray[np.bool_]) -> None:
        """Take each question's first pair; `ranks` are those of the items' ids, `alive` is whether an item is free."""
        self._blocks, self._ranks, self._alive = blocks, ranks, alive
        self._first: list[tuple[float, int, int, int, int, int]] = []
        self._taken_from: int | None = None
        self.exhausted = False
        """Whether it was asked for a pair and had none left."""
        for block in range(len(blocks)):
            self._push(block)

    def pop(self) -> tuple[float, int, int] | None:
        """The next pair of items that are both free; None where there is none left."""
        if self._taken_from is not None:
            self._push(self._taken_from)
            self._taken_from = None
        while self._first:
            negative, _, _, first, second, block = heapq.heappop(self._first)
            if self._alive[first] and self._alive[second]:
                self._taken_from = block
                return -negative, first, second
            self._push(block)
        self.exhausted = True
        return None

    def _push(self, block: int) -> None:
        items, ranked = self._blocks[block]
        pair = ranked.pop()
        if pair is not None:
            score, first, second = pair[0], items.start + pair[1], items.start + pair[2]
            heapq.heappush(self._first, (-score, self._ranks[first], self._ranks[second], first, second, block))


def take_turns(queues: Mapping[str, Iterator[T]], per_skill: int | None, total: int | None) -> Iterator[T]:
    """Yield from the skills in turn, in alphabetical order, each as long as it has any left, so that pairs are
    balanced."""
    taken: Counter[str] = Counter()
    waiting = deque(sorted(queues) if per_skill is None or per_skill > 0 else ())
    while waiting and (total is None or taken.total() < total):
        skill = waiting.popleft()
        for given in islice(queues[skill], 1):
            yield given
            taken[skill] += 1
            if per_skill is None or taken[skill] < per_skill:
                waiting.append(skill)


def distinct_clips(candidates: Sequence[Candidate]) -> list[str]:
    """The clips of candidates, each once, in the order in which they come."""
    return list(dict.fromkeys(candidate.clip for candidate in candidates))


def mine_pairs(
    candidates: Sequence[Candidate],
    vectors: Floats,
    rule: Rule = answers_differ,
    per_skill: int | None = None,
    total: int | None = None,
) -> Mining:
    rows = {clip: row for row, clip in enumerate(distinct_clips(candidates))}
    items = sorted(candidates, key=lambda item: (item.skill, plain_text(item.question), item.item_id))
    clips = np.array([rows[item.clip] for item in items], dtype=np.int64)
    order = sorted(range(len(items)), key=lambda item: items[item].item_id)
    ranks = np.empty(len(items), dtype=np.int64)
    ranks[order] = np.arange(len(items))
    alive = np.ones(len(items), dtype=bool)
    of_clip: defaultdict[int, list[int]] = defaultdict(list)
    for item, clip in enumerate(clips.tolist()):
        of_clip[clip].append(item)
    unpaired: dict[int, str] = {}
    blocks: defaultdict[str, list[tuple[slice, RankedPairs]]] = defaultdict(list)
    for block in _questions(items):
        codes = _answer_codes(items[block])
        if codes.any():
            ranked = RankedPairs(
                vectors[clips[block]], codes, clips[block], alive[block], partial(_allowed, {}, rule, items, block)
            )
            blocks[items[block.start].skill].append((block, ranked))
        else:
            unpaired.update(dict.fromkeys(range(block.start, block.stop), ONE_ANSWER))
    skills = {skill: _Skill(parts, ranks, alive) for skill, parts in blocks.items()}
    pairs: list[MinedPair] = []
    paired: set[int] = set()
    queues = {skill: iter(pairs_of.pop, None) for skill, pairs_of in skills.items()}
    for score, first, second in take_turns(queues, per_skill, total):
        pairs.append(MinedPair(items[first], items[second], round(min(score / EXACT, 1.0), 7)))
        paired |= {first, second}
        for item in (first, second):
            alive[of_clip[int(clips[item])]] = False
    refused = {block.start + item for parts in blocks.values() for block, ranked in parts for item in ranked.refused}

    def reason_of(item: int) -> str:
        if item in unpaired:
            return unpaired[item]
        if not alive[item]:
            return CLIP_USED
        if not skills[items[item].skill].exhausted:
            return LIMIT
        return REFUSED if item in refused else NO_PARTNER

    left = tuple((candidate, reason_of(item)) for item, candidate in enumerate(items) if item not in paired)
    counts = Counter(candidate.skill for candidate in items)
    return Mining(tuple(pairs), dict(sorted(counts.items())), left)


def _questions(items: Sequence[Candidate]) -> Iterator[slice]:
    start = 0
    for _, block in groupby(items, key=lambda item: (item.skill, plain_text(item.question))):
        stop = start + sum(1 for _ in block)
        yield slice(start, stop)
        start = stop


def _answer_codes(items: Sequence[Candidate]) -> Ints:
    codes: dict[str, int] = {}
    return np.array([codes.setdefault(plain_text(item.answer), len(codes)) for item in items], dtype=np.int64)


def _allowed(
    known: dict[frozenset[str], bool],
    rule: Rule,
    items: Sequence[Candidate],
    block: slice,
    first: int,
    second: int,
) -> bool:
    """Whether the rule lets two items of a question be a pair; it is asked once for two answers."""
    one, other = items[block.start + first], items[block.start + second]
    answers = frozenset((one.answer, other.answer))
    if answers not in known:
        known[answers] = apply_rule(rule, one.question, one.answer, other.answer)
    return known[answers]

"""Mining of minimal pairs: one question, answers that exclude each other, clips in falling order of their cosine."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.construct.curation.candidates import (
    Candidate,
    Rule,
    apply_rule,
    no_answer_entails_the_other,
    plain_text,
)
from lmms_eval_tasks.construct.curation.vectors import EXACT, Floats

ROWS = 512
"""Items of a question whose cosines with all others are in memory: 200 MB where it has 50,000."""
KEPT = 16
"""Partners of each item that are held at a time."""

Ints = NDArray[np.int64]
ScoredPair = tuple[float, int, int]
"""The product of two items' vectors, and the items."""


class Partners:
    """One question's items, each with its next partners of another answer and clip, the most alike first; they grow by
    `KEPT` where an item has used its own up. `alive` says which items are free, and others change it."""

    def __init__(self, vectors: Floats, answers: Ints, clips: Ints, alive: NDArray[np.bool_]) -> None:
        self._vectors, self._answers, self._clips, self._alive = vectors, answers, clips, alive
        items = len(vectors)
        self._last_score, self._last_partner = np.full(items, np.inf), np.full(items, -1)
        self._ahead: list[deque[tuple[float, int]]] = [deque() for _ in range(items)]
        self._ended, self._complete = set(range(items)), set[int]()
        self._heap: list[tuple[float, int, int, int, bool]] = []
        """Of each item its next pair; or, where more partners have to be found first, how alike they are at most."""

    def pairs(self, allowed: Callable[[int, int], bool]) -> Iterator[ScoredPair]:
        """Yield the pairs of free items that are allowed, the most alike first."""
        self._grow()
        for item in range(len(self._vectors)):
            self._push(item)
        while self._heap:
            negative, first, second, item, is_end = heapq.heappop(self._heap)
            if is_end and item in self._ended:
                self._grow()
            elif not is_end and self._alive[first] and self._alive[second] and allowed(first, second):
                yield -negative, first, second
            if self._alive[item]:
                self._push(item)

    def _grow(self) -> None:
        """Find the next partners of all items that have none ahead."""
        wanted = np.array([item for item in self._ended if self._alive[item]], dtype=np.int64)
        self._ended.clear()
        for start in range(0, len(wanted), ROWS):
            self._grow_some(wanted[start : start + ROWS])

    def _grow_some(self, some: Ints) -> None:
        items = len(self._vectors)
        cosines = self._vectors[some] @ self._vectors.T
        score, partner = self._last_score[some, None], self._last_partner[some, None]
        before = (cosines > score) | ((cosines == score) & (np.arange(items) <= partner))
        same = (self._answers[some, None] == self._answers) | (self._clips[some, None] == self._clips)
        np.copyto(cosines, -np.inf, where=before | same | ~self._alive)
        least = np.partition(cosines, -KEPT, axis=1)[:, -KEPT] if items > KEPT else np.full(len(some), -np.inf)
        for item, row, bound in zip(some.tolist(), cosines, least, strict=True):
            found = np.flatnonzero((row >= bound) & (row > -np.inf))
            first = found[np.lexsort((found, -row[found]))[:KEPT]]
            self._ahead[item].extend(zip(row[first].tolist(), first.tolist(), strict=True))
            if len(first) < KEPT:
                self._complete.add(item)

    def _push(self, item: int) -> None:
        """Put an item's next pair into the heap; none where it has no partner any more."""
        ahead, partner = self._ahead[item], None
        while ahead and (partner is None or not self._alive[partner]):
            self._last_score[item], self._last_partner[item] = ahead.popleft()
            partner = int(self._last_partner[item])
        is_end = partner is None or not self._alive[partner]
        if is_end and item in self._complete:
            return
        if is_end:
            self._ended.add(item)
        pair = sorted((item, int(self._last_partner[item])))
        heapq.heappush(self._heap, (-float(self._last_score[item]), pair[0], pair[1], item, is_end))


ONE_ANSWER, CLIP_USED, REFUSED, NO_PARTNER, LIMIT = "one answer", "clip used", "refused", "no partner", "limit"
REASONS = {
    ONE_ANSWER: "no other to the question",
    CLIP_USED: "another question about the clip is in a pair",
    REFUSED: "by the rule",
    NO_PARTNER: "the partners were taken",
    LIMIT: "there were pairs enough",
}
"""Why a candidate is in no pair."""

T = TypeVar("T")


@dataclass(frozen=True)
class MinedPair:
    """Two candidates with one question, and the cosine of their clips' vectors (-1 to 1, 7 decimals)."""

    first: Candidate
    second: Candidate
    cosine: float

    def to_json(self) -> dict[str, object]:
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
    pairs: tuple[MinedPair, ...]
    candidates: Mapping[str, int]
    unpaired: tuple[tuple[Candidate, str], ...]

    @cached_property
    def dropped(self) -> dict[str, Counter[str]]:
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for candidate, reason in self.unpaired:
            counts[candidate.skill][reason] += 1
        return dict(counts)


def take_turns(queues: Mapping[str, Iterator[T]], per_skill: int | None, total: int | None) -> Iterator[T]:
    """Yield from the skills in turn, in alphabetical order, each as long as it has any left."""
    taken: Counter[str] = Counter()
    waiting = deque(sorted(queues) if per_skill is None or per_skill > 0 else ())
    while waiting and (total is None or taken.total() < total):
        skill = waiting.popleft()
        for given in islice(queues[skill], 1):
            yield given
            taken[skill] += 1
            if per_skill is None or taken[skill] < per_skill:
                waiting.append(skill)


def as_cosine(product: float) -> float:
    """The cosine of two vectors by their product."""
    return round(min(product / EXACT, 1.0), 7)


def distinct_clips(candidates: Sequence[Candidate]) -> list[str]:
    return list(dict.fromkeys(candidate.clip for candidate in candidates))


class _Candidates:
    """All candidates in the order of their questions, which are free, and why others are in no pair."""

    def __init__(self, candidates: Sequence[Candidate], vectors: Floats, rule: Rule) -> None:
        rows = {clip: row for row, clip in enumerate(distinct_clips(candidates))}
        self.items = sorted(candidates, key=lambda item: (item.skill, plain_text(item.question), item.item_id))
        self.clips = np.array([rows[item.clip] for item in self.items], dtype=np.int64)
        self.alive = np.ones(len(self.items), dtype=bool)
        self._vectors, self._rule = vectors, rule
        self._alone, self._refused, self._exhausted = set[int](), set[int](), set[str]()

    def by_skill(self) -> dict[str, Iterator[ScoredPair]]:
        """The pairs of each skill that has any, the most alike first; equal ones in the order of the items' ids."""
        questions: defaultdict[str, list[Iterator[tuple[float, str, str, int, int]]]] = defaultdict(list)
        start = 0
        for (skill, _), block in groupby(self.items, key=lambda item: (item.skill, plain_text(item.question))):
            numbers: dict[str, int] = {}
            codes = [numbers.setdefault(plain_text(item.answer), len(numbers)) for item in block]
            stop = start + len(codes)
            if len(numbers) > 1:
                questions[skill].append(self._of_question(slice(start, stop), np.array(codes, dtype=np.int64)))
            else:
                self._alone.update(range(start, stop))
            start = stop
        return {skill: self._of_skill(skill, of_skill) for skill, of_skill in questions.items()}

    def _of_question(self, part: slice, codes: Ints) -> Iterator[tuple[float, str, str, int, int]]:
        partners = Partners(self._vectors[self.clips[part]], codes, self.clips[part], self.alive[part])
        known: dict[frozenset[str], bool] = {}
        for score, one, other in partners.pairs(
            lambda one, other: self._allow(known, part.start + one, part.start + other)
        ):
            first, second = part.start + one, part.start + other
            yield -score, self.items[first].item_id, self.items[second].item_id, first, second

    def _allow(self, known: dict[frozenset[str], bool], first: int, second: int) -> bool:
        """Whether the rule lets two items of a question be a pair; it is asked once for two answers."""
        one, other = self.items[first], self.items[second]
        answers = frozenset((one.answer, other.answer))
        if answers not in known:
            known[answers] = apply_rule(self._rule, one.question, one.answer, other.answer)
        if not known[answers]:
            self._refused.update((first, second))
        return known[answers]

    def _of_skill(
        self, skill: str, questions: Sequence[Iterator[tuple[float, str, str, int, int]]]
    ) -> Iterator[ScoredPair]:
        for negative, _, _, first, second in heapq.merge(*questions):
            if self.alive[first] and self.alive[second]:
                yield -negative, first, second
        self._exhausted.add(skill)

    def why_unpaired(self, item: int) -> str:
        if item in self._alone:
            return ONE_ANSWER
        if not self.alive[item]:
            return CLIP_USED
        if self.items[item].skill not in self._exhausted:
            return LIMIT
        return REFUSED if item in self._refused else NO_PARTNER


def mine_pairs(
    candidates: Sequence[Candidate],
    vectors: Floats,
    rule: Rule = no_answer_entails_the_other,
    per_skill: int | None = None,
    total: int | None = None,
) -> Mining:
    """Mine pairs, given the vector of each of `distinct_clips`; equal cosines are in the order of the items' ids."""
    every = _Candidates(candidates, vectors, rule)
    of_clip: defaultdict[int, list[int]] = defaultdict(list)
    for item, clip in enumerate(every.clips.tolist()):
        of_clip[clip].append(item)
    pairs: list[MinedPair] = []
    paired: set[int] = set()
    for score, first, second in take_turns(every.by_skill(), per_skill, total):
        pairs.append(MinedPair(every.items[first], every.items[second], as_cosine(score)))
        paired |= {first, second}
        for item in (first, second):
            every.alive[of_clip[int(every.clips[item])]] = False
    left = [(candidate, every.why_unpaired(item)) for item, candidate in enumerate(every.items) if item not in paired]
    number = Counter(candidate.skill for candidate in every.items)
    return Mining(tuple(pairs), dict(sorted(number.items())), tuple(left))

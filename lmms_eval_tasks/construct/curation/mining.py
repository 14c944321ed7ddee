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


def ranked_pairs(  # noqa: C901
    vectors: Floats, answers: Ints, clips: Ints, alive: NDArray[np.bool_], allowed: Callable[[int, int], bool]
) -> Iterator[ScoredPair]:
    """Pairs of one question's free items with different answers and clips, the most alike first."""
    items = len(vectors)
    last_score, last_partner = np.full(items, np.inf), np.full(items, -1)
    ahead: list[deque[tuple[float, int]]] = [deque() for _ in range(items)]
    ended, complete = set(range(items)), set[int]()
    heap: list[tuple[float, int, int, int, bool]] = []

    def find_partners() -> None:
        wanted = np.array([item for item in ended if alive[item]], dtype=np.int64)
        ended.clear()
        for start in range(0, len(wanted), ROWS):
            some = wanted[start : start + ROWS]
            cosines = vectors[some] @ vectors.T
            score, partner = last_score[some, None], last_partner[some, None]
            before = (cosines > score) | ((cosines == score) & (np.arange(items) <= partner))
            same = (answers[some, None] == answers) | (clips[some, None] == clips)
            np.copyto(cosines, -np.inf, where=before | same | ~alive)
            least = np.partition(cosines, -KEPT, axis=1)[:, -KEPT] if items > KEPT else np.full(len(some), -np.inf)
            for item, row, bound in zip(some.tolist(), cosines, least, strict=True):
                found = np.flatnonzero((row >= bound) & (row > -np.inf))
                first = found[np.lexsort((found, -row[found]))[:KEPT]]
                ahead[item].extend(zip(row[first].tolist(), first.tolist(), strict=True))
                if len(first) < KEPT:
                    complete.add(item)

    def push(item: int) -> None:
        partner = None
        while ahead[item] and (partner is None or not alive[partner]):
            last_score[item], last_partner[item] = ahead[item].popleft()
            partner = int(last_partner[item])
        is_end = partner is None or not alive[partner]
        if is_end and item in complete:
            return
        if is_end:
            ended.add(item)
        pair = sorted((item, int(last_partner[item])))
        heapq.heappush(heap, (-float(last_score[item]), pair[0], pair[1], item, is_end))

    find_partners()
    for item in range(items):
        push(item)
    while heap:
        negative, first, second, item, is_end = heapq.heappop(heap)
        if is_end and item in ended:
            find_partners()
        elif not is_end and alive[first] and alive[second] and allowed(first, second):
            yield -negative, first, second
        if alive[item]:
            push(item)


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


def mine_pairs(  # noqa: C901
    candidates: Sequence[Candidate],
    vectors: Floats,
    rule: Rule = no_answer_entails_the_other,
    per_skill: int | None = None,
    total: int | None = None,
) -> Mining:
    """Mine pairs, given the vector of each of `distinct_clips`; equal cosines are in the order of the items' ids."""
    rows = {clip: row for row, clip in enumerate(distinct_clips(candidates))}
    items = sorted(candidates, key=lambda item: (item.skill, plain_text(item.question), item.item_id))
    clips = np.array([rows[item.clip] for item in items], dtype=np.int64)
    alive = np.ones(len(items), dtype=bool)
    unpaired: dict[int, str] = {}
    refused, exhausted = set[int](), set[str]()

    def allowed(known: dict[frozenset[str], bool], start: int, first: int, second: int) -> bool:
        """Whether the rule lets two items of a question be a pair; it is asked once for two answers."""
        one, other = items[start + first], items[start + second]
        answers = frozenset((one.answer, other.answer))
        if answers not in known:
            known[answers] = apply_rule(rule, one.question, one.answer, other.answer)
        if not known[answers]:
            refused.update((start + first, start + second))
        return known[answers]

    def of_question(start: int, stop: int, codes: Ints) -> Iterator[tuple[float, str, str, int, int]]:
        part = slice(start, stop)
        lets = partial(allowed, {}, start)
        for score, one, other in ranked_pairs(vectors[clips[part]], codes, clips[part], alive[part], lets):
            first, second = start + one, start + other
            yield -score, items[first].item_id, items[second].item_id, first, second

    def of_skill(skill: str) -> Iterator[ScoredPair]:
        for negative, _, _, first, second in heapq.merge(*questions[skill]):
            if alive[first] and alive[second]:
                yield -negative, first, second
        exhausted.add(skill)

    questions: defaultdict[str, list[Iterator[tuple[float, str, str, int, int]]]] = defaultdict(list)
    start = 0
    for (skill, _), block in groupby(items, key=lambda item: (item.skill, plain_text(item.question))):
        numbers: dict[str, int] = {}
        codes = np.array([numbers.setdefault(plain_text(item.answer), len(numbers)) for item in block], dtype=np.int64)
        stop = start + len(codes)
        if len(numbers) > 1:
            questions[skill].append(of_question(start, stop, codes))
        else:
            unpaired.update(dict.fromkeys(range(start, stop), ONE_ANSWER))
        start = stop
    of_clip: defaultdict[int, list[int]] = defaultdict(list)
    for item, clip in enumerate(clips.tolist()):
        of_clip[clip].append(item)
    pairs: list[MinedPair] = []
    paired: set[int] = set()
    for score, first, second in take_turns({skill: of_skill(skill) for skill in questions}, per_skill, total):
        pairs.append(MinedPair(items[first], items[second], as_cosine(score)))
        paired |= {first, second}
        for item in (first, second):
            alive[of_clip[int(clips[item])]] = False

    def reason_of(item: int) -> str:
        if item in unpaired:
            return unpaired[item]
        if not alive[item]:
            return CLIP_USED
        if items[item].skill not in exhausted:
            return LIMIT
        return REFUSED if item in refused else NO_PARTNER

    left = tuple((candidate, reason_of(item)) for item, candidate in enumerate(items) if item not in paired)
    return Mining(tuple(pairs), dict(sorted(Counter(candidate.skill for candidate in items).items())), left)

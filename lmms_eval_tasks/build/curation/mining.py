"""Minimal pairs mined from candidates: one question, answers that exclude each other, clips as alike as possible."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby, islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.build.curation.candidates import Candidate, plain_text
from lmms_eval_tasks.build.curation.neighbours import Ints, RankedPairs
from lmms_eval_tasks.build.curation.rules import Rule, answers_differ, apply_rule
from lmms_eval_tasks.build.curation.vectors import EXACT, Floats

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

"""Minimal pairs mined from asked clips, and balanced over skills."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Sequence

from lmms_eval_tasks.build.curation.candidates import Candidate
from lmms_eval_tasks.build.curation.mining import MinedPair, distinct_clips, mine_pairs, take_turns
from lmms_eval_tasks.build.curation.rules import find_rule
from lmms_eval_tasks.build.curation.vectors import read_vectors
from lmms_eval_tasks.build.engine.steps import PaperCount, Removed, SetStep
from lmms_eval_tasks.build.mvp.config import MvpBuildConfig
from lmms_eval_tasks.build.mvp.rows import AskedClip, MinimalPair, PairedClip
from lmms_eval_tasks.mvp.card import CARD


class MinePairs(SetStep[AskedClip, MinimalPair]):
    """Pairs clips with the same question and candidates and different answers, the most alike first."""

    name = "minimal pairs"
    takes = AskedClip
    gives = MinimalPair
    paper = PaperCount("about 70K examples", "3")

    def __init__(self, config: MvpBuildConfig) -> None:
        self._config = config
        self._rule = find_rule(config.rule)

    def run(self, rows: Sequence[AskedClip], remove: Callable[[str, Removed], None]) -> Sequence[MinimalPair]:
        """Mine the pairs of all clips."""
        by_id = {row.id: row for row in rows}
        candidates = [Candidate(row.id, row.clip, _shared(row), row.answer, row.skill) for row in rows]
        vectors = read_vectors(self._config.embeddings, self._config.ids, distinct_clips(candidates))
        mining = mine_pairs(candidates, vectors, self._allows)
        for candidate, reason in mining.unpaired:
            remove(candidate.item_id, Removed(f"in no pair: {reason}"))
        return [self._pair(by_id, pair) for pair in mining.pairs]

    def _allows(self, shared: str, first: str, second: str) -> bool:
        return self._rule(json.loads(shared)[0], first, second)

    def _pair(self, by_id: dict[str, AskedClip], mined: MinedPair) -> MinimalPair:
        """A pair, its clips and its candidates in a drawn order."""
        rows = [by_id[candidate.item_id] for candidate in (mined.first, mined.second)]
        name = "+".join(row.id for row in rows)
        chance = random.Random(f"{self._config.seed} {name}")
        first, second = chance.sample(rows[0].candidates, 2)
        one, other = (
            PairedClip(id=row.id, clip=row.clip, source=row.source, answer=row.answer) for row in chance.sample(rows, 2)
        )
        return MinimalPair(
            id=name,
            category=rows[0].category,
            skill=rows[0].skill,
            question=rows[0].question,
            candidates=(first, second),
            clips=(one, other),
            cosine=mined.cosine,
        )


class BalanceSkills(SetStep[MinimalPair, MinimalPair]):
    """Takes the most alike pairs of the skills in turn."""

    name = "balance by skill"
    takes = MinimalPair
    gives = MinimalPair
    paper = PaperCount(f"{CARD.splits['full'].groups:,} pairs", "3")

    def __init__(self, config: MvpBuildConfig) -> None:
        self._per_skill, self._total = config.per_skill, config.total

    def run(self, rows: Sequence[MinimalPair], remove: Callable[[str, Removed], None]) -> Sequence[MinimalPair]:
        """Choose among all pairs."""
        skills: defaultdict[str, list[MinimalPair]] = defaultdict(list)
        for pair in sorted(rows, key=lambda pair: (-pair.cosine, pair.id)):
            skills[pair.skill].append(pair)
        queues = {skill: iter(pairs) for skill, pairs in skills.items()}
        taken = list(take_turns(queues, self._per_skill, self._total))
        chosen = {pair.id for pair in taken}
        for pair in rows:
            if pair.id not in chosen:
                remove(pair.id, Removed("pairs enough"))
        return taken


def _shared(row: AskedClip) -> str:
    """Return the key that both clips of a pair must share, with the question first."""
    return json.dumps([row.question, row.candidates, row.source, row.category])

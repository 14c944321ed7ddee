"""Minimal pairs mined from asked clips, without those that single frames solve, and balanced over skills.

Source: MVP paper (arXiv 2506.09987), section 3 and appendix C.3: models give their best guess by common sense from a
frame. Pairs are found with the rule of `filter single-frame`.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from lmms_eval_tasks.construct.curation.candidates import Candidate, find_rule
from lmms_eval_tasks.construct.curation.mining import MinedPair, distinct_clips, mine_pairs, take_turns
from lmms_eval_tasks.construct.curation.shortcut_filters import single_frame_filter
from lmms_eval_tasks.construct.curation.vectors import read_vectors
from lmms_eval_tasks.construct.engine.steps import Asking, Forecast, PaperCount, Removed, RowStep, SetStep
from lmms_eval_tasks.construct.mvp.rows import AskedClip, MinimalPair, MvpBuildConfig, PairedClip
from lmms_eval_tasks.mvp.card import CARD
from lmms_eval_tasks.utils.answers.opening import content
from lmms_eval_tasks.utils.data.frames import PyavFrames
from lmms_eval_tasks.utils.data.pictures import as_jpeg
from lmms_eval_tasks.utils.data.release import UnreadableClip
from lmms_eval_tasks.utils.judge.client import UnreadableReply
from lmms_eval_tasks.utils.scoring.record import FRAME, Outcome, Record

LETTERS = ("A", "B")
SIDE = 512
"""Pixels of a frame's longer side, at most."""

_REPLY = re.compile(r"(?:ANSWER:)?\s*(A|B)\s+END\.?", re.IGNORECASE)


class FilterSingleFrames(RowStep[MinimalPair, MinimalPair]):
    """Removes pairs both of whose clips vision models tell from single frames."""

    name = "single-frame filter"
    takes = MinimalPair
    gives = MinimalPair
    paper = PaperCount("about 20% out", "C.3")

    def __init__(self, config: MvpBuildConfig) -> None:
        self._config = config
        self._filter = config.single_frame
        asked = 2.0 * self._filter.frames * len(self._filter.roles)
        self.roles = self._filter.roles
        self.forecast = Forecast(requests=asked, characters=900, images=1, reply_tokens=10, rows=0.8)

    def run(self, row: MinimalPair, asking: Asking) -> Sequence[MinimalPair]:
        """Ask about frames of one clip, and where they tell it, of the other."""
        shares = []
        for clip in row.clips:
            records = list(self._ask(row, clip, asking))
            models = {role: {row.id: [one for name, one in records if name == role]} for role in self._filter.roles}
            (group,) = single_frame_filter(models, self._filter.model_share, self._filter.frame_share)
            if not group.removed:
                return [row]
            shares.append(group.why.rpartition(": ")[2])
        raise Removed("single frames tell both clips", f"solvable frames: {' and '.join(shares)}")

    def _ask(self, row: MinimalPair, clip: PairedClip, asking: Asking) -> Iterator[tuple[str, Record]]:
        """Each model's answer to each frame of a clip."""
        try:
            with asking.heavy():
                reader = PyavFrames(self._config.videos / clip.clip, threads=1)
                chosen = frame_numbers(reader.count, self._filter.frames)
                images = [as_jpeg(picture, SIDE) for picture in reader.read(chosen)]
        except UnreadableClip as error:
            raise Removed("a clip that cannot be decoded", str(error)) from error
        key = LETTERS[row.candidates.index(clip.answer)]
        options = dict(zip(LETTERS, row.candidates, strict=True))
        for number, image in zip(chosen, images, strict=True):
            for role in self._filter.roles:
                answered = asking.ask_text(
                    role, "mvp_single_frame", read_letter, [image], question=row.question, options=options
                )
                outcome = Outcome.CORRECT if answered == key else Outcome.WRONG
                yield role, Record(clip.id, clip.id, {}, key, answered, outcome, fields={FRAME: number})


def frame_numbers(count: int, wanted: int) -> list[int]:
    """Frames at equal distances, half a distance from both ends; one alone is the middle one, all of a short clip."""
    return sorted({int((place + 0.5) * count / wanted) for place in range(wanted)})


def read_letter(text: str) -> str:
    """The answer in a reply, A or B: whoever is asked has to guess."""
    reply = content(text)
    if not reply.rstrip(".").upper().endswith("END"):
        raise UnreadableReply("missing END")
    match = _REPLY.fullmatch(reply)
    if match is None:
        raise UnreadableReply("another form")
    return match[1].upper()


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

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

from lmms_eval_tasks.construct.curation.candidates import Candidate
from lmms_eval_tasks.construct.curation.mining import distinct_clips, mine_pairs, take_turns
from lmms_eval_tasks.construct.curation.shortcut_filters import single_frame_filter
from lmms_eval_tasks.construct.curation.vectors import read_vectors
from lmms_eval_tasks.construct.engine.steps import Asking, Forecast, Remove, Removed, Step, step
from lmms_eval_tasks.construct.mvp.rows import AskedClip, MinimalPair, MvpBuildConfig, PairedClip
from lmms_eval_tasks.mvp.benchmark import CARD
from lmms_eval_tasks.utils.answers.opening import content
from lmms_eval_tasks.utils.data.frames import PyavFrames
from lmms_eval_tasks.utils.data.pictures import as_jpeg
from lmms_eval_tasks.utils.data.release import UnreadableClip
from lmms_eval_tasks.utils.judge.client import UnreadableReply
from lmms_eval_tasks.utils.scoring.record import FRAME, Outcome, Record

Rule = Callable[[str, str, str], bool]
"""Whether two answers to a question exclude each other."""


@step("minimal pairs", paper="about 70K examples", section="3")
def find_pairs(rows: Sequence[AskedClip], remove: Remove, config: MvpBuildConfig, rule: Rule) -> list[MinimalPair]:
    """Pair clips with the same question and candidates and different answers, the most alike first."""
    by_id = {row.id: row for row in rows}
    # Both clips of a pair share this text, in which the question comes first.
    shared = {row.id: json.dumps([row.question, row.candidates, row.source, row.category]) for row in rows}
    candidates = [Candidate(row.id, row.clip, shared[row.id], row.answer, row.skill) for row in rows]
    vectors = read_vectors(config.embeddings, config.ids, distinct_clips(candidates))
    mining = mine_pairs(candidates, vectors, lambda text, one, other: rule(json.loads(text)[0], one, other))
    for candidate, reason in mining.unpaired:
        remove(candidate.item_id, Removed(f"in no pair: {reason}"))
    pairs = []
    for mined in mining.pairs:
        members = [by_id[candidate.item_id] for candidate in (mined.first, mined.second)]
        name = "+".join(row.id for row in members)
        chance = random.Random(f"{config.seed} {name}")
        first, second = chance.sample(members[0].candidates, 2)
        one, other = (
            PairedClip(**row.model_dump(include=set(PairedClip.model_fields))) for row in chance.sample(members, 2)
        )
        pairs.append(
            MinimalPair(
                **{**members[0].model_dump(include={"category", "skill", "question"}), "id": name},
                candidates=(first, second),
                clips=(one, other),
                cosine=mined.cosine,
            )
        )
    return pairs


LETTERS = ("A", "B")
SIDE = 512
"""Pixels of a frame's longer side, at most."""
_REPLY = re.compile(r"(?:ANSWER:)?\s*(A|B)\s+END\.?", re.IGNORECASE)


@step("single-frame filter", paper="about 20% out", section="C.3")
def filter_single_frames(row: MinimalPair, asking: Asking, config: MvpBuildConfig) -> MinimalPair:
    """Remove a pair both of whose clips vision models tell from single frames; ask about the second clip only where
    they tell the first."""
    settings = config.single_frame
    shares = []
    for clip in row.clips:
        records = list(_frame_answers(row, clip, asking, config))
        models = {role: {row.id: [one for name, one in records if name == role]} for role in settings.roles}
        (group,) = single_frame_filter(models, settings.model_share, settings.frame_share)
        if not group.removed:
            return row
        shares.append(group.why.rpartition(": ")[2])
    raise Removed("single frames tell both clips", f"solvable frames: {' and '.join(shares)}")


def single_frame_step(config: MvpBuildConfig) -> Step:
    settings = config.single_frame
    requests = 2.0 * settings.frames * len(settings.roles)
    forecast = Forecast(requests, characters=900, images=1, reply_tokens=10, rows=0.8)
    return filter_single_frames.given(config, roles=settings.roles, forecast=forecast)


def _frame_answers(
    row: MinimalPair, clip: PairedClip, asking: Asking, config: MvpBuildConfig
) -> Iterator[tuple[str, Record]]:
    try:
        with asking.heavy():
            reader = PyavFrames(config.videos / clip.clip, threads=1)
            chosen = frame_numbers(reader.count, config.single_frame.frames)
            images = [as_jpeg(picture, SIDE) for picture in reader.read(chosen)]
    except UnreadableClip as error:
        raise Removed("a clip that cannot be decoded", str(error)) from error
    key = LETTERS[row.candidates.index(clip.answer)]
    options = dict(zip(LETTERS, row.candidates, strict=True))
    for number, image in zip(chosen, images, strict=True):
        for role in config.single_frame.roles:
            answered = asking.ask_text(
                role, "mvp_single_frame", read_letter, [image], question=row.question, options=options
            )
            outcome = Outcome.CORRECT if answered == key else Outcome.WRONG
            yield role, Record(clip.id, clip.id, {}, key, answered, outcome, fields={FRAME: number})


def frame_numbers(count: int, wanted: int) -> list[int]:
    """Return frames at equal distances, half a distance from both ends; all of a short clip."""
    return sorted({int((place + 0.5) * count / wanted) for place in range(wanted)})


def read_letter(text: str) -> str:
    """Return the answer in a reply, A or B: whoever is asked has to guess."""
    reply = content(text)
    if not reply.rstrip(".").upper().endswith("END"):
        raise UnreadableReply("missing END")
    match = _REPLY.fullmatch(reply)
    if match is None:
        raise UnreadableReply("another form")
    return match[1].upper()


@step("balance by skill", paper=f"{CARD.splits['full'].groups:,} pairs", section="3")
def balance_skills(rows: Sequence[MinimalPair], remove: Remove, config: MvpBuildConfig) -> list[MinimalPair]:
    skills: defaultdict[str, list[MinimalPair]] = defaultdict(list)
    for pair in sorted(rows, key=lambda pair: (-pair.cosine, pair.id)):
        skills[pair.skill].append(pair)
    queues = {skill: iter(pairs) for skill, pairs in skills.items()}
    taken = list(take_turns(queues, config.per_skill, config.total))
    chosen = {pair.id for pair in taken}
    for pair in rows:
        if pair.id not in chosen:
            remove(pair.id, Removed("pairs enough"))
    return taken

"""The pipeline of an MVP build, from sources' annotations to minimal pairs in the official release's format.

Source: MVP paper (arXiv 2506.09987), section 3 (questions from the sources' annotations, pairs mined by the look of
their clips, pairs that single frames solve removed, skills balanced) and appendix C.3 (models give their best guess by
common sense from a frame). How a question is written where a source has none, about a clip and a contrasting one, is
ours.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import AfterValidator, BaseModel, Field

from lmms_eval_tasks.construct.curation.candidates import (
    Candidate,
    OptionTexts,
    Rule,
    find_rule,
    plain_text,
    read_table,
)
from lmms_eval_tasks.construct.curation.meaning import join_questions, read_question
from lmms_eval_tasks.construct.curation.mining import (
    CLIP_USED,
    Ints,
    as_cosine,
    distinct_clips,
    mine_pairs,
    take_turns,
)
from lmms_eval_tasks.construct.curation.shortcut_filters import FRAME_SHARE, MODEL_SHARE, single_frame_filter
from lmms_eval_tasks.construct.curation.vectors import Floats, read_vectors
from lmms_eval_tasks.construct.engine.config import BuildConfig, ConfigPath
from lmms_eval_tasks.construct.engine.encoders import TFIDF, encode_texts, find_encoder
from lmms_eval_tasks.construct.engine.running import Pipeline
from lmms_eval_tasks.construct.engine.steps import Asking, Forecast, Form, PipelineRow, ReadyStep, Remove, Removed, step
from lmms_eval_tasks.construct.engine.texts import Refused, Unfit, bare_words, holds_text, is_marked, until_good
from lmms_eval_tasks.mvp.benchmark import CARD, SUBSETS, VIDEOS
from lmms_eval_tasks.utils.answers.opening import content
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import ClipName, Key, OneOf, ReleaseRow, Text
from lmms_eval_tasks.utils.core.text import quote, summarize_names
from lmms_eval_tasks.utils.data.clips import PyavFrames
from lmms_eval_tasks.utils.data.identity import carry_sample_mark
from lmms_eval_tasks.utils.data.pictures import as_jpeg
from lmms_eval_tasks.utils.data.prepare import link
from lmms_eval_tasks.utils.data.release import UnreadableClip
from lmms_eval_tasks.utils.judge.client import UnreadableReply
from lmms_eval_tasks.utils.scoring.record import FRAME, Outcome, Record

Share = Annotated[float, Field(gt=0.0, le=1.0)]


class FrameFilter(BaseModel, extra="forbid", frozen=True):
    """Settings for finding pairs that single frames solve; the shares are the paper's, which asked five models."""

    roles: Annotated[tuple[str, ...], Field(min_length=1)] = ("single_frame",)
    frames: Annotated[int, Field(ge=1, le=64)] = 1
    model_share: Share = MODEL_SHARE
    frame_share: Share = FRAME_SHARE


class MvpBuildConfig(BuildConfig):
    annotations: Annotated[tuple[ConfigPath, ...], Field(min_length=1)]
    videos: ConfigPath
    embeddings: ConfigPath
    ids: ConfigPath | None = None
    split: Literal["mini", "full"] = "mini"
    rule: str = "not-entailed"
    question_encoder: str = TFIDF
    question_cosine: Annotated[float, Field(ge=0.0, le=1.0)] = 0.9
    others: Annotated[int, Field(ge=1, le=100)] = 12
    contrasts: Annotated[int, Field(ge=1, le=20)] = 3
    tries: Annotated[int, Field(ge=1, le=10)] = 2
    single_frame: FrameFilter = FrameFilter()
    per_skill: Annotated[int, Field(ge=1)] | None = None
    total: Annotated[int, Field(ge=1)] | None = None


class AnnotatedClip(PipelineRow):
    """An annotated clip, and the texts that it is told from: all others at first, and once they are chosen, those that
    exclude its own; of a pair that its source gives, the other clip's alone."""

    clip: str
    source: str
    category: str
    skill: str
    pair: str = ""
    question: str
    options: tuple[str, ...]
    answer: str
    others: tuple[str, ...] = ()


class OpposedClip(AnnotatedClip):
    other: str


class PairedClip(PipelineRow):
    clip: str
    source: str
    answer: str


class AskedClip(PairedClip):
    category: str
    skill: str
    pair: str = ""
    question: str
    candidates: tuple[str, str]


PairedRow = TypeVar("PairedRow", AnnotatedClip, AskedClip)


class MinimalPair(PipelineRow):
    category: str
    skill: str
    question: str
    candidates: tuple[str, str]
    clips: tuple[PairedClip, PairedClip]
    cosine: float


Given = Annotated[str, AfterValidator(str.strip)]


class AnnotationLine(ReleaseRow, extra="forbid"):
    id: Annotated[Text, Key]
    clip: ClipName
    source: Text
    category: Annotated[str, OneOf(SUBSETS)]
    skill: Given = ""
    pair: Given = ""
    question: Given = ""
    options: OptionTexts = Field(default_factory=list)
    answer: Given = ""
    label: Given = ""
    caption: Given = ""


def read_annotations(files: Sequence[Path], videos: Path) -> tuple[AnnotatedClip, ...]:
    problems = Problems()
    clips: list[AnnotatedClip] = []
    for file in files:
        try:
            clips += [_annotated(row, videos, problems) for row in read_table(AnnotationLine, file, problems)]
        except InputError as error:
            problems.add(file.name, f"Expected annotations, but they cannot be read: {error}")
    for (source, pair), members in _given_pairs(clips).items():
        where = f"pair {quote(pair)} of {source}"
        if len(members) != 2:
            names = summarize_names(row.id for row in members)
            problems.add(where, f"Expected two lines of it, but got {len(members)} (id {names}).")
            continue
        one, other = members
        for what, is_wrong in (
            ("one category", one.category != other.category),
            ("one skill", one.skill != other.skill),
            ("one question", read_question(one.question) != read_question(other.question)),
            ("two clips", one.clip == other.clip),
            ("two answers", plain_text(one.answer) == plain_text(other.answer)),
        ):
            if is_wrong:
                problems.add(where, f"Expected {what} of its lines {one.id} and {other.id}, but got others.")
    problems.raise_if_any("The annotations cannot be used")
    return tuple(clips)


def _annotated(row: AnnotationLine, videos: Path, problems: Problems) -> AnnotatedClip:
    if not (videos / row.clip).is_file():
        problems.add(row.where, f"Expected clip to be a file in {videos}, but there is none of {quote(row.clip)}.")
    texts = {name: getattr(row, name) for name in ("question", "answer", "label", "caption")}
    given = tuple(name for name, text in texts.items() if text)
    if given not in (("question", "answer"), ("label",), ("caption",)):
        got = " and ".join(given) or "none of them"
        problems.add(row.where, f"Expected a question and its answer, or a label, or a caption, but got {got}.")
    options = tuple(option.strip() for option in row.options)
    if options and len({*options, ""}) <= len(options):
        problems.add(row.where, "Expected options that are texts and differ, but got others.")
    if options and row.answer not in options:
        problems.add(row.where, f"Expected answer to be one of the options, but got {quote(row.answer)}.")
    return AnnotatedClip(
        id=row.id,
        clip=row.clip,
        source=row.source,
        category=row.category,
        skill=row.skill or row.category,
        pair=row.pair,
        question=row.question,
        options=options,
        answer=row.answer or row.label or row.caption,
    )


CONTRAST, WRITER, CHECKER = "contrast", "question", "exclusion"
ROWS = 256
"""Clips whose cosines with all others are in memory at a time."""


@step("another annotation")
def find_neighbours(rows: Sequence[AnnotatedClip], remove: Remove, *, config: MvpBuildConfig) -> list[AnnotatedClip]:
    """Give each clip the other annotations of its source, skill and question, those of the most alike clips first; a
    clip of a pair that its source gives has the other one's."""
    rows = _worded_alike(rows, config)
    clips = list(dict.fromkeys(row.clip for row in rows))
    vectors = read_vectors(config.embeddings, config.ids, clips)
    places = {clip: place for place, clip in enumerate(clips)}
    neighboured: dict[str, AnnotatedClip] = {}
    for one, other in _given_pairs(rows).values():
        question = min(one.question, other.question)
        for row, partner in ((one, other), (other, one)):
            neighboured[row.id] = row.model_copy(update={"question": question, "others": (partner.answer,)})
    for members in _by_question(rows).values():
        texts = _one_text_each(row.answer for row in members)
        question = min(row.question for row in members)
        names = sorted(texts)
        numbers = {name: number for number, name in enumerate(names)}
        codes = np.array([numbers[plain_text(row.answer)] for row in members], dtype=np.int64)
        nearest = nearest_codes(vectors[[places[row.clip] for row in members]], codes, config.others)
        for row, code in zip(members, codes.tolist(), strict=True):
            given = tuple(option for option in row.options if plain_text(option) != names[code])
            others = given or tuple(texts[names[other]] for other in nearest[code])
            if others:
                changed = {"question": question, "answer": texts[names[code]], "others": others}
                neighboured[row.id] = row.model_copy(update=changed)
            else:
                remove(row.id, Removed("nothing to tell it from", "no other annotation of its source and skill"))
    return [neighboured[row.id] for row in rows if row.id in neighboured]


def nearest_codes(vectors: Floats, codes: Ints, number: int) -> list[list[int]]:
    """Return for each code those with the most alike vectors, the most alike first, by code where equal."""
    order = np.argsort(codes, kind="stable")
    ordered, vectors = codes[order], vectors[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    nearest: list[list[int]] = []
    best = np.full(len(starts), -np.inf)
    for first in range(0, len(ordered), ROWS):
        here = ordered[first : first + ROWS]
        alike = np.maximum.reduceat(vectors[first : first + ROWS] @ vectors.T, starts, axis=1)
        for code in range(here[0], here[-1] + 1):
            best = np.maximum(best, alike[here == code].max(axis=0))
            if first + ROWS >= len(ordered) or ordered[first + ROWS] != code:
                best[code] = -np.inf
                nearest.append(np.argsort(-best, kind="stable")[: min(number, len(starts) - 1)].tolist())
                best = np.full(len(starts), -np.inf)
    return nearest


def _worded_alike(rows: Sequence[AnnotatedClip], config: MvpBuildConfig) -> Sequence[AnnotatedClip]:
    """The same with one wording of the questions of a source and skill that mean the same."""
    asked = [((row.source, row.skill), row.question) for row in rows if row.question]
    if not config.question_encoder or not asked:
        return rows
    encoder = find_encoder(config.question_encoder)
    texts = encode_texts([question for _, question in asked], encoder)
    wordings = join_questions(asked, texts.similarities, config.question_cosine, encoder.synonyms)
    places = (((row.source, row.skill), row.question) for row in rows)
    return [
        row.model_copy(update={"question": wordings.get(place, "")}) for row, place in zip(rows, places, strict=True)
    ]


def _given_pairs(rows: Iterable[PairedRow]) -> Mapping[tuple[str, str], list[PairedRow]]:
    """Group rows of pairs that their sources give."""
    pairs: defaultdict[tuple[str, str], list[PairedRow]] = defaultdict(list)
    for row in rows:
        if row.pair:
            pairs[row.source, row.pair].append(row)
    return pairs


def _by_question(rows: Sequence[Any]) -> Mapping[tuple[str, str, str], list[Any]]:
    """Group annotations that can be told from each other: those of one source, skill and question, without pairs."""
    groups: defaultdict[tuple[str, str, str], list[Any]] = defaultdict(list)
    for row in rows:
        if not row.pair:
            groups[row.source, row.skill, plain_text(row.question)].append(row)
    return groups


def _one_text_each(texts: Iterable[str]) -> dict[str, str]:
    """Return plain text to the text that stands for all that differ in no more."""
    return {plain_text(text): text for text in sorted(texts, reverse=True)}


class ChosenContrasts(Form):
    contrasts: list[str]


@step("contrasts", asks=[CONTRAST], requests=1.0, characters=2500, reply_tokens=60)
def choose_contrasts(row: AnnotatedClip, asking: Asking, *, most: int) -> AnnotatedClip:
    """Have a model choose what excludes a clip's annotation; of answers to a source's question all are taken, of a
    given pair the other one's."""
    if row.pair:
        return row
    if row.question:
        return row if row.options else row.model_copy(update={"others": row.others[:most]})
    offered = {f"D{number}": text for number, text in enumerate(row.others, start=1)}
    shown = [{"id": name, "text": text} for name, text in offered.items()]
    reply = asking.ask(CONTRAST, "mvp_contrast", ChosenContrasts, description=row.answer, others=shown)
    if unknown := [name for name in reply.contrasts if name not in offered]:
        raise Removed("a contrast that was not offered", ", ".join(unknown))
    chosen = tuple(offered[name] for name in dict.fromkeys(reply.contrasts))[:most]
    if not chosen:
        raise Removed("nothing excludes it")
    return row.model_copy(update={"others": chosen})


@step("a clip of the contrast")
def meet_contrasts(rows: Sequence[AnnotatedClip], remove: Remove) -> list[OpposedClip]:
    """Make a row for each clip and contrast that another clip has; one excludes the other both ways."""
    opposed: defaultdict[str, list[OpposedClip]] = defaultdict(list)
    for row in rows:
        if row.pair:
            opposed[row.id].append(OpposedClip(**dict(row) | {"id": f"{row.id}/1", "other": row.others[0]}))
    for members in _by_question(rows).values():
        texts = _one_text_each(row.answer for row in members)
        excluded: defaultdict[str, set[str]] = defaultdict(set)
        for row in members:
            one = plain_text(row.answer)
            for other in map(plain_text, row.others):
                excluded[one].add(other)
                excluded[other].add(one)
        for row in members:
            shown = sorted(excluded[plain_text(row.answer)] & texts.keys())
            for number, other in enumerate(shown, start=1):
                opposed[row.id].append(OpposedClip(**dict(row) | {"id": f"{row.id}/{number}", "other": texts[other]}))
            if not shown:
                remove(row.id, Removed("no clip shows what excludes it"))
    return [one for row in rows for one in opposed[row.id]]


class PairQuestion(Form):
    question: str
    first: str
    second: str


@step(
    "question and candidates", asks=[WRITER], paper="548K examples",
    requests=1.2, characters=1800, reply_tokens=80,
)  # fmt: skip
def write_pair_questions(row: OpposedClip, asking: Asking, *, tries: int) -> AskedClip:
    texts = sorted((row.answer, row.other))

    def write(refused: Refused) -> tuple[str, tuple[str, str]]:
        reply = asking.ask(WRITER, "mvp_question", PairQuestion, first=texts[0], second=texts[1], refused=refused)
        question, candidates = reply.question.strip(), (reply.first.strip(), reply.second.strip())
        objection = objection_to(question, candidates) or ("" if question.endswith("?") else "no question")
        if objection:
            detail = f"{question} {' | '.join(candidates)}"
            raise Unfit(objection, detail, **reply.model_dump(), objection=objection)
        return question, candidates

    question, candidates = row.question, (texts[0], texts[1])
    if not question:
        question, candidates = until_good(tries, write)
    elif objection := objection_to(question, candidates):
        raise Removed(objection)
    return AskedClip(
        **row.model_dump(include={"id", "clip", "source", "category", "skill", "pair"}),
        question=question,
        candidates=candidates,
        answer=candidates[texts.index(row.answer)],
    )


LONGEST = 400
"""Characters of a question or candidate."""
GIVEN_AWAY = "the question gives a candidate away"


def objection_to(question: str, candidates: tuple[str, str]) -> str:
    """Return the fault that rules find in a question and its candidates, empty if they find none."""
    texts = (question, *candidates)
    if not all(bare_words(text) and text.isprintable() and len(text) <= LONGEST for text in texts):
        return "a text that is empty, too long or not printable"
    if bare_words(candidates[0]) == bare_words(candidates[1]):
        return "equal candidates"
    if any(map(is_marked, candidates)):
        return "a candidate says which it is"
    first, second = candidates
    return GIVEN_AWAY if _names(question, first, second) != _names(question, second, first) else ""


def _names(question: str, candidate: str, other: str) -> bool:
    own = set(bare_words(candidate)) - set(bare_words(other))
    return holds_text(question, candidate) or (bool(own) and own <= set(bare_words(question)))


class CheckedCandidates(Form):
    same_meaning: bool
    both_can_hold: bool
    gives_away: bool


@step("candidates exclude each other", asks=[CHECKER], requests=1.0, characters=1500, reply_tokens=40, passes=0.9)
def check_candidates(row: AskedClip, asking: Asking) -> AskedClip:
    """Have a model, which is not shown the key, say whether candidates exclude each other and both are open."""
    first, second = row.candidates
    reply = asking.ask(CHECKER, "mvp_exclusion", CheckedCandidates, question=row.question, first=first, second=second)
    if reply.same_meaning:
        raise Removed("candidates of one meaning", f"{first} | {second}")
    if reply.both_can_hold:
        raise Removed("candidates do not exclude each other", f"{first} | {second}")
    if reply.gives_away:
        raise Removed(GIVEN_AWAY, row.question)
    return row


@step("minimal pairs", paper="about 70K examples")
def find_pairs(rows: Sequence[AskedClip], remove: Remove, *, config: MvpBuildConfig, rule: Rule) -> list[MinimalPair]:
    """Take the pairs that sources give; then pair clips with the same question and candidates and different answers,
    the most alike first."""
    by_id = {row.id: row for row in rows}
    clips = list(dict.fromkeys(row.clip for row in rows))
    places = {clip: place for place, clip in enumerate(clips)}
    vectors = read_vectors(config.embeddings, config.ids, clips)
    pairs: list[MinimalPair] = []
    taken = set[str]()
    for members in _given_pairs(rows).values():
        one, other = members[0], members[-1]
        if len(members) != 2 or (one.question, one.candidates) != (other.question, other.candidates):
            for row in members:
                remove(row.id, Removed("its pair is not whole", row.pair))
            continue
        product = vectors[places[one.clip]] @ vectors[places[other.clip]]
        pairs.append(_minimal_pair((one, other), as_cosine(float(product)), config.seed))
        taken |= {one.clip, other.clip}
    free = [row for row in rows if not row.pair and row.clip not in taken]
    for row in rows:
        if not row.pair and row.clip in taken:
            remove(row.id, Removed(f"in no pair: {CLIP_USED}"))
    # Both clips of a pair share this text, in which the question comes first.
    shared = {row.id: json.dumps([row.question, row.candidates, row.source, row.category]) for row in free}
    candidates = [Candidate(row.id, row.clip, shared[row.id], row.answer, row.skill) for row in free]
    of_free = vectors[[places[clip] for clip in distinct_clips(candidates)]]
    mining = mine_pairs(candidates, of_free, lambda text, one, other: rule(json.loads(text)[0], one, other))
    for candidate, reason in mining.unpaired:
        remove(candidate.item_id, Removed(f"in no pair: {reason}"))
    for mined in mining.pairs:
        both = by_id[mined.first.item_id], by_id[mined.second.item_id]
        pairs.append(_minimal_pair(both, mined.cosine, config.seed))
    return pairs


def _minimal_pair(members: tuple[AskedClip, AskedClip], cosine: float, seed: int) -> MinimalPair:
    """The pair of two clips; which of them, and which candidate, comes first is drawn."""
    name = "+".join(row.id for row in members)
    chance = random.Random(f"{seed} {name}")
    first, second = chance.sample(members[0].candidates, 2)
    one, other = (
        PairedClip(**row.model_dump(include=set(PairedClip.model_fields))) for row in chance.sample(members, 2)
    )
    return MinimalPair(
        **{**members[0].model_dump(include={"category", "skill", "question"}), "id": name},
        candidates=(first, second),
        clips=(one, other),
        cosine=cosine,
    )


LETTERS = ("A", "B")
SIDE = 512
"""Pixels of a frame's longer side, at most."""
_REPLY = re.compile(r"(?:ANSWER:)?\s*(A|B)\s+END\.?", re.IGNORECASE)


@step("single-frame filter", paper="about 20% out")
def filter_single_frames(row: MinimalPair, asking: Asking, *, config: MvpBuildConfig) -> MinimalPair:
    """Remove a pair both of whose clips single frames tell; the second is asked about where they tell the first."""
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


def single_frame_step(config: MvpBuildConfig) -> ReadyStep:
    settings = config.single_frame
    requests = 2.0 * settings.frames * len(settings.roles)
    forecast = Forecast(requests, characters=900, images=1, reply_tokens=10, rows=0.8)
    return replace(filter_single_frames.given(config=config), roles=settings.roles, forecast=forecast)


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


@step("balance by skill", paper=f"{CARD.splits['full'].groups:,} pairs")
def balance_skills(rows: Sequence[MinimalPair], remove: Remove, *, config: MvpBuildConfig) -> list[MinimalPair]:
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


def write_release(pairs: Sequence[MinimalPair], folder: Path, config: MvpBuildConfig) -> Sequence[str]:
    """Write pairs as `prepare` reads them; those of sample clips are marked as such."""
    import pyarrow
    import pyarrow.parquet

    tables: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    for number, pair in enumerate(pairs, start=1):
        for place, clip in enumerate(pair.clips, start=1):
            tables[pair.category].append(
                {
                    "video_id": f"{clip.source}_{number:06d}_{place}",
                    "video_path": clip.clip,
                    "question": pair.question,
                    "answer": clip.answer,
                    "candidates": str(list(pair.candidates)),
                    "source": clip.source,
                }
            )
            linked = folder / VIDEOS / clip.clip
            linked.parent.mkdir(parents=True, exist_ok=True)
            link((config.videos / clip.clip).absolute(), linked)
    card = ["---", "configs:"]
    for category in (name for name in SUBSETS if name in tables):
        path = folder / category / f"{config.split}-00000-of-00001.parquet"
        path.parent.mkdir()
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(tables[category]), path)
        files = f"{category}/{config.split}-*.parquet"
        card += [f"- config_name: {category}", "  data_files:", f"  - split: {config.split}", f"    path: {files}"]
    form = f"Minimal pairs in the form of `{CARD.hub_id}`, made with lmms-eval-tasks; not the benchmark."
    card += ["---", "", form, ""]
    write_file(folder / "README.md", "\n".join(card))
    carry_sample_mark(config.videos, folder)
    missing = [name for name in SUBSETS if name not in tables]
    return [f"There are no pairs of {' and '.join(missing)}: their tasks have no items."] if missing else []


def read_sources(config: MvpBuildConfig) -> tuple[AnnotatedClip, ...]:
    clips = read_annotations(config.annotations, config.videos)
    read_vectors(config.embeddings, config.ids, list(dict.fromkeys(clip.clip for clip in clips)))
    return clips


PIPELINE = Pipeline(
    benchmark=CARD.name,
    config=MvpBuildConfig,
    read=read_sources,
    source_files=lambda config: [*config.annotations, config.embeddings, *filter(None, [config.ids])],
    steps=lambda config: [
        find_neighbours.given(config=config),
        choose_contrasts.given(most=config.contrasts),
        meet_contrasts,
        write_pair_questions.given(tries=config.tries),
        check_candidates,
        find_pairs.given(config=config, rule=find_rule(config.rule)),
        single_frame_step(config),
        balance_skills.given(config=config),
    ],
    write=write_release,
    first="annotated clips",
)

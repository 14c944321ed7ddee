"""A CausalVQA build: versions of a question by models, filters of pairs, and a set in the official release's form.

Source: CausalVQA (arXiv 2506.09943), sections 2.2 and A.2, and appendix B. The first answer of a model shows which
words of the question are hints (2.2.3, B.2). Two reviewers look at each version; flags a to c remove a question, d to f
have it repaired where at most one reviewer raised one of them. That this counts by version, that a model repairs texts
by the reviewers' comments, that times without flag a are a repair, and that repaired texts pass the blind filter again,
is ours, as is the wording of the prompts. Bounds of difficulty are those of `utils.people.baseline`.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo
from pydantic_core import PydanticCustomError

from lmms_eval_tasks.causalvqa.benchmark import CARD, TYPES, metadata_name
from lmms_eval_tasks.construct.causalvqa.rows import (
    DISTRACTORS,
    LETTERS,
    SLACK,
    VERSIONS,
    OptionText,
    PairBuildConfig,
    QuestionPair,
    QuestionText,
    SomeSeconds,
    option_faults,
    question_faults,
    read_questions,
)
from lmms_eval_tasks.construct.engine.running import Pipeline
from lmms_eval_tasks.construct.engine.steps import Asking, Form, ReadyStep, Remove, Removed, keep_each, step
from lmms_eval_tasks.construct.engine.texts import Fault, Refused, bare_words, unless_faulty, until_good
from lmms_eval_tasks.utils.core.errors import Problems
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import (
    Cell,
    OneOf,
    RawText,
    ReleaseRow,
    csv_text,
    mismatch,
    read_content,
    read_csv,
    read_csv_form,
)
from lmms_eval_tasks.utils.core.work import in_parallel, no_progress
from lmms_eval_tasks.utils.data.clips import clip_lengths
from lmms_eval_tasks.utils.data.identity import carry_sample_mark
from lmms_eval_tasks.utils.data.made import cut_part, part_pictures
from lmms_eval_tasks.utils.data.release import UnreadableClip
from lmms_eval_tasks.utils.judge.client import UnreadableReply
from lmms_eval_tasks.utils.people.baseline import DROPPED, disputed_questions, summarise
from lmms_eval_tasks.utils.people.inquiries import FLAGS, REMOVING, REPAIRING, REVIEWERS, Decision, decide
from lmms_eval_tasks.utils.people.responses import COLUMNS, AskedQuestion, read_human_responses

VIEWER, WRITER, CHECKER = "viewer", "writer", "checker"
ANTICIPATION = "anticipation"
AFTERWARDS = 3.0
"""Seconds after a clip that are described, too, where its question asks what comes next."""

FourOptions = Annotated[tuple[OptionText, ...], Field(min_length=DISTRACTORS, max_length=DISTRACTORS)]


def pictures_of(
    row: QuestionPair, asking: Asking, config: PairBuildConfig, afterwards: bool = False
) -> tuple[bytes, ...]:
    """Return frames of a question's clip, or of what follows it; none where nothing does."""
    start, end = (row.end, row.end + AFTERWARDS) if afterwards else (row.start, row.end)
    try:
        with asking.heavy():
            return tuple(part_pictures(config.clips / row.clip, start, end, config.frames, afterwards))
    except UnreadableClip as error:
        raise Removed("the clip cannot be decoded", f"{row.clip} from {start:g} to {end:g} s") from error


class PartDescription(Form):
    description: Annotated[str, Field(min_length=1)]


@step("description", asks=[VIEWER], requests=1.3, characters=1200, images=8, reply_tokens=150)
def describe(row: QuestionPair, asking: Asking, config: PairBuildConfig) -> QuestionPair:
    """Have a clip described, and what follows it where the question asks what comes next."""
    images = pictures_of(row, asking, config)
    seconds = round(row.end - row.start, 2)
    shown = asking.ask(VIEWER, "causalvqa_describe", PartDescription, images, seconds=seconds)
    afterwards = ""
    if row.type == ANTICIPATION and (images := pictures_of(row, asking, config, afterwards=True)):
        material = {"clip": shown.description, "seconds": AFTERWARDS}
        afterwards = asking.ask(VIEWER, "causalvqa_afterwards", PartDescription, images, **material).description
    return row.model_copy(update={"description": shown.description, "afterwards": afterwards})


class FirstAnswer(Form):
    """A model's own answer, and why it thinks so (2.2.3), which keeps it to what the clip shows."""

    answer: OptionText
    rationale: Annotated[str, Field(min_length=1)]


@step("first answer", asks=[VIEWER], requests=1, characters=1300, images=8, reply_tokens=70)
def answer_first(row: QuestionPair, asking: Asking, *, config: PairBuildConfig) -> QuestionPair:
    """Have a model answer from the clip, without what follows it: where it is wrong, others may be in the same way."""
    material = {"description": row.description, "question": row.question}
    reply = asking.ask(VIEWER, "causalvqa_first_answer", FirstAnswer, pictures_of(row, asking, config), **material)
    return row.model_copy(update={"first_answer": reply.answer})


class FourDistractors(Form):
    distractors: FourOptions


@step("seed distractors", asks=[VIEWER], requests=1, characters=2300, images=8, reply_tokens=80)
def seed_distractors(row: QuestionPair, asking: Asking, *, config: PairBuildConfig) -> QuestionPair:
    material = {"description": row.description, "afterwards": row.afterwards, "question": row.question}
    material |= {"answer": row.answer, "model_answer": row.first_answer}
    reply = asking.ask(VIEWER, "causalvqa_seeds", FourDistractors, pictures_of(row, asking, config), **material)
    return row.model_copy(update={"seeds": reply.distractors})


class PlainWording(Form):
    question: QuestionText
    answer: OptionText


class ComparedWording(PlainWording):
    """A wording, after a look at how close the model's own answer comes to the annotator's (B.2): from 0 to 2."""

    similarity: Annotated[int, Field(ge=0, le=2)]


@step("plain English", asks=[WRITER, CHECKER], requests=2.2, characters=1500, reply_tokens=60)
def put_plainly(row: QuestionPair, asking: Asking, *, tries: int) -> QuestionPair:
    """Have question and answer put into plain English; rules and a model see that they still ask and say the same."""
    texts: dict[str, Any] = row.model_dump(include={"description", "question", "answer"})
    texts["model_answer"] = row.first_answer

    def write(refused: Refused) -> PlainWording:
        wording = asking.ask(WRITER, "causalvqa_wording", ComparedWording, **texts, refused=refused)
        faults = question_faults(wording.question, wording.answer, row.seeds)
        return unless_faulty(wording, faults or meaning_faults(row, wording, asking))

    return row.model_copy(update=until_good(tries, write).model_dump(include=set(PlainWording.model_fields)))


class WordingComparison(Form):
    same: bool
    difference: str


def meaning_faults(before: QuestionPair, after: PlainWording, asking: Asking) -> list[Fault]:
    """Return the differences in meaning that a model finds in a new wording; no model is asked if both are equal."""
    shown = [{"question": one.question, "answer": one.answer} for one in (before, after)]
    if shown[0] == shown[1]:
        return []
    reply = asking.ask(CHECKER, "causalvqa_meaning", WordingComparison, first=shown[0], second=shown[1])
    return [] if reply.same else [Fault("the meaning changed", reply.difference or "The meaning is not the same.")]


@step("distractors", asks=[WRITER, CHECKER], requests=2.5, characters=1600, reply_tokens=80)
def refine_distractors(row: QuestionPair, asking: Asking, *, tries: int) -> QuestionPair:
    """Have the seeds made diverse, none of them a synonym of the answer or of another."""
    texts = row.model_dump(include={"description", "afterwards", "question", "answer", "seeds"})

    def write(refused: Refused) -> FourDistractors:
        made = asking.ask(WRITER, "causalvqa_distractors", FourDistractors, **texts, refused=refused)
        return unless_faulty(made, synonym_faults(row.question, row.answer, made.distractors, asking))

    return row.model_copy(update=until_good(tries, write).model_dump())


OptionNumber = Annotated[int, Field(ge=1, le=DISTRACTORS + 1)]


def _of_two(numbers: tuple[int, int]) -> tuple[int, int]:
    if numbers[0] == numbers[1]:
        raise PydanticCustomError("two", "an option beside itself")
    return numbers


class EqualMeanings(Form):
    same: list[Annotated[tuple[OptionNumber, OptionNumber], AfterValidator(_of_two)]]


def synonym_faults(question: str, answer: str, distractors: Sequence[str], asking: Asking) -> list[Fault]:
    """Return the distractors that say the same as the answer or as each other, by rules or else by a model."""
    if faults := option_faults(answer, distractors):
        return faults
    options = [answer, *distractors]
    numbered = {str(number): text for number, text in enumerate(options, start=1)}
    reply = asking.ask(CHECKER, "causalvqa_synonyms", EqualMeanings, question=question, options=numbered)
    return [
        Fault(
            "a distractor is a synonym of the answer" if one == 1 else "two distractors are synonyms",
            f"“{options[one - 1]}” and “{options[other - 1]}” say the same.",
        )
        for one, other in sorted({(min(pair), max(pair)) for pair in reply.same})
    ]


class FourParaphrases(Form):
    paraphrases: FourOptions


class ChangedMeanings(Form):
    """Numbers of the distractors whose paraphrase means something else."""

    changed: list[Annotated[int, Field(ge=1, le=DISTRACTORS)]]


def paraphrase_faults(
    question: str, answer: str, distractors: Sequence[str], paraphrases: Sequence[str], asking: Asking
) -> list[Fault]:
    """Return the faults of paraphrases: equal words, another meaning, or that of the answer or of another option."""
    pairs = list(zip(distractors, paraphrases, strict=True))
    if kept := [one for one, other in pairs if bare_words(one) == bare_words(other)]:
        reason = "a paraphrase has the distractor's own words"
        return [Fault(reason, f"“{text}” is no paraphrase of itself.") for text in kept]
    if faults := synonym_faults(question, answer, paraphrases, asking):
        return faults
    numbered = {str(place): {"option": one, "paraphrase": other} for place, (one, other) in enumerate(pairs, start=1)}
    reply = asking.ask(CHECKER, "causalvqa_paraphrased", ChangedMeanings, question=question, options=numbered)
    changed = [pairs[number - 1] for number in sorted(set(reply.changed))]
    reason = "a paraphrase means something else"
    return [Fault(reason, f"“{other}” means something else than “{one}”.") for one, other in changed]


@step("second version", asks=[WRITER, CHECKER], requests=3.5, characters=900, reply_tokens=60)
def write_second_version(row: QuestionPair, asking: Asking, *, tries: int, seed: int) -> QuestionPair:
    """Have each distractor paraphrased for MCQ′; the right option keeps its text, and both orders are drawn."""

    def write(refused: Refused) -> FourParaphrases:
        texts: dict[str, Any] = {"question": row.question, "options": row.distractors}
        made = asking.ask(WRITER, "causalvqa_paraphrase", FourParaphrases, **texts, refused=refused)
        faults = paraphrase_faults(row.question, row.answer, row.distractors, made.paraphrases, asking)
        return unless_faulty(made, faults)

    paraphrases = until_good(tries, write).paraphrases
    orders = [list(range(DISTRACTORS + 1)) for _ in VERSIONS]
    for version, order in zip(VERSIONS, orders, strict=True):
        random.Random(f"{seed} {row.id} {version}").shuffle(order)
    return row.model_copy(update={"paraphrases": paraphrases, "orders": tuple(map(tuple, orders))})


@step("leaked key")
def refuse_leaked_keys(pair: QuestionPair, _: Asking) -> QuestionPair:
    """Look by rules once more at what is to be published, no matter who wrote it."""
    for distractors in (pair.distractors, pair.paraphrases):
        faults = [*question_faults(pair.question, pair.answer, distractors), *option_faults(pair.answer, distractors)]
        if faults:
            raise Removed(faults[0].reason, " ".join(fault.detail for fault in faults))
    return pair


BLIND = "blind"
_END = re.compile(r"\bEND\W*\Z")
_ANSWER = re.compile(rf"\bAnswer\W{{1,6}}([{LETTERS}])\W{{1,6}}END\W*\Z", re.IGNORECASE)


def read_letter(text: str) -> str:
    if not _END.search(text):
        raise UnreadableReply("missing END: the reply does not end with the word END")
    if (answer := _ANSWER.search(text)) is None:
        raise UnreadableReply("no letter: END does not follow an answer")
    return answer[1].upper()


@step("blind filter", asks=[BLIND], paper="39% of questions out", requests=2, characters=900, passes=0.61)
def blind_filter(pair: QuestionPair, asking: Asking) -> QuestionPair:
    right = []
    for version in VERSIONS:
        options = dict(zip(LETTERS, pair.options(version), strict=True))
        letter = asking.ask_text(BLIND, "causalvqa_blind", read_letter, question=pair.question, options=options)
        right.append(letter == pair.key(version))
    if all(right):
        raise Removed("right without the clip in both versions")
    return pair


@step("no people asked", paper="14% out: 793")
def ask_nobody(rows: Sequence[QuestionPair], _: Remove, *, difficulty: str) -> list[QuestionPair]:
    return [row.model_copy(update={"difficulty": difficulty}) for row in rows]


@step("answers of people", paper="14% out: 793", passes=0.86)
def apply_answers(rows: Sequence[QuestionPair], remove: Remove, *, responses: Path) -> list[QuestionPair]:
    """Remove questions of which a version's modal answer is not the key, and give the others their difficulty."""
    if not rows:
        return []
    asked = {(row.qid, str(version)): AskedQuestion(row.key(version), LETTERS) for row in rows for version in VERSIONS}
    read = read_human_responses(responses, asked, others_too=True)
    disputed = set(disputed_questions(read))
    summaries = {summary.item: summary for summary in summarise(read)}

    def decided(row: QuestionPair) -> QuestionPair:
        summary = summaries.get(row.qid)
        if summary is None or len(summary.versions) < len(VERSIONS):
            raise Removed("no response to a version", f"as {row.qid}")
        if row.qid in disputed:
            modal = ", ".join(f"{'|'.join(one.modal)} of version {name}" for name, one in summary.versions.items())
            keys = " and ".join(row.key(version) for version in VERSIONS)
            raise Removed("the most frequent answer of people is not the key", f"{modal}; the keys are {keys}")
        if summary.difficulty == DROPPED:
            raise Removed("too few people are right", f"{summary.percent_right:.2f}% of the responses")
        return row.model_copy(update={"difficulty": summary.difficulty.replace("medium", "med")})

    return keep_each(rows, remove, decided)


def _flags(text: str) -> str:
    if unknown := "".join(sorted(set(text) - FLAGS.keys())):
        raise mismatch("{field} a to f", unknown)
    return text


def _type_of_flags(kind: str, info: ValidationInfo) -> str:
    names_one = any(FLAGS[flag].kind for flag in info.data.get("flags", ""))
    if (kind not in TYPES) if names_one else kind:
        raise mismatch(f"one of {', '.join(TYPES)} with flag d, and none without", kind)
    return kind


class Review(ReleaseRow):
    item: RawText
    version: Annotated[str, OneOf(tuple(map(str, VERSIONS)))]
    reviewer: RawText
    choice: Cell
    flags: Annotated[Cell, AfterValidator(_flags)]
    type: Annotated[Cell, AfterValidator(_type_of_flags)]
    start: SomeSeconds
    end: SomeSeconds
    comment: Cell

    @property
    def objects(self) -> bool:
        return bool(self.flags) or self.start is not None or self.end is not None


Reviews = Mapping[str, Sequence[Review]]
"""Question, by its `qid`, to its reviews."""


def read_reviews(paths: Sequence[Path]) -> Reviews:
    reviews: defaultdict[str, list[Review]] = defaultdict(list)
    problems = Problems()
    seen: dict[tuple[str, str, str], str] = {}
    files = [read_csv_form(Review, read_content(path), path.name, problems, exact=False) for path in paths]
    for row in chain.from_iterable(files):
        reviews[row.item].append(row)
        first = seen.setdefault((row.item, row.version, row.reviewer), row.where)
        if first != row.where:
            problems.add(
                row.where, f"Expected one review of a version by {row.reviewer}, but got another after {first}."
            )
    problems.raise_if_any("The reviews cannot be used", "nothing was asked")
    return reviews


def _flags_of(reviews: Sequence[Review]) -> str:
    flagged = [review for review in reviews if review.objects]
    return "; ".join(f"{''.join(sorted(one.flags))} by {one.reviewer}: {one.comment or '–'}" for one in flagged)


@step("not reviewed", paper="53% of items out")
def review_nothing(rows: Sequence[QuestionPair], _: Remove) -> Sequence[QuestionPair]:
    return rows


@step("quality review", paper="53% of items out", passes=0.47)
def apply_reviews(rows: Sequence[QuestionPair], remove: Remove, *, reviews: Reviews, clips: Path) -> list[QuestionPair]:
    """Remove flagged questions, give them the reviewers' type and times, or mark their texts for repair."""
    return keep_each(rows, remove, lambda row: _reviewed(row, reviews.get(row.qid, ()), clips))


def _reviewed(row: QuestionPair, reviews: Sequence[Review], clips: Path) -> QuestionPair:
    flags = [[review.flags for review in reviews if review.version == str(version)] for version in VERSIONS]
    if any(REMOVING.intersection(one) for of_version in flags for one in of_version):
        raise Removed("flagged a, b or c by a reviewer", _flags_of(reviews))
    if min(map(len, flags)) < REVIEWERS:
        each = " and ".join(f"{len(one)} of version {version}" for version, one in enumerate(flags))
        raise Removed("fewer than two reviews of a version", f"{each}, as {row.qid}")
    if Decision.remove in map(decide, flags):
        raise Removed("flagged d, e or f by more than one reviewer of a version", _flags_of(reviews))
    kinds = sorted({review.type for review in reviews if review.type})
    if len(kinds) > 1:
        raise Removed("reviewers name different types", f"{' and '.join(kinds)}, where it is {row.type}")
    start, end = _widest_span(row, reviews, clips)
    changed = {"type": kinds[0] if kinds else row.type, "start": start, "end": end}
    raised = set[str]().union(*(review.flags for review in reviews))
    # With flag d a reviewer names another type, and no text is to be repaired.
    texts = "".join(sorted(flag for flag in raised & REPAIRING if not FLAGS[flag].kind))
    comments = tuple(dict.fromkeys(review.comment for review in reviews if review.comment)) if texts else ()
    repaired = row.repaired or changed != row.model_dump(include=set(changed))
    return row.model_copy(update={**changed, "flags": texts, "comments": comments, "repaired": repaired})


def _widest_span(row: QuestionPair, reviews: Sequence[Review], clips: Path) -> tuple[float, float]:
    """Return the widest span that reviewers ask for; that of the clip where none asks for another."""
    starts = [row.start + review.start for review in reviews if review.start is not None]
    ends = [row.start + review.end for review in reviews if review.end is not None]
    if not starts and not ends:
        return row.start, row.end
    start, end = min(starts, default=row.start), max(ends, default=row.end)
    path = clips / row.clip
    length = clip_lengths([path], no_progress, "")[path] or 0.0
    if not 0 <= start < end <= length + SLACK:
        raise Removed("new times outside the video", f"{start:g} to {end:g} of {length:.2f} seconds")
    return start, end


class RepairedTexts(PlainWording):
    distractors: FourOptions
    paraphrases: FourOptions


def unchanged_faults(before: QuestionPair, after: RepairedTexts) -> list[Fault]:
    """Return the fault of a repair in which no word is another."""
    old, new = (
        [*map(bare_words, (one.question, one.answer, *one.distractors, *one.paraphrases))] for one in (before, after)
    )
    detail = f"What was flagged is as it was: {before.flags}."
    return [Fault("the repair changes nothing", detail)] if old == new else []


@step("repair", asks=[WRITER, CHECKER, BLIND], requests=2, characters=1800, reply_tokens=120)
def repair(row: QuestionPair, asking: Asking, *, tries: int) -> QuestionPair:
    if not row.flags:
        return row
    names = {"description", "question", "answer", "distractors", "paraphrases", "comments"}
    material = {**row.model_dump(include=names), "flags": list(row.flags)}

    def write(refused: Refused) -> RepairedTexts:
        texts = asking.ask(WRITER, "causalvqa_repair", RepairedTexts, **material, refused=refused)
        question, answer = texts.question, texts.answer
        return unless_faulty(
            texts,
            unchanged_faults(row, texts)
            or question_faults(question, answer, texts.distractors)
            or question_faults(question, answer, texts.paraphrases)
            or meaning_faults(row, PlainWording(question=question, answer=answer), asking)
            or synonym_faults(question, answer, texts.distractors, asking)
            or paraphrase_faults(question, answer, texts.distractors, texts.paraphrases, asking),
        )

    repaired: QuestionPair = blind_filter.run(
        row.model_copy(update={**until_good(tries, write).model_dump(), "repaired": True}), asking
    )
    return repaired


@step("review of repairs")
def refuse_flagged_again(rows: Sequence[QuestionPair], remove: Remove, *, reviews: Reviews) -> list[QuestionPair]:
    """Remove repaired questions that were reviewed once more, and flagged again."""

    def unflagged(row: QuestionPair) -> QuestionPair:
        again = reviews.get(row.qid, ()) if row.repaired else ()
        if any(review.objects for review in again):
            raise Removed("flagged again after the repair", _flags_of(again))
        return row

    return keep_each(rows, remove, unflagged)


# ---- the set that is written, and the steps in their order ----------------------------------------------------------


SPLIT = "debug"
"""The split with answers."""
HEADER = ("qid", "type", "question", "choices1", "correct1", "choices2", "correct2", "difficulty", "renamed_video")
SCENARIO = "scenario"
"""A column that a set may have, of which the paper's Table 5 gives the numbers."""

ClipPart = tuple[str, float, float]
"""A video and two of its seconds."""


def write_release(rows: Sequence[QuestionPair], folder: Path, config: PairBuildConfig) -> list[str]:
    """Write the table and the clips into an empty folder; questions about the same part of a video share its clip."""
    # A clip's name says nothing of its video.
    parts: dict[ClipPart, str] = {
        part: f"{hashlib.sha256(json.dumps(part).encode('ascii')).hexdigest()[:12]}.mp4"
        for part in ((row.clip, row.start, row.end) for row in rows)
    }
    videos = folder / SPLIT / "videos"
    videos.mkdir(parents=True)

    def cut(part: ClipPart) -> str | None:
        clip, start, end = part
        try:
            cut_part(config.clips / clip, start, end, videos / parts[part])
        except UnreadableClip as error:
            return str(error)
        return None

    problems = Problems()
    for (clip, start, end), fault in in_parallel(parts, cut, no_progress, "cutting clips"):
        if fault:
            problems.add(f"{clip}, {start:g} to {end:g} s", fault, remedy="take its questions out of the annotations.")
    problems.raise_if_any("The clips cannot be cut", "no set was written; every reply is kept")
    table = []
    further = (SCENARIO,) if any(row.scenario for row in rows) else ()
    for row in rows:
        cells = {name: getattr(row, name) for name in ("qid", "type", "question", "difficulty", *further)}
        for number, version in enumerate(VERSIONS, start=1):
            options = enumerate(row.options(version), start=1)
            cells[f"choices{number}"] = "|".join(f"{place}. {option}" for place, option in options)
            cells[f"correct{number}"] = LETTERS.index(row.key(version)) + 1
        table.append({**cells, "renamed_video": parts[row.clip, row.start, row.end]})
    write_file(folder / metadata_name(SPLIT), csv_text((*HEADER, *further), table))
    carry_sample_mark(config.clips, folder)
    warnings = []
    if not config.reviews:
        warnings.append("Nobody reviewed these questions: the configuration names no reviews.")
    elif repaired := sum(row.repaired for row in rows):
        warnings.append(f"{repaired:,} questions were repaired after their review.")
    if config.responses is None:
        warnings.append(
            f"No people were asked: every question is {config.difficulty} because the configuration says so, and none "
            "was removed for its modal answer."
        )
    return warnings


def steps_of(config: PairBuildConfig) -> Sequence[ReadyStep]:
    tries = config.tries
    reviewing = [review_nothing]
    if config.reviews:
        reviews = read_reviews(config.reviews)
        reviewing = [
            apply_reviews.given(reviews=reviews, clips=config.clips),
            repair.given(tries=tries),
            refuse_flagged_again.given(reviews=reviews),
        ]
    if config.responses:
        # A table without its columns is refused before anything is asked.
        next(read_csv(config.responses, COLUMNS), None)
        people = apply_answers.given(responses=config.responses)
    else:
        people = ask_nobody.given(difficulty=config.difficulty or "")
    return [
        describe.given(config=config),
        answer_first.given(config=config),
        seed_distractors.given(config=config),
        put_plainly.given(tries=tries),
        refine_distractors.given(tries=tries),
        write_second_version.given(tries=tries, seed=config.seed),
        refuse_leaked_keys,
        blind_filter,
        *reviewing,
        people,
    ]


PIPELINE = Pipeline(
    benchmark=CARD.name,
    config=PairBuildConfig,
    read=read_questions,
    # The videos are not among them.
    source_files=lambda config: [config.annotations, *config.reviews, *filter(None, [config.responses])],
    steps=steps_of,
    write=write_release,
    first="questions by annotators",
    paper="3,764",
)

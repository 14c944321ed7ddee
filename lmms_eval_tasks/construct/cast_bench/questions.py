"""Questions with evidence from the descriptions of a clip, their wrong options, filters, and the last review by people.

Source: CaST-Bench, supplement.

- 10.3 and 10.4: exactly six questions a clip from the whole taxonomy, about a person or about nobody, with answers of
  15 words at most, each with up to five pieces of evidence; what breaks this form is asked for again. That each of the
  four categories is among the types that a clip's questions begin with is ours.
- 10.5: the text-based distractor has 15 words at most and names nothing that the question does not name; answers
  exclude each other in pairs, and those that do not are written again, a bounded number of times. A near-miss of each
  answer has one attribute changed and a length within 10%. By rule one stretch of words is another; whether that is
  one attribute, and a meaning of its own, a model says.
- 10.6: a text filter, then a filter on the clip with the boxes of the question's subject and of all evidence masked,
  where "unable to determine" is among the options; then people revise or discard questions, options and evidence. The
  conditions that a revision has to fulfil, and that a question nobody reviewed goes, are ours.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from string import ascii_uppercase
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from lmms_eval_tasks.cast_bench.benchmark import wording_of
from lmms_eval_tasks.cast_bench.card import CATEGORIES, NEAR_MISS, OTHER, read_type, type_definitions
from lmms_eval_tasks.cast_bench.masked import UNABLE, timed_boxes
from lmms_eval_tasks.cast_bench.release import ANSWER
from lmms_eval_tasks.construct.cast_bench.clip_steps import EditedText, blacken, clip_images, spread_seconds
from lmms_eval_tasks.construct.cast_bench.rows import (
    CastBenchConfig,
    ClipRow,
    DraftRow,
    EvidencePiece,
    QuestionRow,
    WrittenQuestion,
    holds_id,
    is_legible,
    on_one_line,
    released_evidence,
    released_row,
    subject_evidence,
    words_of,
)
from lmms_eval_tasks.construct.engine.steps import Asking, Form, Remove, Removed, keep_each, step
from lmms_eval_tasks.construct.engine.texts import (
    Refused,
    Unfit,
    bare_words,
    holds_text,
    is_marked,
    read_span,
    until_good,
)
from lmms_eval_tasks.utils.core.errors import Problems
from lmms_eval_tasks.utils.core.forms import RawText, ReleaseRow, WholeText, read_content, read_json_form
from lmms_eval_tasks.utils.core.text import clock, quote

WRITER = "writer"
MOST_EVIDENCE = 5
MOST_WORDS = 15
"""Of an answer, and of a distractor from the question's words."""


NUMBER = "another number of questions than asked for"


class WrittenQuestions(Form):
    questions: list[WrittenQuestion]


@step("questions", asks=[WRITER], requests=1.3, characters=9000, images=14, reply_tokens=2500, passes=6)
def write_questions(clip: ClipRow, asking: Asking, *, config: CastBenchConfig) -> list[DraftRow]:
    """Have exactly so many questions written; those that break a rule are asked for again, and shown with the rule.

    Those that break one to the last are left to the next step, which removes them for it.
    """
    seconds = spread_seconds(range(clip.last + 1), config.frames)
    images = clip_images(clip, seconds, config, asking)
    wanted = wanted_types(config.questions, f"{config.seed} {clip.id}")
    fit: list[WrittenQuestion] = []
    unfit: list[WrittenQuestion] = []
    refused: list[dict[str, str]] = []
    for _ in range(config.tries):
        number, types = config.questions - len(fit), {one.type for one in fit}
        try:
            reply = asking.ask(
                WRITER, "cast_bench_questions", WrittenQuestions, images,
                seconds=[clock(second) for second in seconds], last=clock(clip.last), instances=listed_instances(clip),
                types=type_definitions(), number=number, most_words=MOST_WORDS,
                wanted=[name for name in wanted if name not in types][:number],
                written=[one.question for one in fit], refused=refused,
            )  # fmt: skip
        except Removed:
            if not fit:
                raise
            break
        if len(reply.questions) != number:
            refused.append({"why": f"{NUMBER}: {len(reply.questions)} and not {number}"})
            continue
        faults = [_fault(clip, one) for one in reply.questions]
        judged = list(zip(reply.questions, faults, strict=True))
        fit += [one for one, fault in judged if not fault]
        unfit = [one for one, fault in judged if fault]
        refused += [{"question": one.question, "why": fault} for one, fault in judged if fault]
        if not unfit:
            break
    if not (written := [*fit, *unfit][: config.questions]):
        raise Removed(NUMBER, refused[-1]["why"])
    return [DraftRow(id=f"{clip.id}#{place}", clip=clip, written=one) for place, one in enumerate(written, 1)]


def _fault(clip: ClipRow, written: WrittenQuestion) -> str:
    """The first rule that a written question breaks; empty without one."""
    try:
        read_question(DraftRow(id=clip.id, clip=clip, written=written))
    except Removed as fault:
        return str(fault)
    return ""


def listed_instances(clip: ClipRow) -> list[dict[str, object]]:
    return [
        {
            "id": one.instance.id,
            "person": one.person,
            "description": one.description,
            "does": [f"[{clock(entry.start)}]-[{clock(entry.end)}] {entry.text}" for entry in one.entries],
        }
        for one in clip.described
    ]


def wanted_types(number: int, seed: str) -> list[str]:
    """Return types to begin with: one of each category while there is room, then any others, none twice."""
    rng = random.Random(seed)
    by_category: dict[str, list[str]] = {category: [] for category in CATEGORIES}
    for name in type_definitions():
        by_category[read_type(name).category].append(name)
    chosen = [rng.choice(names) for names in by_category.values()]
    rest = [name for name in type_definitions() if name not in chosen]
    rng.shuffle(chosen)
    rng.shuffle(rest)
    return [*chosen, *rest][:number]


@step("schema")
def check_question(row: DraftRow, _: Asking) -> QuestionRow:
    return read_question(row)


def read_question(row: DraftRow) -> QuestionRow:
    """Read a written question by every rule of its form; raises `Removed` for the first that it breaks."""
    written, by_id = row.written, row.clip.by_id
    names = ("question", "scene", "answer", "video_distractor")
    question, scene, answer, video_distractor = texts = [on_one_line(getattr(written, name)) for name in names]
    rationales = [on_one_line(one.rationale) for one in written.evidence]
    if not all(map(words_of, (*texts, *rationales))):
        raise Removed("an empty text")
    if not all(map(is_legible, (*texts, *rationales))):
        raise Removed("a text that is too long or not printable")
    if read_type(written.type).category == OTHER:
        raise Removed("unknown type of question", written.type)
    if len(words_of(answer)) > MOST_WORDS:
        raise Removed("answer of more than 15 words", answer)
    _check_subject(row)
    span, evidence = _span(row), _evidence(row, rationales)
    if holds_id((question, answer, video_distractor), by_id):
        raise Removed("an instance is called by its id", " / ".join(texts))
    if holds_text(question, answer):
        raise Removed("the question holds its answer", answer)
    if is_marked(answer) or is_marked(video_distractor):
        raise Removed("an option says which it is", f"{answer} / {video_distractor}")
    return QuestionRow(
        id=row.id,
        clip=row.clip,
        question=question,
        type=written.type.strip(),
        scene=scene,
        subject=written.subject,
        span=span,
        answer=answer,
        evidence=evidence,
        video_distractor=video_distractor,
    )


def _check_subject(row: DraftRow) -> None:
    subject, by_id = row.written.subject, row.clip.by_id
    if subject is not None and subject not in by_id:
        raise Removed("unknown subject", subject)
    if subject is not None and not by_id[subject].person:
        raise Removed("a subject that is no person", by_id[subject].label)


def _span(row: DraftRow) -> tuple[int, int] | None:
    """Return the seconds that a question is about; None where it names none."""
    start, end = row.written.start, row.written.end
    if start is None and end is None:
        return None
    span = read_span(start or "", end or "", row.clip.last)
    if span is None:
        raise Removed("question outside the clip", f"{start} to {end}")
    return span


def _evidence(row: DraftRow, rationales: Sequence[str]) -> tuple[EvidencePiece, ...]:
    written = row.written.evidence
    if not written:
        raise Removed("no evidence")
    if len(written) > MOST_EVIDENCE:
        raise Removed("more than five pieces of evidence", str(len(written)))
    evidence = []
    for one, rationale in zip(written, rationales, strict=True):
        if one.instance not in row.clip.by_id:
            raise Removed("evidence of an unknown instance", one.instance)
        seconds = read_span(one.start, one.end, row.clip.last)
        if seconds is None:
            raise Removed("evidence outside the clip", f"{one.start} to {one.end}")
        evidence.append(EvidencePiece(instance=one.instance, start=seconds[0], end=seconds[1], rationale=rationale))
    return tuple(evidence)


@step("distinct questions")
def keep_distinct(rows: Sequence[QuestionRow], remove: Remove) -> list[QuestionRow]:
    """Remove questions that are asked before: the official code joins answers by the question's text alone."""
    kept: dict[tuple[str, ...], QuestionRow] = {}
    for row in rows:
        first = kept.setdefault(tuple(words_of(row.question)), row)
        if first is not row:
            remove(row.id, Removed("asked before", f"{first.id}: {row.question}"))
    return list(kept.values())


@step("boxes")
def lay_boxes(row: QuestionRow, _: Asking) -> QuestionRow:
    """Lay the boxes of the tracks into the seconds of evidence; a question whose evidence is never seen then goes."""
    laid = []
    for one in row.evidence:
        seconds, tracked = range(one.start, one.end + 1), row.clip.by_id[one.instance].instance
        boxes = {second: box for second, box in tracked.boxes.items() if second in seconds}
        if not boxes:
            raise Removed("evidence without a box", f"{one.instance} {clock(one.start)} to {clock(one.end)}")
        laid.append(one.model_copy(update={"boxes": boxes}))
    return row.model_copy(update={"evidence": tuple(laid)})


TEXT_WRITER, VIDEO_WRITER, NEAR_MISS_WRITER, CHECKER = "text_distractor", "video_distractor", "near_miss", "checker"
TEXT, VIDEO = "text", "video"


class WrittenDistractor(Form):
    distractor: str


def _of_two(names: list[str]) -> list[str]:
    if names[0] == names[1]:
        raise PydanticCustomError("two", "an answer beside itself")
    return names


TwoAnswers = Annotated[
    list[Literal["answer", "text", "video"]], Field(min_length=2, max_length=2), AfterValidator(_of_two)
]
"""The names of two of the answers."""


class Exclusivity(Form):
    """Answers that do not exclude each other, and the things the text-based one names beyond the question."""

    clashes: list[TwoAnswers]
    unnamed: list[str]


@step(
    "distractors", asks=[TEXT_WRITER, VIDEO_WRITER, CHECKER], requests=2.6, characters=1200, reply_tokens=60
)  # fmt: skip
def write_distractors(row: QuestionRow, asking: Asking, *, config: CastBenchConfig) -> QuestionRow:
    """Add the text-based distractor, and have either distractor written again where the three answers clash."""
    texts = {TEXT: "", VIDEO: row.video_distractor}
    refused: dict[str, list[dict[str, str]]] = {TEXT: [], VIDEO: []}

    def write(_: Refused) -> QuestionRow:
        asked: dict[str, Any] = {"question": row.question, "answer": row.answer}
        if not texts[TEXT]:
            reply = asking.ask(
                TEXT_WRITER, "cast_bench_text_distractor", WrittenDistractor,
                **asked, most_words=MOST_WORDS, refused=refused[TEXT],
            )  # fmt: skip
            texts[TEXT] = on_one_line(reply.distractor)
        if not texts[VIDEO]:
            reply = asking.ask(
                VIDEO_WRITER, "cast_bench_video_distractor", WrittenDistractor,
                **asked, instances=listed_instances(row.clip), refused=refused[VIDEO],
            )  # fmt: skip
            texts[VIDEO] = on_one_line(reply.distractor)
        faults = _faults(row, texts[TEXT], texts[VIDEO])
        if not any(faults.values()):
            faults = _clashes(row, texts, asking)
        unfit = [Unfit(fault, texts[name]) for name, fault in faults.items() if fault]
        for name, fault in faults.items():
            if fault:
                refused[name].append({"distractor": texts[name], "why": fault})
                texts[name] = ""
        if unfit:
            raise unfit[0]
        return row.model_copy(update={"text_distractor": texts[TEXT], "video_distractor": texts[VIDEO]})

    return until_good(config.tries, write)


def _faults(row: QuestionRow, text: str, video: str) -> dict[str, str]:
    """The first fault that rules find in each distractor, empty without one."""
    names = [name for one in row.clip.described if (name := one.instance.name)]
    rules = {
        TEXT: {
            "is empty": not words_of(text),
            "is too long or not printable": not is_legible(text),
            "of more than 15 words": len(words_of(text)) > MOST_WORDS,
            "equals the answer": bare_words(text) == bare_words(row.answer),
            "says which option it is": is_marked(text),
            "names what the question does not": any(
                holds_text(text, name) and not holds_text(row.question, name) for name in names
            ),
        },
        VIDEO: {
            "is empty": not words_of(video),
            "is too long or not printable": not is_legible(video),
            "equals the answer": bare_words(video) == bare_words(row.answer),
            "equals the text distractor": bare_words(video) == bare_words(text),
            "says which option it is": is_marked(video),
            "calls an instance by its id": holds_id([video], row.clip.by_id),
        },
    }
    return {
        kind: next((f"{kind} distractor {fault}" for fault, is_one in found.items() if is_one), "")
        for kind, found in rules.items()
    }


def _clashes(row: QuestionRow, texts: Mapping[str, str], asking: Asking) -> dict[str, str]:
    reply = asking.ask(
        CHECKER, "cast_bench_exclusivity", Exclusivity,
        question=row.question, answers={"answer": row.answer, **texts},
    )  # fmt: skip
    clashes = [set(pair) for pair in reply.clashes]
    faults = {TEXT: "", VIDEO: ""}
    if {"answer", TEXT} in clashes:
        faults[TEXT] = "text distractor does not exclude the answer"
    elif reply.unnamed:
        faults[TEXT] = "text distractor names what the question does not"
    elif {TEXT, VIDEO} in clashes:
        faults[TEXT] = "distractors do not exclude each other"
    if {"answer", VIDEO} in clashes:
        faults[VIDEO] = "video distractor does not exclude the answer"
    return faults


TEXT_BASED, VIDEO_BASED = "text-based", "video-based"
LONGEST_CHANGE = 3
"""Words in a row that may be another in a near-miss."""


class WrittenNearMiss(Form):
    near_miss: str


class NearMissComparison(Form):
    """Attributes in which a near-miss differs, and the options that mean the same as it."""

    attributes: list[str]
    same_as: list[str]


@step("near-misses", asks=[NEAR_MISS_WRITER, CHECKER], requests=6.6, characters=1000, reply_tokens=60)
def write_near_misses(row: QuestionRow, asking: Asking, *, config: CastBenchConfig) -> QuestionRow:
    """Add a near-miss of each answer, and put the six options in order, each with its role."""
    options = {ANSWER: row.answer, TEXT_BASED: row.text_distractor, VIDEO_BASED: row.video_distractor}
    for role in (ANSWER, TEXT_BASED, VIDEO_BASED):
        # As the card names it.
        options[f"{NEAR_MISS}-of-{role}"] = _write_near_miss(row, role, options, config.tries, asking)
    listed = list(options.items())
    random.Random(f"{config.seed} {row.id} options").shuffle(listed)
    return row.model_copy(update={"options": dict(listed)})


def _write_near_miss(row: QuestionRow, role: str, options: Mapping[str, str], tries: int, asking: Asking) -> str:
    original = options[role]
    others = {name: text for name, text in options.items() if name != role}
    shortest, longest = length_range(original)

    def write(refused: Refused) -> str:
        reply = asking.ask(
            NEAR_MISS_WRITER, "cast_bench_near_miss", WrittenNearMiss,
            question=row.question, original=original, others=list(others.values()), shortest=shortest,
            longest=longest, refused=refused,
        )  # fmt: skip
        text = on_one_line(reply.near_miss)
        fault = near_miss_fault(text, original)
        if not fault and not is_legible(text):
            fault = "near-miss: not printable"
        elif not fault and is_marked(text):
            fault = "near-miss: says which option it is"
        elif not fault and any(bare_words(text) == bare_words(other) for other in options.values()):
            fault = "near-miss: equals another option"
        if fault := fault or _compare(row, text, original, others, asking):
            raise Unfit(fault, f"of the {role} option: {text}", near_miss=text, why=fault)
        return text

    return until_good(tries, write)


def near_miss_fault(near_miss: str, original: str) -> str:
    shortest, longest = length_range(original)
    if not shortest <= len(near_miss) <= longest:
        return "near-miss: length not within 10%"
    before, after = words_of(original), words_of(near_miss)
    compared = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    changes = [change for change in compared if change[0] != "equal"]
    if not changes:
        return "near-miss: nothing changed"
    _, first, last, first_after, last_after = changes[0]
    if len(changes) > 1 or max(last - first, last_after - first_after) > LONGEST_CHANGE:
        return "near-miss: more than one attribute changed"
    return ""


def length_range(original: str) -> tuple[int, int]:
    return -(-9 * len(original) // 10), 11 * len(original) // 10


def _compare(row: QuestionRow, text: str, original: str, others: Mapping[str, str], asking: Asking) -> str:
    reply = asking.ask(
        CHECKER, "cast_bench_near_miss_check", NearMissComparison,
        question=row.question, original=original, changed=text, others=dict(others),
    )  # fmt: skip
    if reply.same_as:
        return "near-miss: means the same as another option"
    attributes = {words for name in reply.attributes if (words := bare_words(name))}
    if len(attributes) > 1:
        return "near-miss: more than one attribute changed"
    return "" if attributes else "near-miss: nothing changed"


BLIND_SOLVER, MASKED_SOLVER = "blind_solver", "masked_solver"


class Choice(Form):
    choice: str = Field(pattern="^[A-F]$")


@step("text filter", asks=[BLIND_SOLVER], requests=1, characters=900, reply_tokens=20, passes=0.6)
def filter_by_text(row: QuestionRow, asking: Asking) -> QuestionRow:
    reply = asking.ask(BLIND_SOLVER, "cast_bench_without_clip", Choice, question=row.question, options=row.lettered)
    if reply.choice == row.key:
        raise Removed("answered right without the clip")
    return row


class ChoiceOrUnable(Form):
    """The letter of one of the six options, or of the one that says that it cannot be determined."""

    choice: str = Field(pattern="^[A-G]$")


@step(
    "video-mask filter", asks=[MASKED_SOLVER], paper="about 40% after both filters",
    requests=1, characters=1100, images=14, reply_tokens=20, passes=0.67,
)  # fmt: skip
def filter_by_mask(row: QuestionRow, asking: Asking, *, config: CastBenchConfig) -> QuestionRow:
    """Remove a question answered right although all evidence, and its subject at its time, are black."""
    seconds = spread_seconds(range(row.clip.last + 1), config.frames)
    boxes = timed_boxes({"evidence": json.dumps(released_evidence(row)), "subject": json.dumps(subject_evidence(row))})
    images = clip_images(row.clip, seconds, config, asking, lambda second, picture: blacken(picture, second, boxes))
    reply = asking.ask(
        MASKED_SOLVER, "cast_bench_masked_clip", ChoiceOrUnable, images,
        seconds=[clock(second) for second in seconds], question=row.question,
        options={**row.lettered, ascii_uppercase[len(row.options)]: UNABLE},
    )  # fmt: skip
    if reply.choice == row.key:
        raise Removed("answered right with its evidence masked")
    return row


class Revision(ReleaseRow):
    item_id: RawText
    version: RawText
    annotator: RawText
    question: WholeText
    options: list[WholeText]
    entries: list[EditedText]
    discarded: bool
    comment: WholeText = ""


def read_revisions(path: Path) -> dict[str, Revision]:
    problems = Problems()
    revisions: dict[str, Revision] = {}
    decisions = {"question", "options", "entries", "discarded"}
    for row in read_json_form(Revision, read_content(path), path.name, problems, lines=True):
        first = revisions.setdefault(row.version, row)
        if first.model_dump(include=decisions) != row.model_dump(include=decisions):
            both = f"{first.annotator} and {row.annotator} of {quote(row.item_id)}"
            problems.add(row.where, f"Expected one revision of each question, but got different ones by {both}.")
    problems.raise_if_any("The revisions cannot be used", "nothing was asked")
    return revisions


@step("last review")
def apply_revisions(
    rows: Sequence[QuestionRow], remove: Remove, *, revisions: Mapping[str, Revision]
) -> list[QuestionRow]:
    """Take each question as a reviewer left it; those that are discarded, or that nobody reviewed, go."""
    return keep_each(rows, remove, lambda row: _revised(row, revisions))


def _revised(row: QuestionRow, revisions: Mapping[str, Revision]) -> QuestionRow:
    shown = released_row(row)
    texts = list(shown["options"].values())
    version = wording_of(shown["video"], shown["question"], texts, shown["answer"], shown["evidence"])
    revision = revisions.get(version)
    if revision is None:
        raise Removed("nobody reviewed it as it is now", version)
    if revision.discarded:
        raise Removed("discarded by a reviewer", f"{revision.annotator}: {revision.comment or '–'}")
    question, *options = (on_one_line(text) for text in (revision.question, *revision.options))
    if len(options) != len(texts):
        raise Removed("revision with another number of options", f"{len(options)} of {len(texts)}")
    if not all(text and is_legible(text) for text in (question, *options)):
        raise Removed("revised text that is empty, too long or not printable", " / ".join((question, *options)))
    if len({tuple(words_of(text)) for text in options}) < len(options):
        raise Removed("two options are equal after the revision", " / ".join(options))
    roled = dict(zip(row.options, options, strict=True))
    evidence = _revised_evidence(row, revision.entries)
    changes = {"question": question, "answer": roled[ANSWER], "options": roled, "evidence": evidence}
    return row.model_copy(update=changes)


def _revised_evidence(row: QuestionRow, entries: Sequence[EditedText]) -> tuple[EvidencePiece, ...]:
    if not entries:
        raise Removed("revision without evidence")
    by_label = {one.label: one.instance for one in row.clip.described}
    pieces = []
    for entry in entries:
        instance, span = by_label.get(entry.name), read_span(entry.start, entry.end, row.clip.last)
        if instance is None:
            raise Removed("revised evidence of somebody who is not in the clip", entry.name)
        if span is None:
            raise Removed("revised evidence outside the clip", f"{entry.start} to {entry.end}")
        boxes = {second: box for second, box in instance.boxes.items() if span[0] <= second <= span[1]}
        if not boxes:
            raise Removed("revised evidence without a box", f"{entry.name} {clock(span[0])} to {clock(span[1])}")
        text = on_one_line(entry.text)
        pieces.append(EvidencePiece(instance=instance.id, start=span[0], end=span[1], rationale=text, boxes=boxes))
    return tuple(pieces)

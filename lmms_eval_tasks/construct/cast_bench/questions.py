"""Questions with evidence from the descriptions of a clip, and what each must be.

Source: CaST-Bench, supplement, 10.3 and 10.4: six questions a clip from the whole taxonomy, about a person or about
nobody, with answers of 15 words at most, each with up to five pieces of evidence. That each of the four categories is
among the types that a clip's questions begin with is ours.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from pydantic import Field

from lmms_eval_tasks.cast_bench.card import CATEGORIES, OTHER, read_type, type_definitions
from lmms_eval_tasks.construct.cast_bench.clip_selection import clip_images, spread_seconds
from lmms_eval_tasks.construct.cast_bench.rows import (
    CastBenchConfig,
    DescribedClipRow,
    DraftRow,
    EvidencePiece,
    QuestionRow,
    WrittenQuestion,
    holds_id,
    is_legible,
    on_one_line,
    words_of,
)
from lmms_eval_tasks.construct.engine.roles import Form
from lmms_eval_tasks.construct.engine.steps import Asking, Remove, Removed, step
from lmms_eval_tasks.construct.engine.texts import holds_text, is_marked, read_span
from lmms_eval_tasks.utils.core.text import clock

WRITER = "writer"
MOST_EVIDENCE = 5
MOST_WORDS = 15
"""Of an answer, and of a distractor from the question's words."""


class WrittenQuestions(Form):
    questions: list[WrittenQuestion] = Field(min_length=1)


@step("questions", asks=[WRITER], requests=1, characters=8000, images=14, reply_tokens=2500, passes=6)
def write_questions(row: DescribedClipRow, asking: Asking, config: CastBenchConfig) -> list[DraftRow]:
    """Have questions with evidence written about a clip, at most as many as the configuration asks for."""
    clip, number = row.source, config.questions
    seconds = spread_seconds(range(clip.last + 1), config.frames)
    written = asking.ask(
        WRITER, "cast_bench_questions", WrittenQuestions, clip_images(clip, seconds, config, asking),
        seconds=[clock(second) for second in seconds], last=clock(clip.last), instances=listed_instances(row),
        types=type_definitions(), number=number, most_words=MOST_WORDS,
        wanted=wanted_types(number, f"{config.seed} {row.id}"),
    )  # fmt: skip
    drafts = enumerate(written.questions[:number], 1)
    return [DraftRow(id=f"{row.id}#{place}", about=row, written=one) for place, one in drafts]


def listed_instances(row: DescribedClipRow) -> list[dict[str, object]]:
    return [
        {
            "id": one.instance.id,
            "person": one.person,
            "description": one.description,
            "does": [f"[{clock(entry.start)}]-[{clock(entry.end)}] {entry.text}" for entry in one.entries],
        }
        for one in row.described
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
    """Read the texts, times and instances of a question; remove one that is not of the form that it should have."""
    written, last, by_id = row.written, row.about.source.last, row.about.by_id
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
    if written.subject is not None:
        if written.subject not in by_id:
            raise Removed("unknown subject", written.subject)
        if not by_id[written.subject].person:
            raise Removed("a subject that is no person", by_id[written.subject].label)
    span = None
    if written.start is not None or written.end is not None:
        span = read_span(written.start or "", written.end or "", last)
        if span is None:
            raise Removed("question outside the clip", f"{written.start} to {written.end}")
    if not written.evidence:
        raise Removed("no evidence")
    if len(written.evidence) > MOST_EVIDENCE:
        raise Removed("more than five pieces of evidence", str(len(written.evidence)))
    evidence = []
    for one, rationale in zip(written.evidence, rationales, strict=True):
        if one.instance not in by_id:
            raise Removed("evidence of an unknown instance", one.instance)
        seconds = read_span(one.start, one.end, last)
        if seconds is None:
            raise Removed("evidence outside the clip", f"{one.start} to {one.end}")
        evidence.append(EvidencePiece(instance=one.instance, start=seconds[0], end=seconds[1], rationale=rationale))
    if holds_id((question, answer, video_distractor), by_id):
        raise Removed("an instance is called by its id", " / ".join(texts))
    if holds_text(question, answer):
        raise Removed("the question holds its answer", answer)
    if is_marked(answer) or is_marked(video_distractor):
        raise Removed("an option says which it is", f"{answer} / {video_distractor}")
    return QuestionRow(
        id=row.id,
        about=row.about,
        question=question,
        type=written.type.strip(),
        scene=scene,
        subject=written.subject,
        span=span,
        answer=answer,
        evidence=tuple(evidence),
        video_distractor=video_distractor,
    )


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
        seconds, tracked = range(one.start, one.end + 1), row.about.by_id[one.instance].instance
        boxes = {second: box for second, box in tracked.boxes.items() if second in seconds}
        if not boxes:
            raise Removed("evidence without a box", f"{one.instance} {clock(one.start)} to {clock(one.end)}")
        laid.append(one.model_copy(update={"boxes": boxes}))
    return row.model_copy(update={"evidence": tuple(laid)})

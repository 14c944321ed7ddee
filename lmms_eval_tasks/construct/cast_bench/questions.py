"""Questions with evidence from the descriptions of a clip, and what each must be.

Source: CaST-Bench, supplement, 10.3 and 10.4: six questions a clip from the whole taxonomy, about a person or about
nobody, with answers of 15 words at most, each with up to five pieces of evidence. That each of the four categories is
among the types that a clip's questions begin with is ours.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from pydantic import Field

from lmms_eval_tasks.cast_bench.card import CATEGORIES, OTHER
from lmms_eval_tasks.cast_bench.taxonomy import read_type, type_definitions, type_names
from lmms_eval_tasks.construct.cast_bench.clip_selection import clip_images, spread_seconds
from lmms_eval_tasks.construct.cast_bench.rows import (
    WRITER,
    CastBenchConfig,
    DescribedClipRow,
    DraftRow,
    EvidencePiece,
    QuestionRow,
    WrittenQuestion,
    holds_id,
    is_legible,
    on_one_line,
    word_count,
    words_of,
)
from lmms_eval_tasks.construct.engine.roles import Form
from lmms_eval_tasks.construct.engine.steps import Asking, Forecast, Removed, RowStep, SetStep
from lmms_eval_tasks.construct.engine.texts import clock, holds_text, is_marked, read_span

MOST_EVIDENCE = 5
MOST_WORDS = 15
"""Of an answer, and of a distractor from the question's words."""


class WrittenQuestions(Form):
    """The questions about a clip."""

    questions: list[WrittenQuestion] = Field(min_length=1)


class WriteQuestions(RowStep[DescribedClipRow, DraftRow]):
    """Has questions with evidence written about a clip."""

    name = "questions"
    takes, gives = DescribedClipRow, DraftRow
    roles = (WRITER,)
    forecast = Forecast(requests=1, characters=8000, images=14, reply_tokens=2500, rows=6)

    def __init__(self, config: CastBenchConfig) -> None:
        self._config = config

    def run(self, row: DescribedClipRow, asking: Asking) -> list[DraftRow]:
        """As many questions as the configuration asks for, at most."""
        clip = row.source
        seconds = spread_seconds(range(clip.last + 1), self._config.frames)
        written = asking.ask(
            WRITER, "cast_bench_questions", WrittenQuestions, clip_images(clip, seconds, self._config, asking),
            seconds=[clock(second) for second in seconds], last=clock(clip.last), instances=listed_instances(row),
            types=type_definitions(), number=self._config.questions, most_words=MOST_WORDS,
            wanted=wanted_types(self._config.questions, f"{self._config.seed} {row.id}"),
        )  # fmt: skip
        return [
            DraftRow(id=f"{row.id}#{number}", about=row, written=one)
            for number, one in enumerate(written.questions[: self._config.questions], 1)
        ]


class CheckQuestions(RowStep[DraftRow, QuestionRow]):
    """Removes questions that are not of the form that they should have."""

    name = "schema"
    takes, gives = DraftRow, QuestionRow

    def run(self, row: DraftRow, asking: Asking) -> list[QuestionRow]:
        """The question, its times and instances read."""
        written, last = row.written, row.about.source.last
        names = ("question", "scene", "answer", "video_distractor")
        question, scene, answer, video_distractor = texts = [on_one_line(getattr(written, name)) for name in names]
        rationales = [on_one_line(one.rationale) for one in written.evidence]
        if not all(map(words_of, (*texts, *rationales))):
            raise Removed("an empty text")
        if not all(map(is_legible, (*texts, *rationales))):
            raise Removed("a text that is too long or not printable")
        if read_type(written.type).category == OTHER:
            raise Removed("unknown type of question", written.type)
        if word_count(answer) > MOST_WORDS:
            raise Removed("answer of more than 15 words", answer)
        if written.subject is not None:
            subject = row.about.find(written.subject)
            if subject is None:
                raise Removed("unknown subject", written.subject)
            if not subject.person:
                raise Removed("a subject that is no person", subject.label)
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
            if row.about.find(one.instance) is None:
                raise Removed("evidence of an unknown instance", one.instance)
            seconds = read_span(one.start, one.end, last)
            if seconds is None:
                raise Removed("evidence outside the clip", f"{one.start} to {one.end}")
            start, end = seconds
            evidence.append(EvidencePiece(instance=one.instance, start=start, end=end, rationale=rationale))
        ids = [one.instance.id for one in row.about.described]
        if holds_id((question, answer, video_distractor), ids):
            raise Removed("an instance is called by its id", " / ".join(texts))
        if holds_text(question, answer):
            raise Removed("the question holds its answer", answer)
        if is_marked(answer) or is_marked(video_distractor):
            raise Removed("an option says which it is", f"{answer} / {video_distractor}")
        return [
            QuestionRow(
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
        ]


class DistinctQuestions(SetStep[QuestionRow, QuestionRow]):
    """Removes questions that are asked before: the official code joins answers by the question's text alone."""

    name = "distinct questions"
    takes = gives = QuestionRow

    def run(self, rows: Sequence[QuestionRow], remove: Callable[[str, Removed], None]) -> list[QuestionRow]:
        """The first of the questions of each text."""
        kept: dict[tuple[str, ...], QuestionRow] = {}
        for row in rows:
            first = kept.setdefault(tuple(words_of(row.question)), row)
            if first is not row:
                remove(row.id, Removed("asked before", f"{first.id}: {row.question}"))
        return list(kept.values())


class LayBoxes(RowStep[QuestionRow, QuestionRow]):
    """Lays the boxes of the tracks into the seconds of evidence; a question whose evidence is never seen then goes."""

    name = "boxes"
    takes = gives = QuestionRow

    def run(self, row: QuestionRow, asking: Asking) -> list[QuestionRow]:
        """The question with a box for each second in which its evidence is seen."""
        laid = []
        for one in row.evidence:
            instance = row.about.find(one.instance)
            assert instance is not None, "the schema has seen to it"
            seconds = range(one.start, one.end + 1)
            boxes = {second: box for second, box in instance.instance.boxes.items() if second in seconds}
            if not boxes:
                raise Removed("evidence without a box", f"{one.instance} {clock(one.start)} to {clock(one.end)}")
            laid.append(one.model_copy(update={"boxes": boxes}))
        return [row.model_copy(update={"evidence": tuple(laid)})]


def listed_instances(row: DescribedClipRow) -> list[dict[str, object]]:
    """The instances of a clip as models are shown them."""
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
    """Types to begin with: one of each category while there is room, then any others, none twice."""
    rng = random.Random(seed)
    by_category: dict[str, list[str]] = {category: [] for category in CATEGORIES}
    for name in type_names():
        by_category[read_type(name).category].append(name)
    chosen = [rng.choice(names) for names in by_category.values()]
    rest = [name for name in type_names() if name not in chosen]
    rng.shuffle(chosen)
    rng.shuffle(rest)
    return [*chosen, *rest][:number]

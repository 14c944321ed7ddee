"""The pipeline of a CausalVQA build, and its set in the form of the official release: a table, and clips cut to size.

Source: CausalVQA (arXiv 2506.09943), section 2.2 and appendix B. The wording of all prompts is ours.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path

from lmms_eval_tasks.causalvqa.benchmark import CARD, metadata_name
from lmms_eval_tasks.construct.causalvqa.filters import (
    BlindFilter,
    LeakedKey,
    NobodyAsked,
    NotReviewed,
    PeoplesAnswers,
    QualityReview,
    Repair,
    ReviewOfRepairs,
    read_reviews,
)
from lmms_eval_tasks.construct.causalvqa.rows import LETTERS, VERSIONS, PairBuildConfig, QuestionPair, read_questions
from lmms_eval_tasks.construct.causalvqa.versions import (
    Describe,
    FirstAnswer,
    Pictures,
    PlainEnglish,
    RefineDistractors,
    SecondVersion,
    SeedDistractors,
)
from lmms_eval_tasks.construct.engine.running import Pipeline
from lmms_eval_tasks.construct.engine.steps import AnyStep, PaperCount
from lmms_eval_tasks.utils.core.errors import Problems
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.work import in_parallel, no_progress
from lmms_eval_tasks.utils.data.identity import carry_sample_mark
from lmms_eval_tasks.utils.data.made import cut_part
from lmms_eval_tasks.utils.data.release import UnreadableClip

SPLIT = "debug"
"""The split with answers."""
HEADER = ("qid", "type", "question", "choices1", "correct1", "choices2", "correct2", "difficulty", "renamed_video")

ClipPart = tuple[str, float, float]
"""A video and two of its seconds."""


def write_release(rows: Sequence[QuestionPair], folder: Path, config: PairBuildConfig) -> list[str]:
    """Write the table and the clips into an empty folder; questions about the same part of a video share its clip."""
    parts = {(row.clip, row.start, row.end): clip_name((row.clip, row.start, row.end)) for row in rows}
    _cut(parts, config.clips, folder / SPLIT / "videos")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for row in rows:
        cells = []
        for version in VERSIONS:
            options = "|".join(f"{number}. {option}" for number, option in enumerate(row.options(version), start=1))
            cells += [options, LETTERS.index(row.key(version)) + 1]
        video = parts[row.clip, row.start, row.end]
        writer.writerow([row.qid, row.type, row.question, *cells, row.difficulty, video])
    write_file(folder / metadata_name(SPLIT), text.getvalue())
    carry_sample_mark(config.clips, folder)
    return _warnings(rows, config)


def clip_name(part: ClipPart) -> str:
    """The file of a part of a video, which says nothing of it."""
    return f"{hashlib.sha256(json.dumps(part).encode('ascii')).hexdigest()[:12]}.mp4"


def _cut(parts: dict[ClipPart, str], clips: Path, videos: Path) -> None:
    videos.mkdir(parents=True)

    def cut(part: ClipPart) -> str | None:
        clip, start, end = part
        try:
            cut_part(clips / clip, start, end, videos / parts[part])
        except UnreadableClip as error:
            return str(error)
        return None

    problems = Problems()
    for (clip, start, end), fault in in_parallel(parts, cut, no_progress, "cutting clips"):
        if fault:
            problems.add(f"{clip}, {start:g} to {end:g} s", fault, remedy="take its questions out of the annotations.")
    problems.raise_if_any("The clips cannot be cut", "no set was written; every reply is kept")


def _warnings(rows: Sequence[QuestionPair], config: PairBuildConfig) -> list[str]:
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


def steps_of(config: PairBuildConfig) -> Sequence[AnyStep]:
    """The steps that a configuration asks for."""
    pictures = Pictures(config.clips, config.frames)
    reviewing: list[AnyStep] = [NotReviewed()]
    if config.reviews:
        reviews = read_reviews(config.reviews)
        reviewing = [QualityReview(reviews, config.clips), Repair(config.tries), ReviewOfRepairs(reviews)]
    people = PeoplesAnswers(config.responses) if config.responses else NobodyAsked(config.difficulty or "")
    return [
        Describe(pictures),
        FirstAnswer(pictures),
        SeedDistractors(pictures),
        PlainEnglish(config.tries),
        RefineDistractors(config.tries),
        SecondVersion(config.tries, config.seed),
        LeakedKey(),
        BlindFilter(),
        *reviewing,
        people,
    ]


def source_files(config: PairBuildConfig) -> list[Path]:
    """The files whose digests say what a set was built from; the videos are not among them."""
    return [config.annotations, *config.reviews, *([config.responses] if config.responses else [])]


PIPELINE = Pipeline(
    benchmark=CARD.name,
    config=PairBuildConfig,
    read=read_questions,
    source_files=source_files,
    steps=steps_of,
    write=write_release,
    first="questions by annotators",
    paper=PaperCount("3,764", "2.2"),
)

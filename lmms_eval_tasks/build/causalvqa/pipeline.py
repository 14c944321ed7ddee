"""The steps of a build, in order.

Source: CausalVQA (arXiv 2506.09943), section 2.2 and appendix B. The wording of all prompts is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lmms_eval_tasks.build.causalvqa.annotations import read_questions
from lmms_eval_tasks.build.causalvqa.blind import BlindFilter, LeakedKey
from lmms_eval_tasks.build.causalvqa.config import PairBuildConfig
from lmms_eval_tasks.build.causalvqa.description import (
    Describe,
    FirstAnswer,
    Pictures,
    SeedDistractors,
)
from lmms_eval_tasks.build.causalvqa.distractors import RefineDistractors, SecondVersion
from lmms_eval_tasks.build.causalvqa.people import NobodyAsked, PeoplesAnswers
from lmms_eval_tasks.build.causalvqa.release import write_release
from lmms_eval_tasks.build.causalvqa.review import (
    NotReviewed,
    QualityReview,
    Repair,
    ReviewOfRepairs,
    read_reviews,
)
from lmms_eval_tasks.build.causalvqa.wording import PlainEnglish
from lmms_eval_tasks.build.engine.pipeline import Pipeline
from lmms_eval_tasks.build.engine.steps import AnyStep, PaperCount
from lmms_eval_tasks.causalvqa.card import CARD


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

"""The steps from sources' annotations to minimal pairs.

Source: the paper's section 3 (questions from the sources' annotations, pairs mined by the look of their clips, pairs
that single frames solve removed, skills balanced). How a question is written where a source has none is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lmms_eval_tasks.build.curation.vectors import read_vectors
from lmms_eval_tasks.build.engine.pipeline import Pipeline
from lmms_eval_tasks.build.engine.steps import AnyStep
from lmms_eval_tasks.build.mvp.annotations import read_annotations
from lmms_eval_tasks.build.mvp.config import MvpBuildConfig
from lmms_eval_tasks.build.mvp.contrasts import ChooseContrasts, FindNeighbours, MeetContrasts
from lmms_eval_tasks.build.mvp.frames import FilterSingleFrames
from lmms_eval_tasks.build.mvp.pairs import BalanceSkills, MinePairs
from lmms_eval_tasks.build.mvp.questions import CheckCandidates, WritePairQuestions
from lmms_eval_tasks.build.mvp.release import write_release
from lmms_eval_tasks.build.mvp.rows import AnnotatedClip
from lmms_eval_tasks.mvp.card import CARD


def read_sources(config: MvpBuildConfig) -> tuple[AnnotatedClip, ...]:
    """The annotated clips, each of which has a vector."""
    clips = read_annotations(config.annotations, config.videos)
    read_vectors(config.embeddings, config.ids, list(dict.fromkeys(clip.clip for clip in clips)))
    return clips


def source_files(config: MvpBuildConfig) -> tuple[Path, ...]:
    """The files that a build is made from."""
    return (*config.annotations, config.embeddings, *([config.ids] if config.ids else []))


def steps(config: MvpBuildConfig) -> Sequence[AnyStep]:
    """The steps in their order."""
    return (
        FindNeighbours(config),
        ChooseContrasts(config),
        MeetContrasts(),
        WritePairQuestions(config),
        CheckCandidates(),
        MinePairs(config),
        FilterSingleFrames(config),
        BalanceSkills(config),
    )


PIPELINE = Pipeline(
    benchmark=CARD.name,
    config=MvpBuildConfig,
    read=read_sources,
    source_files=source_files,
    steps=steps,
    write=write_release,
    first="annotated clips",
)

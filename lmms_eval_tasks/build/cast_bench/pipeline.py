"""All steps of a build, from clips and tracks to a set.

Source: CaST-Bench (arXiv 2605.23216), supplement, sections 10.1 to 10.6.
"""

from __future__ import annotations

from collections.abc import Sequence

from lmms_eval_tasks.build.cast_bench.config import CastBenchConfig
from lmms_eval_tasks.build.cast_bench.descriptions import (
    DescribeActions,
    DescribeLooks,
    JoinInstances,
    SplitInstances,
)
from lmms_eval_tasks.build.cast_bench.distractors import WriteDistractors
from lmms_eval_tasks.build.cast_bench.filters import MaskFilter, TextFilter
from lmms_eval_tasks.build.cast_bench.last_review import LastReview, read_revisions
from lmms_eval_tasks.build.cast_bench.near_misses import WriteNearMisses
from lmms_eval_tasks.build.cast_bench.questions import (
    CheckQuestions,
    DistinctQuestions,
    LayBoxes,
    WriteQuestions,
)
from lmms_eval_tasks.build.cast_bench.release import write_release
from lmms_eval_tasks.build.cast_bench.selection import MeasureClips, SelectClips
from lmms_eval_tasks.build.cast_bench.sources import read_sources, source_files
from lmms_eval_tasks.build.engine.pipeline import Pipeline
from lmms_eval_tasks.build.engine.steps import AnyStep
from lmms_eval_tasks.cast_bench.card import CARD


def steps(config: CastBenchConfig) -> Sequence[AnyStep]:
    """The steps in their order."""
    return (
        MeasureClips(config),
        SelectClips(config),
        SplitInstances(),
        DescribeLooks(config),
        DescribeActions(config),
        JoinInstances(),
        WriteQuestions(config),
        CheckQuestions(),
        DistinctQuestions(),
        LayBoxes(),
        WriteDistractors(config),
        WriteNearMisses(config),
        TextFilter(),
        MaskFilter(config),
        *([] if config.revisions is None else [LastReview(read_revisions(config.revisions))]),
    )


PIPELINE = Pipeline(
    benchmark=CARD.name,
    config=CastBenchConfig,
    read=read_sources,
    source_files=source_files,
    steps=steps,
    write=write_release,
    first="clips with tracks",
)

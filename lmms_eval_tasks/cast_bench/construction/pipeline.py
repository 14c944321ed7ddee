"""All steps of a build, from clips and tracks to a set.

Source: CaST-Bench (arXiv 2605.23216), supplement, sections 10.1 to 10.6.
"""

from __future__ import annotations

from collections.abc import Sequence

from lmms_eval_tasks.cast_bench.card import CARD
from lmms_eval_tasks.cast_bench.construction.config import CastBenchConfig
from lmms_eval_tasks.cast_bench.construction.descriptions import (
    DescribeActions,
    DescribeLooks,
    JoinInstances,
    SplitInstances,
)
from lmms_eval_tasks.cast_bench.construction.distractors import WriteDistractors
from lmms_eval_tasks.cast_bench.construction.filters import MaskFilter, TextFilter
from lmms_eval_tasks.cast_bench.construction.last_review import LastReview, read_revisions
from lmms_eval_tasks.cast_bench.construction.near_misses import WriteNearMisses
from lmms_eval_tasks.cast_bench.construction.questions import (
    CheckQuestions,
    DistinctQuestions,
    LayBoxes,
    WriteQuestions,
)
from lmms_eval_tasks.cast_bench.construction.release import write_release
from lmms_eval_tasks.cast_bench.construction.selection import MeasureClips, SelectClips
from lmms_eval_tasks.cast_bench.construction.sources import read_sources, source_files
from lmms_eval_tasks.utils.pipeline.pipeline import Pipeline
from lmms_eval_tasks.utils.pipeline.steps import AnyStep


def steps(config: CastBenchConfig) -> Sequence[AnyStep]:
    """The steps in their order.

    Raises:
        InputError: the revisions cannot be used.
    """
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

"""Records of every kind of task, graded of the version gate's examples."""

from __future__ import annotations

from functools import cache

from version_gate import examples_of

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.testing.examples import grade_examples, read_examples
from lmms_eval_tasks.utils.scoring.record import Record


@cache
def records_of(benchmark: str, kind: str) -> tuple[Record, ...]:
    """Records of a kind, in all strata."""
    rows, examples = read_examples(examples_of(benchmark))
    return grade_examples(registry().benchmarks[benchmark], kind, rows, examples, every_row=True)

"""How many clips and questions each step leaves, beside the paper's numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmms_eval_tasks.build.countervqa.annotations import Take
from lmms_eval_tasks.build.countervqa.assemble import FilterGraphs, MakeQuestions, MeasureGraphs
from lmms_eval_tasks.build.countervqa.naive import WriteNaive
from lmms_eval_tasks.build.countervqa.solving import LeaveOutSolved
from lmms_eval_tasks.build.countervqa.verification import VerifyQuestions
from lmms_eval_tasks.build.engine.built_set import BuiltTable
from lmms_eval_tasks.build.engine.running import StepRun
from lmms_eval_tasks.build.graphs.measures import FILTERS, Thresholds
from lmms_eval_tasks.utils.data.manifest import AttritionStep, SetAttrition

PAPER_COUNTS = {
    "annotated clips": 1200,
    "clips that pass the filters": 712,
    "candidate questions": 21_360,
    "questions kept": 3987,
}
"""CounterVQA (arXiv 2511.19923), sections 2.3 and A.1; candidates are 712 clips x 3 levels x 10."""


@dataclass(frozen=True)
class Attrition:
    """Counts of a build."""

    annotated: int
    pairs: Mapping[str, int]
    linked: int
    removed: Mapping[str, int]
    failing: Mapping[str, int]
    candidates: int
    rejected: Mapping[str, int]
    clips: int

    @property
    def filtered(self) -> int:
        """Clips that pass all filters."""
        return self.linked - sum(self.removed.values())

    @property
    def kept(self) -> int:
        """Questions that were kept."""
        return self.candidates - sum(self.rejected.values())

    def table(self, of_paper: bool = True) -> BuiltTable:
        """One row per step, with the paper's number where it gives one and the set was made by its method."""
        rows = [("annotated clips", self.annotated), *self.pairs.items(), ("clips with causal links", self.linked)]
        rows += [
            (f"  removed by {name} (by itself {self.failing[name]:,})", -count) for name, count in self.removed.items()
        ]
        rows += [("clips that pass the filters", self.filtered), ("candidate questions", self.candidates)]
        rows += [(f"  {reason}", -count) for reason, count in self.rejected.items()]
        rows += [("questions kept", self.kept), ("clips with a question", self.clips)]
        papers = PAPER_COUNTS if of_paper else {}
        cells = [(name, f"{count:,}", f"{papers[name]:,}" if name in papers else "") for name, count in rows]
        of_papers = 100.0 * (1 - PAPER_COUNTS["questions kept"] / PAPER_COUNTS["candidate questions"])
        here = f"{100.0 * (1 - self.kept / self.candidates):.1f}%" if self.candidates else "N/A"
        removed = ("questions removed", here, f"{of_papers:.1f}%" if of_paper else "")
        return BuiltTable("Attrition", ("step", "here", "paper"), [*cells, removed])

    def as_steps(self) -> SetAttrition:
        """The same as it is kept with the set: clips, and from the candidates on questions."""
        unlinked = self.annotated - self.linked
        steps: tuple[tuple[str, int, int, Mapping[str, int]], ...] = (
            ("clips with causal links", self.annotated, self.linked, {"no links": unlinked} if unlinked else {}),
            ("clips that pass the filters", self.linked, self.filtered, self.removed),
            ("candidate questions", self.filtered, self.candidates, {}),
            ("questions kept", self.candidates, self.kept, self.rejected),
        )
        return SetAttrition(
            start="annotated clips",
            rows=self.annotated,
            steps=tuple(
                AttritionStep(step=step, came=came, left=left, removed={why: n for why, n in removed.items() if n})
                for step, came, left, removed in steps
            ),
        )


def count_build(
    takes: Sequence[Take], pairs: Mapping[str, int], thresholds: Thresholds, runs: Sequence[StepRun]
) -> Attrition:
    """Count the losses of a build at each stage."""
    by_kind = {type(run.step): run for run in runs}
    measured, filters = by_kind[MeasureGraphs], by_kind[FilterGraphs]
    failing = Counter(name for row in measured.left for name in row.measures.failed(thresholds))
    checks = [by_kind[kind].counts.removed for kind in (VerifyQuestions, LeaveOutSolved) if kind in by_kind]
    rejected = sum(checks, Counter[str]())
    made = by_kind[WriteNaive if WriteNaive in by_kind else MakeQuestions]
    return Attrition(
        annotated=len(takes),
        pairs=pairs,
        linked=len(measured.left),
        removed={name: filters.counts.removed[name] for name in FILTERS},
        failing={name: failing[name] for name in FILTERS},
        candidates=len(made.left),
        rejected=dict(sorted(rejected.items())),
        clips=len({row.take.uid for row in runs[-1].left}),
    )

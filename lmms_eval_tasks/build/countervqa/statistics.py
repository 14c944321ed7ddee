"""What a set consists of, beside the paper's: questions by level and interaction, clips by interaction and length."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from lmms_eval_tasks.build.countervqa.annotations import Take
from lmms_eval_tasks.build.countervqa.interactions import interaction_of
from lmms_eval_tasks.build.engine.built_set import BuiltTable
from lmms_eval_tasks.countervqa.released import CounterfactualQuestion
from lmms_eval_tasks.utils.core.work import Progress
from lmms_eval_tasks.utils.data.clips import clip_lengths

PAPER_SHARES = {
    "level 1": "38.6%",
    "level 2": "26.7%",
    "level 3": "34.6%",
    "questions that are H2H": "36.2%",
    "clips that are H2H": "39.3%",
    "mean length of clips": "199.7 s",
    "  90% are no longer than": "456.0 s",
    "  95% are no longer than": "720.0 s",
}
"""CounterVQA (arXiv 2511.19923), section 2.2, appendix C and figure 11."""
DECIDED_BY = {
    "column": "  clips decided by a column of the annotations",
    "scenario": "  clips decided by their scenario",
    "wording": "  clips decided by the wording of their actions alone",
}


@dataclass(frozen=True)
class QuestionCounts:
    """Counts of a set."""

    levels: Mapping[int, int]
    goals: int
    interactions: Mapping[str, int]
    clips: Mapping[str, int]
    decided_by: Mapping[str, int]
    seconds: Sequence[float]

    def facts(self) -> dict[str, Any]:
        """The counts as JSON values."""
        return {
            "levels": {f"L{level}": self.levels[level] for level in (1, 2, 3)},
            "of the main goal": self.goals,
            "questions": dict(sorted(self.interactions.items())),
            "clips": dict(sorted(self.clips.items())),
            "interaction decided by": {name: self.decided_by[name] for name in DECIDED_BY},
            "seconds": {"clips": len(self.seconds), **self._lengths()},
        }

    def _lengths(self) -> dict[str, float]:
        """Lengths of clips in seconds by what they are called in the table; none where no clip's is known."""
        if not self.seconds:
            return {}
        ordered = sorted(self.seconds)
        below = {share: ordered[math.ceil(share * len(ordered) / 100) - 1] for share in (50, 90, 95)}
        shown = {f"  {share}% are no longer than": seconds for share, seconds in below.items()}
        return {"mean length of clips": fmean(ordered), **shown, "  the longest": ordered[-1]}

    def table(self, of_paper: bool = True) -> BuiltTable:
        """One row per count, with its share, and the paper's where it gives one and the set was made by its method."""
        questions, clips = sum(self.levels.values()), sum(self.clips.values())
        rows = [(f"level {level}", self.levels[level], questions) for level in (1, 2, 3)]
        rows += [("  that ask of the main goal", self.goals, questions)]
        rows += [("questions that are H2H", self.interactions["H2H"], questions)]
        rows += [("clips that are H2H", self.clips["H2H"], clips)]
        rows += [(shown, self.decided_by[name], clips) for name, shown in DECIDED_BY.items()]
        papers = PAPER_SHARES if of_paper else {}
        cells = [
            (name, f"{count:,}", f"{100 * count / total:.1f}%" if total else "N/A", papers.get(name, ""))
            for name, count, total in rows
        ]
        cells += [(name, f"{value:,.1f} s", "", papers.get(name, "")) for name, value in self._lengths().items()]
        return BuiltTable("Statistics", ("", "number", "share", "paper"), cells)


def count_questions(
    by_take: Mapping[str, Sequence[CounterfactualQuestion]],
    takes: Mapping[str, Take],
    clips: Path | None,
    progress: Progress,
) -> QuestionCounts:
    """Count the questions of a set, given by take, whose clips are in a folder; None where they are elsewhere."""
    files = [clips / takes[uid].clip for uid in by_take] if clips else []
    lengths = clip_lengths(files, progress, "reading the length of clips")
    questions = [question for here in by_take.values() for question in here]
    interactions = [interaction_of(takes[uid]) for uid in by_take]
    return QuestionCounts(
        Counter(question.level for question in questions),
        sum(question.goal is not None for question in questions),
        Counter(question.interaction for question in questions),
        Counter(interaction for interaction, _ in interactions),
        Counter(by for _, by in interactions),
        [seconds for seconds in lengths.values() if seconds is not None],
    )

"""What people answer: which questions have a key that most people do not choose, and how difficult the others are.

Source: CausalVQA paper, section 2.2. Bounds of difficulty are those of `utils.stats.human_baseline`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from lmms_eval_tasks.build.causalvqa.rows import LETTERS, VERSIONS, QuestionPair
from lmms_eval_tasks.build.engine.steps import Forecast, PaperCount, Removed, SetStep
from lmms_eval_tasks.utils.core.forms import read_csv
from lmms_eval_tasks.utils.people.baseline import DROPPED, disputed_questions, summarise
from lmms_eval_tasks.utils.people.responses import COLUMNS, AskedQuestion, read_human_responses

DISPUTED = "the most frequent answer of people is not the key"
TOO_HARD = "too few people are right"
NOT_ASKED = "no response to a version"
ANSWERED_IN_PAPER = PaperCount("14% out: 793", "2.2")
_SPELLED = {"easy": "easy", "medium": "med", "hard": "hard"}


class NobodyAsked(SetStep[QuestionPair, QuestionPair]):
    """Stands in the table for people who were not asked, and gives every question the configured difficulty."""

    name = "no people asked"
    takes = gives = QuestionPair
    paper = ANSWERED_IN_PAPER

    def __init__(self, difficulty: str) -> None:
        self._difficulty = difficulty

    def run(self, rows: Sequence[QuestionPair], remove: Callable[[str, Removed], None]) -> Sequence[QuestionPair]:
        """All rows."""
        return [row.model_copy(update={"difficulty": self._difficulty}) for row in rows]


class PeoplesAnswers(SetStep[QuestionPair, QuestionPair]):
    """Questions of which a version's modal answer is not the key go; the others get their difficulty."""

    name = "answers of people"
    takes = gives = QuestionPair
    paper = ANSWERED_IN_PAPER
    forecast = Forecast(rows=0.86)

    def __init__(self, responses: Path) -> None:
        self._responses = responses
        for _ in read_csv(responses, COLUMNS):
            break

    def run(self, rows: Sequence[QuestionPair], remove: Callable[[str, Removed], None]) -> Sequence[QuestionPair]:
        """The questions that stay, with their difficulty."""
        if not rows:
            return []
        asked = {
            (row.qid, str(version)): AskedQuestion(row.key(version), LETTERS) for row in rows for version in VERSIONS
        }
        responses = read_human_responses(self._responses, asked, others_too=True)
        disputed = set(disputed_questions(responses))
        summaries = {summary.item: summary for summary in summarise(responses)}
        left = []
        for row in rows:
            summary = summaries.get(row.qid)
            if summary is None or len(summary.versions) < len(VERSIONS):
                remove(row.id, Removed(NOT_ASKED, f"as {row.qid}"))
            elif row.qid in disputed:
                modal = ", ".join(f"{'|'.join(one.modal)} of version {name}" for name, one in summary.versions.items())
                keys = " and ".join(row.key(version) for version in VERSIONS)
                remove(row.id, Removed(DISPUTED, f"{modal}; the keys are {keys}"))
            elif summary.difficulty == DROPPED:
                remove(row.id, Removed(TOO_HARD, f"{summary.percent_right:.2f}% of the responses"))
            else:
                left.append(row.model_copy(update={"difficulty": _SPELLED[summary.difficulty]}))
        return left

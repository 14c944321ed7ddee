"""What grades answers: a judge, or the verdicts that one gave before."""

from __future__ import annotations

from typing import Any, Protocol

from lmms_eval_tasks.utils.judge.client import Case, Verdict


class Grader(Protocol):
    """Grades cases one by one; threads may share it."""

    def judge(self, case: Case) -> Verdict[Any]:
        """The verdict on a case; raises nothing."""

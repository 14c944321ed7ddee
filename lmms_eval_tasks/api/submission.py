r"""Checking a leaderboard's file, beyond `SubmissionForm`.

Examples:
    A leaderboard takes a line for each of two questions. `Attendance` notes which have one, as the benchmark's
    `SubmissionForm.check` reads them:

    >>> from pathlib import Path
    >>> from lmms_eval_tasks.api import GroupedIssues, RowForm, read_rows
    >>> from lmms_eval_tasks.api.submission import Attendance
    >>> class Line(RowForm):
    ...     question: str
    ...     predict: str
    >>> def check(path, ids_by_question, allow_incomplete, issues):
    ...     attendance = Attendance(ids_by_question, id_field="question", unique="each question", issues=issues)
    ...     for where, line in read_rows(path, Line, issues):
    ...         attendance.add(line.question, f"`{line.question}`", where)
    ...     return attendance.finish("split test", allow_incomplete)

    Two items may ask the same. Then its line has to be there twice, and is not missed where it is:

    >>> ids = {"Who falls?": ["q1", "q2"], "Who runs?": ["q3"]}
    >>> lines = ['{"question": "Who falls?", "predict": "A"}', '{"question": "Who falls?", "predict": "B"}']
    >>> file = Path("predictions.jsonl")
    >>> _ = file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    >>> issues = GroupedIssues()
    >>> check(file, ids, True, issues)
    ['Incomplete: 1 of 3 items have no row.']
    >>> len(issues)
    0

    A line too many is an issue, and so is each item without one, unless an incomplete file is allowed:

    >>> _ = file.write_text("".join(f"{line}\n" for line in [*lines, lines[0]]), encoding="utf-8")
    >>> check(file, ids, False, issues)
    ['Incomplete: 1 of 3 items have no row.']
    >>> issues.raise_if_any(f"{file} cannot be submitted")
    Traceback (most recent call last):
        ...
    lmms_eval_tasks...InputError: predictions.jsonl cannot be submitted: 2 problems.
      question: Expected each question once, but got again `Who falls?` (line 3, first in line 1).
      rows: Expected one for every item of split test, but there is none for `q3`.
"""

from __future__ import annotations

from lmms_eval_tasks.utils.submission.form import Attendance

__all__ = [
    "Attendance",
]

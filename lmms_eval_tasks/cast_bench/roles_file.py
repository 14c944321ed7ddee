"""The file beside a set that was built here: what a release does not say, subjects and the role of each option."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmms_eval_tasks.api import Problems, RowForm, read_rows
from lmms_eval_tasks.api.release import WholeText, describe
from lmms_eval_tasks.cast_bench.card import OPTION_KINDS

ROLES = "roles.jsonl"
ANSWER = "answer"
"""The role of the right option; the others are the kinds that the card names."""


class QuestionRoles(RowForm):
    """A line of the file, about the question in the same line of the release."""

    id: WholeText
    video: WholeText
    question: WholeText
    subject: WholeText | None
    question_start_time: WholeText | None
    question_end_time: WholeText | None
    option_roles: dict[str, WholeText]


def add_option_kinds(rows: Sequence[dict[str, Any]], path: Path, problems: Problems) -> None:
    """Give the rows of a release the kind of each option, from the file beside it."""
    issues = Problems()
    lines = list(read_rows(path, QuestionRoles, issues, exact=False))
    if not issues and len(lines) != len(rows):
        issues.add("lines", f"Expected {len(rows):,}, one for each question, but got", f"{len(lines):,}")
    for row, (where, line) in zip(rows, lines, strict=False) if not issues else ():
        letters = [chr(ord("A") + place) for place in range(len(row["options"]))]
        roles = [line.option_roles.get(letter) for letter in letters]
        if (line.question.strip(), f"test/{line.video}") != (row["question"], row["clip"]):
            issues.add("question", "Expected that of the same line of the release, but got", f"another ({where})")
        elif len(line.option_roles) != len(letters) or not all(role in (ANSWER, *OPTION_KINDS) for role in roles):
            issues.add("option_roles", "Expected a role for each option, but got", f"{describe(str(roles))} ({where})")
        elif [role == ANSWER for role in roles] != [letter == row["answer"] for letter in letters]:
            issues.add("option_roles", f"Expected {ANSWER} for the right option alone, but not in", where)
        else:
            row["option_kinds"] = [None if role == ANSWER else role for role in roles]
    problems.extend(issues, f"{path.name}, ")

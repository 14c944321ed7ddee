"""The form of a set that was made before: `questions.jsonl`, perhaps `scenes.jsonl`, and a folder of clips."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.api import GroupedIssues, InputError, read_rows
from lmms_eval_tasks.api.answers import NO, YES
from lmms_eval_tasks.api.evidence import read_truth
from lmms_eval_tasks.api.release import as_lines, describe, is_safe
from lmms_eval_tasks.worlds.card import CARD, DEPTHS, FAMILIES
from lmms_eval_tasks.worlds.questions.question import Question

QUESTIONS, SCENES, CLIPS = "questions.jsonl", "scenes.jsonl", "clips"


def question_lines(questions: Iterable[Question]) -> str:
    """Questions as the lines of a file."""
    return as_lines(question.model_dump(mode="json", exclude_defaults=True) for question in questions)


def digested_questions(questions: Iterable[Question]) -> bytes:
    """What of questions is compared between machines: all but boxes, which depend by a pixel on what renders."""
    lines: list[dict[str, Any]] = [question.model_dump(mode="json", exclude={"evidence"}) for question in questions]
    return as_lines(lines).encode()


def read_questions(folder: Path) -> list[Question]:
    """The questions of a folder, in the order of their file.

    Raises:
        InputError: there is no such folder or file, or questions are wrong; all that is wrong is named.
    """
    path = folder / QUESTIONS
    if not path.is_file():
        raise InputError(f"{CARD.title} cannot be prepared: there is no {path}.")
    issues = GroupedIssues()
    questions = []
    known: set[str] = set()
    closed: set[str] = set()
    group = ""
    for where, question in read_rows(path, Question, issues):
        for field, clause, found in faults_of(question):
            issues.add(field, clause, f"{describe(found)} ({where})")
        if question.item_id in known:
            issues.add("item_id", "Expected each once, but got again", f"{describe(question.item_id)} ({where})")
        if question.group_id != group:
            closed.add(group)
            group = question.group_id
            if group in closed:
                clause = "Expected the questions of a group next to each other, but got again"
                issues.add("group_id", clause, f"{describe(group)} ({where})")
        known.add(question.item_id)
        questions.append(question)
    if not questions and not issues:
        issues.add("lines", "Expected questions, but", "there is none")
    issues.raise_if_any(f"{path} cannot be prepared", "nothing was written")
    return questions


def faults_of(question: Question) -> list[tuple[str, str, str]]:
    """The fields of a question that do not go together: each, what was expected, and what is there."""
    found = []
    for field in ("item_id", "group_id", "question", "clip"):
        if not getattr(question, field).strip():
            found.append((field, "Expected a text, but got", getattr(question, field)))
    if not is_safe(question.clip):
        found.append(("clip", f"Expected a path below {CLIPS}, but got", question.clip))
    if question.family not in FAMILIES:
        found.append(("family", f"Expected one of {', '.join(FAMILIES)}, but got", question.family))
    if str(question.depth) not in DEPTHS:
        found.append(("depth", f"Expected {DEPTHS[0]} to {DEPTHS[-1]}, but got", str(question.depth)))
    if question.answer not in _answers(question):
        clause = f"Expected one of {', '.join(_answers(question))}, but got"
        found.append(("answer", clause, question.answer))
    if len(set(question.options)) < len(question.options):
        found.append(("options", "Expected options that differ, but got", ", ".join(question.options)))
    try:
        truth = read_truth(question.evidence)
    except (ValueError, TypeError, KeyError):
        truth = None
    if truth is None or (question.task == "evidence") != bool(truth):
        wanted = "instances" if question.task == "evidence" else "none"
        found.append(("evidence", f"Expected {wanted}, but got", question.evidence))
    return found


def _answers(question: Question) -> Sequence[str]:
    """What may be the answer: a letter of two options or more, or a verdict."""
    if question.task == "counterfactual":
        return (YES, NO)
    return tuple(ascii_uppercase[: len(question.options)]) if len(question.options) > 1 else ("A",)

"""The form of a set that was made before: `questions.jsonl`, perhaps `scenes.jsonl`, and a folder of clips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from lmms_eval_tasks.api import InputError, Problems, read_rows
from lmms_eval_tasks.api.answers import NO, YES
from lmms_eval_tasks.api.evidence import read_truth
from lmms_eval_tasks.api.release import as_lines, describe, is_safe
from lmms_eval_worlds.card import ARROWS, ASPECTS, CARD, DEPTHS, FAMILIES, LEVELS, PRINCIPLES, SPLIT
from lmms_eval_worlds.questions.question import NO_EVIDENCE, Question
from lmms_eval_worlds.questions.wording import CHANGES

if TYPE_CHECKING:
    from lmms_eval_worlds.scenes.scene import Scene


QUESTIONS, SCENES, CLIPS = "questions.jsonl", "scenes.jsonl", "clips"
_PLACES = (CLIPS, f"videos/{SPLIT}")
"""Where clips may be; the second is where a data home has them."""
IN_PAIRS = ("paired", "minimal", "possible", "reversal")
"""Tasks whose questions come in groups of two."""


def question_lines(questions: Iterable[Question]) -> str:
    return as_lines(question.model_dump(mode="json", exclude_defaults=True) for question in questions)


def digested_questions(questions: Iterable[Question]) -> bytes:
    """Return the part of questions that is compared between machines: all but boxes, which depend by a pixel on the
    renderer."""
    lines: list[dict[str, Any]] = [question.model_dump(mode="json", exclude={"evidence"}) for question in questions]
    return as_lines(lines).encode()


def read_questions(folder: Path) -> list[Question]:
    path = folder / QUESTIONS
    if not path.is_file():
        raise InputError(f"{CARD.title} cannot be prepared: there is no {path}.")
    issues = Problems()
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
    members = Counter(question.group_id for question in questions if question.task in IN_PAIRS)
    for name, count in members.items():
        if count != 2:
            issues.add("group_id", "Expected two questions in a group, but got", f"{count} in {describe(name)}")
    issues.raise_if_any(f"{path} cannot be prepared", "nothing was written")
    return questions


def clips_folder(source: Path) -> Path:
    for name in _PLACES:
        if (source / name).is_dir():
            return source / name
    raise InputError(f"{CARD.title} cannot be prepared: {source} has no folder {' or '.join(_PLACES)}.")


def refuse_other_scenes(scenes: Iterable[Scene], path: Path) -> None:
    """Stop where scenes are of a family or a depth that no score is of."""
    issues = Problems()
    for scene in scenes:
        for field, clause, found in _faults_of_scene(scene.family, scene.depth):
            issues.add(field, clause, f"{describe(found)} ({scene.id})")
    issues.raise_if_any(f"{path} cannot be prepared", "nothing was written")


def faults_of(question: Question) -> list[tuple[str, str, str]]:
    """The fields of a question that do not go together: each, what was expected, and what is there."""
    found = []
    for field in ("item_id", "group_id", "question", "clip"):
        if not getattr(question, field).strip():
            found.append((field, "Expected a text, but got", getattr(question, field)))
    if not is_safe(question.clip):
        found.append(("clip", "Expected a path below the folder of clips, but got", question.clip))
    found += _faults_of_scene(question.family, question.depth)
    if question.task != "counterfactual" and len(question.options) < 2:
        found.append(("options", "Expected two at least, but got", ", ".join(question.options)))
    elif question.answer not in _answers(question):
        found.append(_none_of("answer", question.answer, _answers(question)))
    if len(set(question.options)) < len(question.options):
        found.append(("options", "Expected options that differ, but got", ", ".join(question.options)))
    found += [_none_of(field, value, known) for field, value, known in _named_values(question) if value not in known]
    if question.task == "counterfactual" and not question.changed.strip():
        found.append(("changed", "Expected a body, but got", question.changed))
    found += [
        ("about", "Expected kind, body and other body of each event, but got", ", ".join(key))
        for key in question.about
        if len(key) != 3 or not all(key[:2])
    ]
    if question.task == "evidence" and not _has_evidence(question.evidence):
        found.append(("evidence", "Expected instances with boxes, but got", question.evidence))
    elif question.task != "evidence" and question.evidence != NO_EVIDENCE:
        found.append(("evidence", f"Expected {NO_EVIDENCE}, but got", question.evidence))
    return found


def _faults_of_scene(family: str, depth: int) -> list[tuple[str, str, str]]:
    known = (("family", family, FAMILIES), ("depth", str(depth), DEPTHS))
    return [_none_of(field, value, values) for field, value, values in known if value not in values]


def _none_of(field: str, value: str, known: Sequence[str]) -> tuple[str, str, str]:
    return field, f"Expected one of {', '.join(known)}, but got", value


def _named_values(question: Question) -> list[tuple[str, str, Sequence[str]]]:
    """Fields of a task that have one of some values: scores are broken down by them, and pages show them."""
    aspect = question.kind.split()[0] if question.kind.strip() else ""
    named: dict[str, list[tuple[str, str, Sequence[str]]]] = {
        "perception": [("kind", aspect, ASPECTS["perception"])],
        "paired": [("kind", aspect, ASPECTS["paired"])],
        "counterfactual": [
            ("level", question.level, LEVELS),
            ("intervention", question.intervention, tuple(CHANGES)),
            ("seen", question.seen, (YES, NO)),
        ],
        "possible": [("principle", question.principle, PRINCIPLES)],
        "reversal": [("arrow", question.arrow, ARROWS)],
    }
    return named.get(question.task, [])


def _has_evidence(evidence: str) -> bool:
    """Whether there are instances, all of them with boxes."""
    try:
        truth = read_truth(evidence)
        return bool(truth) and all(one.timeline().boxes for one in truth)
    except (ValueError, TypeError, KeyError):
        return False


def _answers(question: Question) -> Sequence[str]:
    """Return the possible answers: the letters of the options, or the verdicts."""
    return (YES, NO) if question.task == "counterfactual" else tuple(ascii_uppercase[: len(question.options)])

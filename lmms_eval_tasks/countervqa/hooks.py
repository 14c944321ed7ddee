"""The hooks of CounterVQA's tasks: how a question is asked and graded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from lmms_eval_tasks.api import (
    GradedItem,
    Row,
    RunningTask,
    TaskContext,
    hook,
)
from lmms_eval_tasks.api.answers import NO, UNCLEAR, YES, read_verdict, verdict_grader
from lmms_eval_tasks.api.prompts import TaskSettings, prompt_reader
from lmms_eval_tasks.countervqa.agreement import with_agreement
from lmms_eval_tasks.countervqa.probe import ABSENT_LEVEL, asks_of_action_first, split_response
from lmms_eval_tasks.countervqa.released import ClipGraph

__all__ = ["annotated_doc_to_text", "doc_to_text", "probe_doc_to_text", "probe_process_results", "process_results"]

PROMPT = "countervqa"
ANNOTATED_PROMPT = "countervqa_annotated"

read_settings = prompt_reader(fields=frozenset({"question"}), default=PROMPT)
read_annotated_settings = prompt_reader(fields=frozenset({"question", "actions"}), default=ANNOTATED_PROMPT)


def strata(row: Row) -> dict[str, str]:
    """Level, interaction and rule of a row."""
    return {"interaction": row["interaction"], "level": row["level"], "rule": row["rule"] or "none"}


grade = verdict_grader(strata, fields=("paired",))
"""Grades the verdict of a free answer; a record's field ``paired`` says whether a partner has the opposite verdict."""


@hook
def doc_to_text(task: RunningTask, doc: Row, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The prompt: the question alone."""
    return task.put(doc, lmms_eval_specific_kwargs, ask)


@hook
def process_results(task: RunningTask, doc: Row, results: Sequence[Any]) -> dict[str, Any]:
    """The record of a verdict and its judged explanation, and what it contributes to each score."""
    return task.grade_first(doc, results, grade_and_judge)


@hook
def annotated_doc_to_text(
    task: RunningTask, doc: Row, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None
) -> str:
    """The prompt with the clip's timed actions."""
    return task.put(doc, lmms_eval_specific_kwargs, ask_annotated)


@hook
def probe_doc_to_text(task: RunningTask, doc: Row, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The prompt: the question, and whether the action happened at all."""
    return task.put(doc, lmms_eval_specific_kwargs, ask_probe)


@hook
def probe_process_results(task: RunningTask, doc: Row, results: Sequence[Any]) -> dict[str, Any]:
    """The record of both answers, and what it contributes to each score."""
    return task.grade_first(doc, results, grade_probe)


def ask(row: Row, settings: TaskSettings) -> str:
    """The prompt: the question alone."""
    assert settings.prompt is not None
    return settings.prompt.render(question=row["question"])


def ask_annotated(row: Row, settings: TaskSettings) -> str:
    """The prompt with the clip's timed actions."""
    assert settings.prompt is not None
    actions = timed_actions(row["graph"])
    return settings.prompt.render(question=row["question"], actions=actions)


def ask_probe(row: Row, settings: TaskSettings) -> str:
    """The prompt: the question, and the action that is left out."""
    assert settings.prompt is not None
    return settings.prompt.render(question=row["question"], action=" ".join(str(row["action"]).split()))


@lru_cache(maxsize=16)
def timed_actions(text: str) -> str:
    """A clip's actions, one per line in order of time: "00:03-00:05 C opens the fridge"."""
    graph = ClipGraph.model_validate_json(text)
    lines = []
    for action in graph.actions:
        end = "" if action.end is None else f"-{clock(action.end)}"
        who = f"{action.subject}: " if action.subject else ""
        lines.append(f"{clock(action.start)}{end} {who}{' '.join(action.text.split())}")
    return "\n".join(lines)


def clock(seconds: float) -> str:
    """A time as minutes and whole seconds, `MM:SS`."""
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"


def grade_and_judge(row: Row, response: object, context: TaskContext) -> GradedItem:
    """Grade the verdict, and have the explanation judged where the run has a judge; raises nothing."""
    return GradedItem(with_agreement(grade(row, response, context).record, row, response, context))


def grade_probe(row: Row, response: object, context: TaskContext) -> GradedItem:
    """Grade both answers; raises nothing."""
    detected, verdict = split_response(response, asks_of_action_first(context.settings.prompt))
    graded = grade(row, verdict if isinstance(response, str) and response.strip() != verdict else response, context)
    record = graded.record
    happened = NO if row["level"] == ABSENT_LEVEL else YES
    detection = read_verdict(detected, cut_off=row.get("cut_off", False))
    return GradedItem(
        record.with_fields(
            detection=None if detection == UNCLEAR else detection,
            detected=None if record.correct is None else detection == happened,
        )
    )

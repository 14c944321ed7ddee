"""Prompts of tasks that are not ours without their question: the options alone, put as the task puts them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lmms_eval_tasks.host.ranks import RunStopped
from lmms_eval_tasks.installed.prompts import read_prompt

QUESTION = "question"
"""The column of a task's rows that is left out."""
NOTICE = "hidden_question"
"""The prompt that stands in its place."""
LEAST_OPTIONS = 2


def hide_question(doc: Mapping[str, Any]) -> dict[str, Any]:
    """A row with our notice in place of its question."""
    question = doc.get(QUESTION)
    if not isinstance(question, str) or not question.strip():
        names = ", ".join(map(str, doc))
        raise RunStopped(f"Expected rows with a column {QUESTION}, which is to be left out, but one has {names}.")
    return {**doc, QUESTION: read_prompt(NOTICE).text}


def check_hidden(doc: Mapping[str, Any], text: str) -> None:
    """See that a prompt shows a row's options and not its question."""
    if read_prompt(NOTICE).text not in text or doc[QUESTION].strip() in text:
        raise RunStopped(
            f"Expected a prompt in which the column {QUESTION} has the whole question, so that it can be left out, but "
            f"got {text[:200]!r}."
        )
    if not any(_are_shown(value, text) for value in doc.values()):
        raise RunStopped(
            f"Expected a prompt that shows options, a list in a column of the row, for they are asked about alone, but "
            f"got {text[:200]!r}."
        )


def _are_shown(value: object, text: str) -> bool:
    options = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(options, (list, tuple)) or len(options) < LEAST_OPTIONS:
        return False
    return all(isinstance(option, str) and option in text for option in options)

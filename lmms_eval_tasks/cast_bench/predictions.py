"""CaST-Bench's official prediction lines: what their prompts ask, by which they are joined with questions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lmms_eval_tasks.api.runs import PredictionLines, QuestionText

_QUESTION, _OPTIONS = "Question:", "\nOptions:"
_OPTION = re.compile(r"([A-Z]):(.*)")


def prompt_question(prompt: str) -> str:
    """The question between ``Question:`` and a line ``Options:`` of a prompt; empty where there is none.

    Source: the regular expression by which CaST-Bench-Evaluation@a216491, `evaluate_benchmark.py`, joins predictions.
    """
    start = prompt.find(_QUESTION)
    end = prompt.find(_OPTIONS, start)
    return prompt[start + len(_QUESTION) : end].strip() if 0 <= start < end else ""


def read_asked(prompt: str) -> QuestionText | None:
    """Return the question of a prompt that has a line ``Options:`` after ``Question:`` and then lines ``A: text``, or
    None for other prompts."""
    question = prompt_question(prompt)
    if not question:
        return None
    options: list[list[str]] = []
    first, *others = prompt[prompt.index(_OPTIONS, prompt.index(_QUESTION)) + len(_OPTIONS) :].splitlines() or [""]
    for line in (*([first] if _OPTION.match(first.strip()) else []), *others):
        match = _OPTION.fullmatch(line.strip())
        if match and match[1] == chr(ord("A") + len(options)):
            options.append([match[2]])
        elif options and line.strip():
            options[-1].append(line)
        elif options or line.strip():
            break
    return QuestionText.of(question, map(" ".join, options))


def _read(line: Mapping[str, Any]) -> tuple[QuestionText, str] | None:
    prompt, predicted = line.get("prompt"), line.get("predict", False)
    # As in the official script, null stands for an empty text.
    if not isinstance(prompt, str) or not (predicted is None or isinstance(predicted, str)):
        return None
    asked = read_asked(prompt)
    return (asked, predicted or "") if asked else None


PREDICTIONS = PredictionLines(
    read=_read,
    fields="predict and a prompt that has Question: and Options:",
    options="lines A: … after Options:",
)

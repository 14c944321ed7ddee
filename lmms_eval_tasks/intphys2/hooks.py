"""Grading of IntPhys 2's answers; its tasks' YAML names the shared hooks, which call `grade`."""

from __future__ import annotations

from typing import Any

from lmms_eval_tasks.api import Row, TaskContext
from lmms_eval_tasks.api.answers import IMPOSSIBLE, POSSIBLE, plausibility_grader
from lmms_eval_tasks.api.hooks import doc_to_text, process_results
from lmms_eval_tasks.intphys2.card import CARD
from lmms_eval_tasks.intphys2.prompt import asks_for_digit

# By which YAML files of earlier versions name them.
__all__ = ["process_results", "surprise_doc_to_text", "surprise_process_results"]
surprise_doc_to_text, surprise_process_results = doc_to_text, process_results


def official_answer(text: str, digits: bool = False) -> str | None:
    """Read a response as the official notebook does.

    "Yes" or "yes" anywhere is possible, else "No" or "no" anywhere is impossible: so "I do not know, yes" is possible,
    and "cannot" is impossible, as is "now". YES and NO in capitals are nothing. To the prompt that asks for a digit, 1
    anywhere is possible, else 0 anywhere is impossible: so "100" is possible.

    Args:
        text: The response.
        digits: Whether the prompt asked for 1 or 0.

    Returns:
        The letter of the option; None where neither occurs, which the notebook counts as wrong.

    Source: facebookresearch/IntPhys2@faf78cd, ComputeScoreIntPhys2.ipynb.
    """
    if any(sign in text for sign in (("1",) if digits else ("yes", "Yes"))):
        return POSSIBLE
    return IMPOSSIBLE if any(sign in text for sign in (("0",) if digits else ("no", "No"))) else None


def own_fields(row: Row, response: object, context: TaskContext) -> dict[str, Any]:
    """The clip's ``pair`` and ``coding``, what the official notebook reads, and whether that is right.

    It is wrong, too, where the clip is missing, as the notebook counts every row of its metadata.
    """
    prompt = context.settings.prompt
    official = None
    if row["asked"] and isinstance(response, str):
        official = official_answer(response, digits=prompt is not None and asks_for_digit(prompt))
    return {
        "pair": row["pair"],
        "coding": row["coding"],
        "official_answered": official,
        "official_correct": None if row["answer"] is None else official == row["answer"],
    }


grade = plausibility_grader(CARD.strata_columns, own_fields)

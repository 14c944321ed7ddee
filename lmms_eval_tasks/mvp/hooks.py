"""Grading of MVP's answers; its tasks' YAML names the shared hooks, which call `grade`."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import PurePosixPath

from lmms_eval_tasks.api import Row, choice_grader
from lmms_eval_tasks.api.hooks import process_results

__all__ = ["process_results"]  # by which YAML files of earlier versions name it

INTPHYS = {"O1": "object permanence", "O2": "shape constancy", "O3": "spatio-temporal continuity"}
"""The concepts of IntPhys, by how the names of its clips begin, such as ``_O1_01_2.mp4``."""
_WORD_END = re.compile(r"[ab]\b")


def official_choice(text: str) -> str | None:
    """Extract a candidate the way the official `extract_pred` does, so that scores compare with published tables.

    What it does, quirks included:

    - The text is lower-cased, and every "a" or "b" that *ends a word* is a match: the article "a", "camera", "grab".
      The official pattern may take in a preceding "answer:" or "assistant:", but requires none and looks for no word
      start, so those prefixes change nothing.
    - With two or more matches the *second* one is the answer, otherwise the only one.
    - An underscore, digit or letter after the letter hides it (``_B_`` has no match).
    - The official fallback for one-character responses is unreachable, because the pattern has matched them before.

    Args:
        text: The model's response; any string.

    Returns:
        A for the first candidate, B for the second, None where the official function returns False (scored as wrong
        there, but written to the leaderboard file as the first candidate).

    Source: facebookresearch/minimal_video_pairs@149e336, tasks/mvp/utils.py, `extract_pred`.
    """
    matches = [match.group() for match in islice(_WORD_END.finditer(text.lower()), 2)]
    return matches[-1].upper() if matches else None


def strata(row: Row) -> dict[str, str]:
    """Subset and source of a row, and the concept that a GRASP clip's folder or an IntPhys clip's name says."""
    *folders, name = PurePosixPath(row["clip"]).parts
    concept = None
    if row["source"] == "grasp":
        concept = next(iter(folders[:1:-1]), None)
    elif row["source"] == "intphys":
        concept = INTPHYS.get(name.lstrip("_").partition("_")[0])
    return {"subset": row["subset"], "source": row["source"], **({"concept": concept} if concept else {})}


grade = choice_grader(official_choice, stratum=strata)

"""The right answers to questions of Worlds, in the form that each task asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cast_bench import answer_with_truth


def oracle(row: Mapping[str, Any]) -> str:
    """The right answer to a row of the prepared table: a letter, yes or no, or a letter with its evidence."""
    if row["subset"] == "evidence":
        return answer_with_truth(row)
    if row["subset"] in ("counterfactual", "possible"):
        return "Yes." if row["answer"] in ("yes", "A") else "No."
    return f"({row['answer']})"

"""CausalVQA's submission file: one row per item, written at the end of a run and by `submit` alike.

Source: the code of the leaderboard, the Space facebook/physical_reasoning_leaderboard, knows the benchmark by the key
`causalvqa`. The other field names are those of its other benchmarks, and `task` is the stratum as the task files of
facebookresearch/CausalVQA@3f65605 name it: what these fields have to hold is our inference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from string import ascii_uppercase
from typing import Any, Literal

from lmms_eval_tasks.api import ChoiceForm, RowForm
from lmms_eval_tasks.api.release import describe
from lmms_eval_tasks.causalvqa.card import CARD, DIFFICULTIES, TYPES

OFFICIAL_DIFFICULTY = {"easy": "easy", "medium": "med", "hard": "hard"}
MOST_OPTIONS = 5
UNKNOWN_FORM = (
    "Only data_name is known from the leaderboard's code; what task, row_id and model_answer have to hold is our "
    "inference. Test files of users were refused in September 2025 (issues 4 and 5 of facebookresearch/CausalVQA)."
)


class SubmittedLetter(RowForm):
    """One row of the file."""

    data_name: Literal["causalvqa"]
    task: str
    row_id: str
    model_answer: str


def official_task(kind: str, difficulty: str) -> str:
    """A stratum's name in the official task files: ``Planning_med``."""
    return f"{kind.capitalize()}_{OFFICIAL_DIFFICULTY[difficulty]}"


STRATA = frozenset(official_task(kind, difficulty) for kind in TYPES for difficulty in DIFFICULTIES)


def _compare(row: SubmittedLetter, item: Mapping[str, Any] | None, split: str) -> Iterator[tuple[str, str, str]]:
    if item is not None:
        task = official_task(item["type"], item["difficulty"])
        if row.task != task:
            yield "task", "Expected the item's stratum, but got", f"{describe(row.task)} for {task}"
        return
    question, _, version = row.row_id.rpartition("_")
    if not question or version not in ("0", "1"):
        yield "row_id", "Expected <qid>_0 or <qid>_1, but got", describe(row.row_id)
    if row.task not in STRATA:
        yield "task", "Expected one of the 15 strata, such as Planning_med, but got", describe(row.task)


def _versions(row_id: str) -> list[str]:
    return [f"{row_id[:-2]}_{version}" for version in "01"] if row_id.endswith(("_0", "_1")) else []


FORM = ChoiceForm(
    card=CARD,
    row_type=SubmittedLetter,
    values=lambda row, split: {
        "data_name": CARD.name,
        "task": official_task(row["type"], row["difficulty"]),
        "row_id": row["item_id"],
    },
    answers=lambda row: list(ascii_uppercase[: len(row["options"]) if row else MOST_OPTIONS]),
    compare=_compare,
    siblings=_versions,
    path=lambda split, part: f"submissions/causalvqa_{split}.jsonl",
    notes=(UNKNOWN_FORM,),
)

"""MVP's submission files: one per subset, and the four joined; written at the end of a run and by `submit` alike.

Source: facebookresearch/minimal_video_pairs@149e336, tasks/mvp/utils.py, `mvp_pair_accuracy` (fields, names of files)
and README (the four are joined for the leaderboard). The official writer submits candidate A for unparsed answers; this
one an empty text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from lmms_eval_tasks.api import ChoiceForm, RowForm
from lmms_eval_tasks.api.release import describe
from lmms_eval_tasks.mvp.card import CARD, SUBSETS

DATA_NAME = CARD.leaderboards["physical-reasoning"]
SPLIT = {name: split for split, name in DATA_NAME.items()}
JOINT = "joint"


class SubmittedCandidate(RowForm):
    """One row of a file."""

    data_name: Literal["mvp_mini", "mvp"]
    row_id: str
    model_answer: str
    task: str


def file_path(split: str, part: str) -> str:
    """Return the path of a file below a run's output path; a subset's has its official name."""
    name = DATA_NAME[split]
    return f"{name}_submission.jsonl" if part == JOINT else f"submissions/{name}_{part}_valid.jsonl"


def _compare(row: SubmittedCandidate, item: Mapping[str, Any] | None, split: str) -> Iterator[tuple[str, str, str]]:
    if SPLIT[row.data_name] != split:
        expected = f"Expected one split, {DATA_NAME[split]} as in the first row, but got"
        yield "data_name", expected, describe(row.data_name)
    if row.task not in SUBSETS:
        yield "task", f"Expected one of {', '.join(SUBSETS)}, but got", describe(row.task)
    elif item is not None and row.task != item["subset"]:
        yield "task", "Expected the item's subset, but got", f"{row.task} for {item['subset']}"
    if item is None and not row.row_id.rpartition("_")[0]:
        yield "row_id", "Expected <pair>_<member>, but got", describe(row.row_id)


FORM = ChoiceForm(
    card=CARD,
    row_type=SubmittedCandidate,
    values=lambda row, split: {"data_name": DATA_NAME[split], "row_id": row["item_id"], "task": row["subset"]},
    answers=lambda row: row["options"] if row else None,
    answer="the text of a candidate",
    compare=_compare,
    split_of=lambda row: SPLIT[row.data_name],
    path=file_path,
    parts=(JOINT, *SUBSETS),
)

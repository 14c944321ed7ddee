"""A submission file's ids where there is no prepared table to look them up in."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmms_eval_tasks.finished.submit import validate
from lmms_eval_tasks.mvp.benchmark import SUBSETS
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.forms import as_lines

pytestmark = pytest.mark.usefixtures("home")


def write_file(folder: Path, *ids: str) -> Path:
    rows = [
        {"data_name": "mvp_mini", "row_id": item_id, "model_answer": "it falls", "task": SUBSETS[0]} for item_id in ids
    ]
    (folder / "file.jsonl").write_text(as_lines(rows), encoding="utf-8")
    return folder / "file.jsonl"


def test_ids_of_pairs_and_members_are_of_the_form(tmp_path: Path) -> None:
    assert validate("mvp", write_file(tmp_path, "s_1_1", "s_1_2", "7_0", "7_1")).rows == 4


@pytest.mark.parametrize("item_id", ["", "7", "_0", "video"])
def test_ids_without_a_pair_or_a_member_are_refused(item_id: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        validate("mvp", write_file(tmp_path, "s_1_1", item_id))
    assert f"row_id: Expected <pair>_<member>, but got `{item_id}` (line 2)." in str(refused.value)

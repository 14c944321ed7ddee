"""MVP's official reader, the concepts that clips' paths name, and ids of a submission without a prepared table."""

from __future__ import annotations

from pathlib import Path

import pytest
from expected import Expected
from oracles import read_oracle

from lmms_eval_tasks.finished.submit import validate
from lmms_eval_tasks.mvp.benchmark import SUBSETS
from lmms_eval_tasks.mvp.hooks import official_choice, strata
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.forms import as_lines

# Behaviour of the official function, read from facebookresearch/minimal_video_pairs@149e336 tasks/mvp/utils.py.
QUIRKS = [
    ("Answer: A", "A"),
    ("b", "B"),
    ("", None),
    ("C", None),
    ("Answer: B. A ball", "A"),
    ("A then B", "B"),
    ("A, B, A", "B"),
    ("camera", "A"),
    ("grab", "B"),
    ("_B_", None),
    ("B2", None),
    ("bé", None),
    ("答案是B", "B"),
    ("B是", None),
    ("Assistant: B", "B"),
    ("answer", None),
]


def test_the_official_reader_has_the_official_quirks() -> None:
    assert [(text, official_choice(text)) for text, _ in QUIRKS] == QUIRKS


def test_the_official_reader_equals_the_official_outputs() -> None:
    for item in read_oracle("answer_extraction.json")["items"]:
        choice = official_choice(item["text"])
        candidate = False if choice is None else str("AB".index(choice))
        assert candidate == item["mvp_official_extract_pred"], item["id"]
        assert choice == item["mvp_official_letter"], item["id"]
        assert int(choice == "A") == item["mvp_official_rating_if_gt_A"], item["id"]
        assert int(choice == "B") == item["mvp_official_rating_if_gt_B"], item["id"]


@pytest.mark.parametrize(
    ("source", "path", "concept"),
    [
        ("grasp", "grasp/level2/Gravity-Continuity/0001.mp4", {"concept": "Gravity-Continuity"}),
        ("intphys", "intphys/_O1_01_2.mp4", {"concept": "object permanence"}),
        ("intphys", "intphys/other.mp4", {}),
        ("grasp", "grasp/0001.mp4", {}),
        ("pt", "pt/videos/0001.mp4", {}),
    ],
)
def test_the_path_of_a_clip_names_its_concept(source: str, path: str, concept: dict[str, str]) -> None:
    row = {"subset": SUBSETS[2], "source": source, "clip": f"mini/{path}"}
    assert strata(row) == {"subset": SUBSETS[2], "source": source, **concept}


def test_ids_of_a_submission_name_a_pair_and_a_member(home: Path, tmp_path: Path, expected: Expected) -> None:
    def write(*ids: str) -> Path:
        row = {"data_name": "mvp_mini", "model_answer": "it falls", "task": SUBSETS[0]}
        (tmp_path / "file.jsonl").write_text(as_lines([{**row, "row_id": one} for one in ids]), encoding="utf-8")
        return tmp_path / "file.jsonl"

    assert validate("mvp", write("s_1_1", "s_1_2", "7_0", "7_1")).rows == 4
    with pytest.raises(InputError) as refused:
        validate("mvp", write("s_1_1", "", "7", "_0", "video"))
    expected(str(refused.value))

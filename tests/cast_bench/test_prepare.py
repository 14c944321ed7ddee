from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cast_bench import EVIDENCE, ROW, row, write_release
from hypothesis import given
from hypothesis import strategies as st
from oracles import oracle_path
from raw_releases import contents
from refusals import refused
from releases import write_clip

from lmms_eval_tasks.api.evidence import grade_evidence
from lmms_eval_tasks.cast_bench.benchmark import prepare
from lmms_eval_tasks.cast_bench.card import OTHER
from lmms_eval_tasks.cast_bench.hooks import read_question, read_settings
from lmms_eval_tasks.cast_bench.release import read_items
from lmms_eval_tasks.registry import load_table, read_card
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.home import clip_path, read_manifest

pytestmark = pytest.mark.usefixtures("home")
refusal = partial(refused, lambda source: prepare(str(source)))


def test_a_release_with_its_clips(tmp_path: Path) -> None:
    rows = [
        ROW,
        row(video="sav_000002.mp4", answer="A"),
        row(question="What then?", options={**ROW["options"], "E": ""}),
    ]
    write_release(tmp_path / "release", rows)
    write_clip(tmp_path / "release" / "videos" / "sav_000001.mp4", size=64)
    prepared = prepare(str(tmp_path / "release"))["test"]
    assert (prepared.rows, prepared.groups, prepared.clips, prepared.answers_withheld) == (3, 3, 2, False)
    first, other, second = load_table("cast_bench", "test", require_clips=False).to_list()
    assert first == {
        "item_id": "sav_000001_1",
        "group_id": "sav_000001_1",
        "question": "Why does the ball roll?",
        "options": ["It was kicked.", "It was thrown.", "The wind blew.", "The ground tilts."],
        "answer": "B",
        "clip": "test/sav_000001.mp4",
        "clip_present": True,
        "clip_seconds": 1.0,
        "question_type": "Why (Causal Reasons)",
        "category": "causal_explanation",
        "subtype": "why",
        "scene_category": "Park",
        "evidence": ROW["evidence"],
        "width": 64,
        "height": 64,
        "option_kinds": None,
    }
    assert (other["item_id"], other["clip_present"], other["width"], other["height"]) == (
        "sav_000002_1", False, None, None,
    )  # fmt: skip
    assert second["item_id"] == "sav_000001_2"
    assert clip_path("cast_bench", "test/sav_000001.mp4").is_symlink()


@pytest.mark.parametrize("shape", ["file", "folder", "videos"])
def test_clips_are_found_where_they_lie(tmp_path: Path, shape: str) -> None:
    file = write_release(tmp_path / "release", [ROW])
    folder = {"file": tmp_path / "release", "folder": tmp_path / "release" / "videos", "videos": tmp_path / "else"}[
        shape
    ]
    write_clip(folder / "sav_000001.mp4")
    source = file if shape == "file" else file.parent
    prepare(str(source), tmp_path / "else" if shape == "videos" else None)
    assert load_table("cast_bench", "test")["clip_present"] == [True]


def test_no_clip_at_all_is_no_hindrance(tmp_path: Path) -> None:
    prepare(str(write_release(tmp_path / "release", [ROW])))
    assert load_table("cast_bench", "test", require_clips=False)["clip_present"] == [False]
    with pytest.raises(InputError, match="1 of 1 clips are missing"):
        load_table("cast_bench", "test")


def test_the_same_release_gives_the_same_bytes(tmp_path: Path, home: Path) -> None:
    source = str(write_release(tmp_path / "release", [ROW, row(video="sav_000002.mp4")]))
    prepare(source)
    before = contents(home / "cast_bench")
    prepare(source)
    assert contents(home / "cast_bench") == before


def test_every_problem_is_told_at_once_and_nothing_is_written(tmp_path: Path, home: Path) -> None:
    rows: list[object] = [
        ROW,
        b"not json",
        [1],
        row(video="../x.mp4", question=" "),
        row(options={"A": "a"}, answer="A"),
        row(options={"A": "a", "B": "b", "D": "d", "E": "e"}),
        row(options="abcd"),
        row(answer="E"),
        row(answer="b"),
        {**ROW, "evidence": "[{"},
        {**ROW, "evidence": {"a": 1}},
        {**ROW, "evidence": "[5]"},
        row({}, {"evidence_instance_id": ["ball"]}, {"evidence_end_time": "9" * 30}),
        row({"bboxes_in_range": {"\u00b2:05": [1, 2, 3, 4]}}, {"bboxes_in_range": [1, 2, 3, 4]}),
        row({"bboxes_in_range": {"0": "[1, 2, NaN, 4]"}}),
        {name: value for name, value in ROW.items() if name not in ("video", "options", "evidence")},
        row(distractor_types={"A": "funny"}),
    ]
    source = write_release(tmp_path / "release", rows)
    lines = refusal(source, tmp_path).splitlines()
    assert lines[0] == "castbench_hf.jsonl cannot be prepared: 20 problems, nothing was written."
    kinds = "text-based, video-based, near-miss, near-miss-of-answer, near-miss-of-text-based, near-miss-of-video-based"
    json_error = "Expecting property name enclosed in double quotes: line 1 column 3 (char 2)"
    assert [line.removeprefix("  castbench_hf.jsonl, line ") for line in lines[1:]] == [
        "2: Expected a JSON object in UTF-8, but got: Expecting value: line 1 column 1 (char 0).",
        "3: Expected an object, but got `[1]`.",
        "4: Expected video to name a clip's file, but got `../x.mp4`.",
        "4: Expected a question, but got none.",
        "5: Expected 2 options or more, but got `1`.",
        '6: Expected a text for each option from A on in options, but got `{"A": "a", "B": "b", "D": "d", "E": "e"}`.',
        "7: Expected options to be an object from letter to text, but got `abcd`.",
        "8: Expected answer to be one of A, B, C, D, but got `E`.",
        "9: Expected answer to be one of A, B, C, D, but got `b`.",
        f"10: Expected evidence to be JSON ({json_error}), but got `[{{`.",
        "11: Expected evidence to be a list, but got an object.",
        "12: Expected evidence, entry 1 to be an object, but got `5`.",
        '13: Expected evidence_instance_id of evidence, entry 2 to name an instance, but got `["ball"]`.',
        "13: Expected times mm:ss and finite boxes in evidence, entry 3, but got "
        '`{"evidence_start_time": "00:00", "evidence_end_time": "99999…`.',
        "14: Expected the keys of bboxes_in_range of evidence, entry 1 to be seconds, but got `\u00b2:05`.",
        "14: Expected bboxes_in_range of evidence, entry 2 as an object from second to box, but got `[1, 2, 3, 4]`.",
        "15: Expected times mm:ss and finite boxes in evidence, entry 1, but got "
        '`{"evidence_start_time": "00:00", "evidence_end_time": "00:02…`.',
        "16: Expected video to name a clip's file, but got none.",
        "16: Expected options to be an object from letter to text, but got none.",
        f'17: Expected distractor_types among {kinds}, but got `{{"A": "funny"}}`.',
    ]
    assert not home.exists()


def test_some_answers_withheld_and_some_not(tmp_path: Path) -> None:
    source = write_release(tmp_path / "release", [ROW, row(answer=None)])
    assert refusal(source, tmp_path) == (
        "castbench_hf.jsonl cannot be prepared: 1 problem, nothing was written.\n"
        "  castbench_hf.jsonl: Expected answers to all questions or to none, but line 1 has one and line 2 lacks one. "
        "Remedy: use the file as it was released."
    )
    assert prepare(str(write_release(tmp_path / "withheld", [row(answer=None)])))["test"].answers_withheld


def test_what_is_no_release(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert refusal(tmp_path / "empty", tmp_path) == (
        "empty is not the CaST-Bench release: Expected castbench_hf.jsonl inside, but found nothing. Nothing was "
        "written."
    )
    assert refusal(tmp_path / "gone.jsonl", tmp_path) == (
        "gone.jsonl cannot be prepared: there is no file or folder ~/gone.jsonl."
    )
    with pytest.raises(InputError, match=r"there is no folder .* to take the videos from"):
        prepare(str(write_release(tmp_path / "release", [ROW])), tmp_path / "gone")
    assert refusal(write_release(tmp_path / "none", []), tmp_path).endswith("Expected rows, but got none.")


def test_the_hub_is_asked_for_questions_and_for_clips_that_nobody_gave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    revision = "0123456789abcdef0123456789abcdef01234567"
    write_release(tmp_path / "hub" / revision / "data", [ROW])
    write_clip(tmp_path / "hub" / revision / "clips" / "sav_000001.mp4")
    asked: list[tuple[str, Any]] = []

    def download(hub_id: str, repo_type: str, allow_patterns: list[str]) -> str:
        asked.append((hub_id, "*.mp4" in allow_patterns))
        return str(tmp_path / "hub" / revision)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    prepare()
    assert load_table("cast_bench", "test")["clip_present"] == [True]
    assert read_manifest(read_card("cast_bench")).splits["test"].revision == revision
    prepare("someone/CaST-Bench", tmp_path / "hub" / revision / "clips")
    assert asked == [("wovenbytoyota-vai/CaST-Bench", True), ("someone/CaST-Bench", False)]

    def fail(*_: Any, **__: Any) -> str:
        raise OSError("no such dataset\nmore")

    monkeypatch.setattr("huggingface_hub.snapshot_download", fail)
    with pytest.raises(InputError) as caught:
        prepare()
    assert str(caught.value).splitlines()[0] == (
        "CaST-Bench cannot be loaded from wovenbytoyota-vai/CaST-Bench: no such dataset"
    )


def test_a_folder_without_any_clip_is_the_wrong_one(tmp_path: Path, home: Path) -> None:
    release = write_release(tmp_path / "release", [ROW])
    (tmp_path / "wrong").mkdir()
    with pytest.raises(InputError) as refused:
        prepare(str(release), tmp_path / "wrong")
    assert str(refused.value) == (
        f"CaST-Bench cannot be prepared: none of its 1 clips is in {tmp_path}/wrong, and nothing was written.\n"
        f"Expected clips such as {tmp_path}/wrong/sav_000001.mp4. Remedy: give --videos the folder that they are named "
        "from."
    )
    assert not (home / "cast_bench").exists()
    assert len(prepare(str(release))["test"].missing) == 1, "without a folder, saved responses can be scored"


def test_what_is_odd_is_told_and_prepared(tmp_path: Path) -> None:
    rows = [
        ROW,
        ROW,
        row(question_type="Whence"),
        row(question="Other?", options={**ROW["options"], "D": "It was kicked."}),
    ]
    warnings = prepare(str(write_release(tmp_path / "release", rows)))["test"].warnings
    assert list(warnings[:3]) == [
        "Questions of a type that belongs to no known category: 1 (`Whence` 1). They count overall and in no category.",
        "Questions asked more than once: 1, such as `Why does the ball roll?`. They are scored one by one here; the "
        "official script joins by the question alone and keeps the last.",
        "Questions with two options of the same text: 1, such as sav_000001_4.",
    ]
    assert load_table("cast_bench", "test", require_clips=False)["item_id"] == [f"sav_000001_{n}" for n in (1, 2, 3, 4)]


SEVEN = {letter: f"Because {letter}." for letter in "ABCDEFG"}
ODD = [
    (
        row({"evidence_end_time": "00:01"}, {"evidence_start_time": "00:09", "evidence_end_time": "00:05"}),
        (1, 1 / 2, 1 / 6),
    ),
    (row({"evidence_start_time": "00:09", "evidence_end_time": "00:05"}), (1, 0.0, 0.0)),
    (row({"evidence_end_time": 2}), (1, 1.0, 2 / 3)),
    (row({"evidence_end_time": "00:02.0"}), (1, 3 / 121, 2 / 121)),
    (row({"evidence_start_time": None, "evidence_end_time": "later"}), (1, 0.0, 0.0)),
    (row({"evidence_instance_id": ""}, {"evidence_instance_id": None}), (1, 1.0, 2 / 3)),
    (row({"bboxes_in_range": {"0": [0, 0, 20, 20], "1": None, "2": ""}}), (1, 1.0, 1 / 3)),
    (row({"bboxes_in_range": {"now": [0, 0, 20, 20], "2": [1, 2, 3]}}), (1, 1.0, 1 / 3)),
    (row(evidence=""), (0, 0.0, 0.0)),
    (row(evidence=None), (0, 0.0, 0.0)),
    (row(options=SEVEN), (1, 1.0, 2 / 3)),
    (row(options={"A": "Yes.", "B": "No.", "C": "Perhaps."}), (1, 1.0, 2 / 3)),
]
ANSWER = {
    "answer_choice": "B",
    "instances": [
        {
            "instance_name": "ball",
            "evidences": [
                {
                    "evidence_start_time": "00:00",
                    "evidence_end_time": "00:02",
                    "bboxes_in_time_range": {"00:00": [0, 0, 20, 20], "00:02": [2, 0, 22, 20]},
                }
            ],
        }
    ],
}


@pytest.mark.parametrize(("released", "expected"), ODD)
def test_what_the_official_code_scores_is_prepared_and_scored_alike(
    released: dict[str, Any], expected: tuple[int, float, float], tmp_path: Path
) -> None:
    """The numbers are worked by hand after `metrics_core.py`: true instances, IM-tIoU and IM-vIoU of one response."""
    prepared = prepare(str(write_release(tmp_path / "release", [released])))["test"]
    assert [warning for warning in prepared.warnings if "line 1" in warning]
    (doc,) = load_table("cast_bench", "test", require_clips=False).to_list()
    record = grade_evidence(read_question(doc, read_settings({}, {}), None), json.dumps(ANSWER))
    grounding = record.fields["grounding"]
    assert record.correct
    assert (grounding["true"], grounding["im_tiou"], grounding["im_viou"]) == pytest.approx(expected)


def test_each_oddity_names_its_lines(tmp_path: Path) -> None:
    rows = [
        row({}, {"evidence_end_time": 0, "evidence_start_time": "00:01"}),
        row({"evidence_instance_id": None}, question="Other?", options=SEVEN),
        row({"bboxes_in_range": {"now": [0, 0, 20, 20], "2": "none"}}, question="Third?"),
        row(evidence=[], question="Fourth?"),
    ]
    prepared = prepare(str(write_release(tmp_path / "release", rows)))["test"]
    assert list(prepared.warnings[:7]) == [
        "Evidence times that are not mm:ss, read as the official code does: 1 (line 1 evidence 2).",
        "Evidence that ends before it starts, of which no box counts: 1 (line 1 evidence 2).",
        "Evidence whose evidence_instance_id is no text, grouped as the official code does: 1 (line 2 evidence 1).",
        "Questions with other than 4 to 6 options: 1 (line 2 with 7).",
        "Evidence with boxes at what is no second, read as the official code does: 1 (line 3 evidence 1).",
        "Evidence with boxes that are not four numbers, left out as in the official code: 1 (line 3 evidence 1).",
        "Questions without evidence, whose right answers can only be spurious: 1 (line 4).",
    ]
    assert read_manifest(read_card("cast_bench")).splits["test"].warnings == prepared.warnings


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*ROW, *EVIDENCE, "A", "0"]), inner),
    max_leaves=8,
)


@pytest.mark.slow
@given(changes=st.dictionaries(st.sampled_from([*ROW, "distractor_types"]), anything), evidence=st.lists(anything))
def test_any_row_is_read_or_told(changes: dict[str, Any], evidence: list[Any]) -> None:
    for released in (
        {**ROW, **changes},
        {**ROW, "evidence": json.dumps(evidence)},
        row(*[{"bboxes_in_range": changes}]),
    ):
        items, problems, _ = read_items(json.dumps(released).encode())
        assert bool(items) != bool(len(problems))


@given(content=st.binary(max_size=64))
def test_any_bytes_are_read_or_told(content: bytes) -> None:
    _, problems, _ = read_items(content)
    assert len(problems)


def test_kinds_of_options_where_they_are_released(tmp_path: Path) -> None:
    kinds = {"A": "Text based", "C": "near_miss", "D": "video-based"}
    prepare(str(write_release(tmp_path / "release", [row(distractor_types=kinds)])))
    (found,) = load_table("cast_bench", "test", require_clips=False)["option_kinds"]
    assert found == ["text-based", None, "near-miss", "video-based"]


def test_the_public_questions(tmp_path: Path) -> None:
    source = oracle_path("cast_bench", "castbench_hf.jsonl")
    prepared = prepare(str(source))["test"]
    assert (prepared.rows, prepared.clips) == (80, 56)
    assert [warning for warning in prepared.warnings if warning.startswith(("Questions", "Evidence"))] == []
    table = load_table("cast_bench", "test", require_clips=False)
    expected = json.loads((source.parent / "expected.json").read_text("utf-8"))["gt_stats"]
    assert Counter(table["question_type"]) == expected["question_type"]
    assert len(expected["question_type"]) == 17
    assert Counter(table["category"]) == {
        "causal_explanation": 29,
        "inferential_description": 25,
        "counterfactual_reasoning": 13,
        "predictive_anticipation": 13,
    }
    assert OTHER not in table["subtype"]
    assert EVIDENCE.keys() == json.loads(table["evidence"][0])[0].keys()

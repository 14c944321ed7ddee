"""Preparing CaST-Bench: what its release holds and its odd files. Laws of all are in tests/benchmarks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cast_bench import EVIDENCE, ROW, row, write_release
from expected import Expected
from hypothesis import given
from hypothesis import strategies as st
from numbered_clips import lay_on_its_side, write_numbered
from oracles import oracle_path
from refusals import refusal
from releases import write_clip
from sample_runs import at

from lmms_eval_tasks.api.evidence import grade_evidence
from lmms_eval_tasks.cast_bench.benchmark import prepare
from lmms_eval_tasks.cast_bench.card import (
    CATEGORIES,
    OPTION_KINDS,
    OTHER,
    UNKNOWN,
    read_option_kind,
    read_type,
    type_definitions,
)
from lmms_eval_tasks.cast_bench.hooks import read_question, read_settings
from lmms_eval_tasks.cast_bench.release import frame_size, is_time, read_items
from lmms_eval_tasks.cast_bench.report import references
from lmms_eval_tasks.registry import load_table, read_card
from lmms_eval_tasks.utils.data.home import clip_path, read_manifest
from lmms_eval_tasks.utils.data.prepare import Preparation

pytestmark = pytest.mark.usefixtures("home")

TIMES = json.loads((Path(__file__).parents[1] / "utils/answers/evidence/cases/timestamps.json").read_text("utf-8"))


def rows_of_table() -> list[dict[str, Any]]:
    return list(load_table("cast_bench", "test", require_clips=False))


@pytest.mark.parametrize("source", ["none", "a/b/c", "a/b.jsonl", "./a", "/a", "~/a", "owner/name"])
def test_only_an_owner_and_a_name_are_looked_for_on_the_hub(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def download(source: str, *_: Any) -> tuple[Path, str]:
        asked.append(source)
        return Path("nowhere"), "1"

    monkeypatch.setattr("lmms_eval_tasks.cast_bench.benchmark.download_dataset", download)
    said = refusal(prepare, Preparation(), source)
    assert asked == ([source] if source == "owner/name" else [])
    wanted = "the dataset owner/name on the hub holds no castbench_hf.jsonl" if asked else "there is no file or folder"
    assert wanted in said


def test_of_a_folder_that_is_no_release_some_names_are_said(tmp_path: Path) -> None:
    for name in "fedcba":
        (tmp_path / name).touch()
    assert "but found a, b, c, d, e. Nothing was written." in refusal(prepare, Preparation(), str(tmp_path))


def test_a_release_with_its_clips(tmp_path: Path, expected: Expected) -> None:
    kinds = {"A": "Text based", "C": "near_miss", "D": "video-based"}
    rows = [
        ROW,
        row(video="sav_000002.mp4", answer="A", distractor_types=kinds),
        row(question="What then?", options={**ROW["options"], "E": ""}),
    ]
    write_release(tmp_path / "release", rows)
    write_clip(tmp_path / "release" / "videos" / "sav_000001.mp4", size=64)
    prepared = prepare(Preparation(), str(tmp_path / "release"))["test"]
    assert (prepared.rows, prepared.groups, prepared.clips, prepared.answers_withheld) == (3, 3, 2, False)
    first, other, second = rows_of_table()
    expected(json.dumps(first, indent=1))
    assert [other[name] for name in ("item_id", "clip_present", "width")] == ["sav_000002_1", False, None]
    assert second["item_id"] == "sav_000001_2"
    assert other["option_kinds"] == ["text-based", None, "near-miss", "video-based"]
    assert clip_path("cast_bench", "test/sav_000001.mp4").is_symlink()


def test_clips_are_found_where_they_lie_and_answers_may_be_withheld(tmp_path: Path, expected: Expected) -> None:
    file = write_release(tmp_path / "release", [ROW])
    # Without a folder, saved responses can be scored.
    assert len(prepare(Preparation(), str(file))["test"].missing) == 1
    with at(tmp_path / "other"):
        assert prepare(Preparation(), str(write_release(tmp_path / "withheld", [row(answer=None)])))[
            "test"
        ].answers_withheld
    (tmp_path / "else").mkdir()
    expected(refusal(prepare, Preparation(), str(file), tmp_path / "else"))
    write_clip(tmp_path / "else" / "sav_000001.mp4")
    assert prepare(Preparation(), str(file.parent), tmp_path / "else")["test"].missing == ()
    write_clip(tmp_path / "release" / "sav_000001.mp4")
    for source in (file, file.parent):
        assert prepare(Preparation(), str(source))["test"].missing == ()


SEVEN = {letter: f"Because {letter}." for letter in "ABCDEFG"}
REVERSED = {"evidence_start_time": "00:09", "evidence_end_time": "00:05"}
ODD = [
    (row({"evidence_end_time": "00:01"}, REVERSED), (1, 1 / 2, 1 / 6)),
    (row(REVERSED), (1, 0.0, 0.0)),
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
PIECE = {
    "evidence_start_time": "00:00",
    "evidence_end_time": "00:02",
    "bboxes_in_time_range": {"00:00": [0, 0, 20, 20], "00:02": [2, 0, 22, 20]},
}
ANSWER = {"answer_choice": "B", "instances": [{"instance_name": "ball", "evidences": [PIECE]}]}


def test_what_the_official_code_scores_is_prepared_with_a_warning_and_scored_alike(
    tmp_path: Path, expected: Expected
) -> None:
    """The numbers are worked by hand after `metrics_core.py`: true instances, IM-tIoU and IM-vIoU of one response."""
    rows = [{**released, "question": f"Why {number}?"} for number, (released, _) in enumerate(ODD)]
    # Rows that are odd beside others: asked twice, of no known type, with two options of one text.
    twice = {**ROW["options"], "D": "It was kicked."}
    rows += [ROW, ROW, row(question_type="Whence"), row(question="Other?", options=twice)]
    prepared = prepare(Preparation(), str(write_release(tmp_path / "release", rows)))["test"]
    expected("\n".join(prepared.warnings))
    assert read_manifest(read_card("cast_bench")).splits["test"].warnings == prepared.warnings
    docs = rows_of_table()
    assert [doc["item_id"] for doc in docs] == [f"sav_000001_{number}" for number in range(1, len(rows) + 1)]
    for doc, (_, numbers) in zip(docs, ODD, strict=False):
        record = grade_evidence(read_question(doc, read_settings({}, {}), None), json.dumps(ANSWER))
        grounding = record.fields["grounding"]
        assert record.correct, doc["question"]
        assert (grounding["true"], grounding["im_tiou"], grounding["im_viou"]) == pytest.approx(numbers)


def test_what_a_careful_reader_takes_for_a_time() -> None:
    assert [text for text in (*TIMES["times"], *TIMES["others"]) if is_time(text)] == TIMES["times"]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*ROW, *EVIDENCE, "A", "0"]), inner),
    max_leaves=8,
)


@pytest.mark.slow
@given(changes=st.dictionaries(st.sampled_from([*ROW, "distractor_types"]), anything), evidence=st.lists(anything))
def test_any_row_is_read_or_refused(changes: dict[str, Any], evidence: list[Any]) -> None:
    for released in (
        {**ROW, **changes},
        {**ROW, "evidence": json.dumps(evidence)},
        row(*[{"bboxes_in_range": changes}]),
    ):
        items, problems, _ = read_items(json.dumps(released).encode())
        assert bool(items) != bool(len(problems))


def test_the_public_questions() -> None:
    source = oracle_path("cast_bench", "castbench_hf.jsonl")
    prepared = prepare(Preparation(), str(source))["test"]
    assert (prepared.rows, prepared.clips) == (80, 56)
    assert [warning for warning in prepared.warnings if warning.startswith(("Questions", "Evidence"))] == []
    table = load_table("cast_bench", "test", require_clips=False)
    expected = json.loads((source.parent / "expected.json").read_text("utf-8"))["gt_stats"]
    assert Counter(table["question_type"]) == expected["question_type"]
    assert len(expected["question_type"]) == 17
    assert Counter(table["category"]) == {
        "causal_explanation": 29, "inferential_description": 25, "counterfactual_reasoning": 13,
        "predictive_anticipation": 13,
    }  # fmt: skip
    assert OTHER not in table["subtype"]
    assert EVIDENCE.keys() == json.loads(table["evidence"][0])[0].keys()


TYPES = json.loads(Path(__file__).with_name("types.json").read_text("utf-8"))
"""The supplement's types as Prompt 6 prints them, other spellings, what is none of them, and kinds of options."""


def test_every_subtype_of_the_paper_is_known_by_name_and_by_number() -> None:
    assert [read_type(name).subtype for name in type_definitions()] == list(TYPES["printed"].values())
    for printed, subtype in TYPES["printed"].items():
        number, _, name = printed.partition(" ")
        assert {read_type(text).subtype for text in (printed, name, number, name.upper())} == {subtype}
    assert Counter(read_type(printed).category for printed in TYPES["printed"]) == dict(
        zip(CATEGORIES, (2, 2, 10, 2), strict=True)
    )


def test_other_spellings_are_the_same_and_what_is_none_of_them_is_not_guessed() -> None:
    assert {text: read_type(text).subtype for text in TYPES["spellings"]} == TYPES["spellings"]
    assert {read_type(text) for text in TYPES["none"]} == {UNKNOWN}
    kinds = {**TYPES["kinds"], **{kind: kind for kind in OPTION_KINDS}}
    assert {text: read_option_kind(text) for text in kinds} == kinds


@pytest.mark.parametrize(("degrees", "size"), [(0, (96, 80)), (90, (80, 96)), (180, (96, 80)), (270, (80, 96))])
def test_the_size_of_a_clip_is_that_of_its_upright_frames(degrees: int, size: tuple[int, int], tmp_path: Path) -> None:
    """True boxes and a model's are in pixels of what is shown, not of what is stored."""
    clip = write_numbered(tmp_path / "phone.mp4", 4, (96, 80))
    if degrees:
        lay_on_its_side(clip, degrees)
    assert tuple(frame_size(clip).values()) == size
    clip.write_bytes(b"no video")
    assert frame_size(clip) == {"width": None, "height": None}


def test_a_run_of_the_public_questions_is_compared_with_their_leaderboard_and_any_other_with_the_full_set() -> None:
    """People answered the full set alone."""
    public, full, part = (references("cast_bench", items) for items in (80, 2066, 81))
    assert [one.metric for one in public] == [one.metric for one in full]
    assert not any(one.people for one in public) and full[0].people == part[0].people != ()
    assert all("80 public questions" in one.note for one in public) and not any(one.note for one in (*full, *part))
    values = [{str(model.model): model.value for model in one[0].published} for one in (public, full, part)]
    assert values[0]["Claude-opus-4.7"] == 70.0 and values[1]["Gemini-2.5-Pro"] == 50.34 and values[1] == values[2]
    assert "Claude-opus-4.7" not in values[1]

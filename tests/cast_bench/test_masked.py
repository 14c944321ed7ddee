"""The video-mask test: what is black and when, the view that is run, and the questions to reject."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import refusals
from cast_bench import answer_with_truth, row, write_release
from commands import printed, refusal
from expected import Expected
from numbered_clips import write_numbered
from sample_runs import write_sample_run
from task_states import docs_of, task_state

from lmms_eval_tasks.cast_bench.benchmark import prepare
from lmms_eval_tasks.cast_bench.masked import OUTCOMES, UNABLE, masked_row, timed_boxes
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.home import clip_path
from lmms_eval_tasks.utils.data.made import mask_boxes
from lmms_eval_tasks.utils.data.prepare import Preparation

SIZE, RATE, FRAMES = (160, 120), 12.5, 60
BOXES = {"1": [20, 60, 60, 100], "2": "[30, 60, 70, 100]", "3": "[-1, -1, -1, -1]", "5": [100, 50, 140, 90]}
KINDS = {"A": "text-based", "C": "video-based", "D": "near-miss of the answer"}


def released(**changes: Any) -> dict[str, Any]:
    span = {"evidence_start_time": "00:01", "evidence_end_time": "00:03", "bboxes_in_range": BOXES}
    return row(span, **changes)


def prepare_release(folder: Path, *rows: dict[str, Any]) -> None:
    """Prepare questions about one clip."""
    write_release(folder, rows)
    write_numbered(folder / "sav_000001.mp4", FRAMES, SIZE)
    prepare(Preparation(), str(folder))


def answer_with(letter: str) -> str:
    return json.dumps({"instances": [], "answer_choice": letter})


def test_a_box_is_black_up_to_the_annotated_seconds_beside_its_own_within_its_span() -> None:
    first, second = (20.0, 60.0, 60.0, 100.0), (30.0, 60.0, 70.0, 100.0)

    def black(evidence: str, subject: str = "[]") -> list[Any]:
        return timed_boxes({"evidence": evidence, "subject": subject})

    evidence = released()["evidence"]
    assert black(evidence) == [(1, 2, first), (1, 3, second)]
    assert black(row({"bboxes_in_range": {"2": [2, 0, 22, 20]}})["evidence"]) == [(1, 3, (2, 0, 22, 20))]
    reversed_span = row({"evidence_start_time": "00:02", "evidence_end_time": "00:01"})["evidence"]
    assert black(reversed_span) == [] == black("[]")
    # The subject is black as well, where there is evidence to be masked.
    subject = row(
        {"evidence_start_time": "00:00", "evidence_end_time": "00:00", "bboxes_in_range": {"0": [1, 2, 3, 4]}}
    )
    assert black(evidence, subject["evidence"]) == [(1, 2, first), (1, 3, second), (0, 1, (1, 2, 3, 4))]
    assert black("[]", subject["evidence"]) == []


@pytest.mark.slow
def test_the_subject_of_a_set_made_here_is_black_while_the_question_is_about_it(home: Path, tmp_path: Path) -> None:
    """The file of roles gives it its boxes; a release, which has no such file, names no subject."""
    question = released()
    seen = {"0": "[-1, -1, -1, -1]", "1": "[4, 8, 20, 24]", "2": "[4, 8, 20, 24]"}
    roles = {
        "id": "c#1", "video": question["video"], "question": question["question"], "subject": "man",
        "question_start_time": "00:00", "question_end_time": "00:02", "subject_boxes": seen,
        "option_roles": {**dict.fromkeys(question["options"], "text-based"), question["answer"]: "answer"},
    }  # fmt: skip
    for beside, black in ((None, []), (roles, [(0, 2, (4, 8, 20, 24)), (1, 3, (4, 8, 20, 24))])):
        if beside:
            (tmp_path / "release" / "roles.jsonl").write_text(json.dumps(beside) + "\n", encoding="utf-8")
        prepare_release(tmp_path / "release", question)
        state = task_state("cast_bench_masked", Evaluation())
        (asked,) = docs_of(state)
        assert timed_boxes(asked) == [*timed_boxes({**asked, "subject": "[]"}), *black]
        (shown,) = state.doc_to_visual(asked)
        clip = clip_path("cast_bench", asked["clip"])
        assert Path(shown) == mask_boxes(clip, timed_boxes(asked), ClipStore(home / "views", 1 << 30)).path


BOX = "[4, 8, 20, 24]"


@pytest.mark.parametrize(
    ("subject", "boxes", "fault"),
    [
        ("man", {"0": BOX, "999999999": BOX}, ""),
        ("man", {"1000000000": BOX}, "whole seconds as keys"),
        ("man", {"1.5": BOX}, "whole seconds as keys"),
        ("man", {"\u0661": BOX}, "whole seconds as keys"),
        ("man", {"0": "[4, 8]"}, 'each box as "[x1, y1, x2, y2]" in pixels'),
        ("man", {}, "boxes where there is a subject, and none without one"),
        (None, {"0": BOX}, "boxes where there is a subject, and none without one"),
    ],
)
def test_the_boxes_of_a_subject_are_by_whole_seconds(
    subject: str | None, boxes: dict[str, str], fault: str, home: Path, tmp_path: Path
) -> None:
    question = released()
    write_release(tmp_path / "release", [question])
    roles = {
        "id": "c#1", "video": question["video"], "question": question["question"], "subject": subject,
        "question_start_time": "00:00", "question_end_time": "00:02", "subject_boxes": boxes,
        "option_roles": {**dict.fromkeys(question["options"], "text-based"), question["answer"]: "answer"},
    }  # fmt: skip
    (tmp_path / "release" / "roles.jsonl").write_text(json.dumps(roles) + "\n", encoding="utf-8")
    if fault:
        message = refusals.refusal(prepare, Preparation(), str(tmp_path / "release"))
        assert f"roles.jsonl, subject_boxes: Expected {fault}, but not in" in message
    else:
        prepare(Preparation(), str(tmp_path / "release"))


@pytest.mark.slow
def test_the_view_asks_with_an_added_option_about_the_masked_clip(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_MISSING", "skip")
    boxless, absent = row({"bboxes_in_range": {}}, question="And then?"), released(video="sav_000002.mp4")
    prepare_release(tmp_path / "release", released(distractor_types=KINDS), boxless, absent)
    state, plain = (task_state(task, Evaluation()) for task in ("cast_bench_masked", "cast_bench"))
    rows, whole = docs_of(state), docs_of(plain)
    assert [(row["item_id"], row["answer"]) for row in rows] == [(row["item_id"], row["answer"]) for row in whole]
    first, without_box, missing = rows
    # The added option stands last, and the key stays.
    masked = masked_row(whole[0])
    assert masked["options"] == [*whole[0]["options"], UNABLE] and masked["answer"] == whole[0]["answer"] == "B"
    assert masked["option_kinds"] == [*whole[0]["option_kinds"], None] and masked_row(without_box) == without_box
    assert f"E: {UNABLE}" in state.doc_to_text(first) and UNABLE not in state.doc_to_text(without_box)
    (shown,) = state.doc_to_visual(first)
    clip, placeholder = clip_path("cast_bench", first["clip"]), [str(home / "cast_bench" / "placeholder.mp4")]
    assert Path(shown) == mask_boxes(clip, timed_boxes(first), ClipStore(home / "views", 1 << 30)).path
    assert state.doc_to_visual(missing) == placeholder
    record = state.process_results(first, [answer_with("E")])["record"]
    assert (record["view"], record["outcome"], record["fields"]["unable"]) == ("masked", "wrong", "E")
    assert record["answered"] == "E" and not state.submits
    evidence = answer_with_truth(released())
    black = state.process_results(first, [evidence])["record"]["fields"]
    assert (black["grounding"], black["grounding_reason"]) == (None, "the evidence is black")
    assert plain.process_results(whole[0], [evidence])["record"]["fields"]["grounding"]["im_viou"] > 0
    assert state.process_results(missing, [""])["record"]["unscored_reason"] == "no clip"
    # A clip that cannot be decoded is shown black.
    (tmp_path / "release" / "sav_000001.mp4").write_bytes(b"no video")
    again = task_state("cast_bench_masked", Evaluation())
    again.doc_to_text(first)
    assert again.doc_to_visual(first) == placeholder
    assert again.process_results(first, [answer_with("B")])["record"]["unscored_reason"] == "unreadable clip"


@pytest.mark.usefixtures("home", "hundred_columns")
def test_questions_that_are_still_answered_are_listed(tmp_path: Path, expected: Expected) -> None:
    questions = [released(question=f"Why {number}?") for number in range(5)]
    prepare_release(tmp_path / "release", *questions, row({"bboxes_in_range": {}}, question="And then?"))
    letters = {f"sav_000001_{number}": letter for number, letter in enumerate("BEA?BB", 1)}
    masked, plain = (
        write_sample_run(tmp_path / task, [task], lambda _, doc: answer_with(letters[doc["item_id"]]))
        for task in ("cast_bench_masked", "cast_bench")
    )
    rejected = tmp_path / "rejected.txt"
    expected(printed("cast-bench", "still-answered", masked))
    lines = printed("cast-bench", "still-answered", masked, "--out", rejected).split()
    assert " ".join(lines).endswith("rejected.txt: 2 questions to reject")
    expected(refusal("cast-bench", "still-answered", plain))
    assert rejected.read_text() == "sav_000001_1\nsav_000001_5\n"


@pytest.mark.usefixtures("home")
def test_a_run_of_which_nothing_was_masked_has_shares_of_nothing(tmp_path: Path) -> None:
    prepare_release(tmp_path / "release", row({"bboxes_in_range": {}}))
    masked = write_sample_run(tmp_path / "run", ["cast_bench_masked"], lambda *_: answer_with("B"))
    assert printed("cast-bench", "still-answered", masked).count(" 0.0 ") == len(OUTCOMES)

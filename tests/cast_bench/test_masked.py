"""The video-mask test: what is black and when, the view that is run, and the questions to reject."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from cast_bench import answer_with_truth, row, write_release
from numbered_clips import number_of, pictures_by, write_numbered
from sample_runs import write_sample_run
from task_states import docs_of, task_state
from typer.testing import CliRunner

from lmms_eval_tasks.cast_bench.benchmark import prepare
from lmms_eval_tasks.cast_bench.masked import UNABLE, masked_row, timed_boxes
from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.home import clip_path
from lmms_eval_tasks.utils.data.made import mask_boxes

pytestmark = pytest.mark.usefixtures("home")

SIZE, RATE, FRAMES = (160, 120), 12.5, 60
BOXES = {"1": [20, 60, 60, 100], "2": "[30, 60, 70, 100]", "3": "[-1, -1, -1, -1]", "5": [100, 50, 140, 90]}
KINDS = {"A": "text-based", "C": "video-based", "D": "near-miss of the answer"}


def released(**changes: Any) -> dict[str, Any]:
    span = {"evidence_start_time": "00:01", "evidence_end_time": "00:03", "bboxes_in_range": BOXES}
    return row(span, **changes)


@pytest.fixture
def release(tmp_path: Path, home: Path) -> Path:
    """Three questions about one clip, the second one without a box, and one whose clip is missing."""
    rows = [
        released(distractor_types=KINDS),
        row({"bboxes_in_range": {}}, question="And then?"),
        released(question="Who?", answer="A"),
        released(video="sav_000002.mp4"),
    ]
    write_release(tmp_path / "release", rows)
    write_numbered(tmp_path / "release" / "sav_000001.mp4", FRAMES, SIZE)
    prepare(str(tmp_path / "release"))
    return tmp_path / "release"


@pytest.fixture
def skipping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_MISSING", "skip")


def answer_with(letter: str) -> str:
    return json.dumps({"instances": [], "answer_choice": letter})


def run_command(*arguments: object) -> tuple[int, str]:
    """The exit code, and what was printed, or on failure the message."""
    result = CliRunner().invoke(app, ["cast-bench", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, " ".join(result.stderr.split()) if result.exit_code else result.stdout


def test_a_box_is_black_up_to_the_annotated_seconds_beside_its_own_within_its_span() -> None:
    first, second = (20.0, 60.0, 60.0, 100.0), (30.0, 60.0, 70.0, 100.0)
    assert timed_boxes(released()) == [(1, 2, first), (1, 3, second)]
    last = row({"bboxes_in_range": {"2": [2, 0, 22, 20]}})
    assert timed_boxes(last) == [(1, 3, (2, 0, 22, 20))]
    reversed_span = row({"evidence_start_time": "00:02", "evidence_end_time": "00:01"})
    assert timed_boxes(reversed_span) == [] == timed_boxes({"evidence": "[]"})


@pytest.mark.usefixtures("release", "skipping")
def test_the_masked_clip_is_black_where_the_evidence_is(tmp_path: Path) -> None:
    clip = tmp_path / "release" / "sav_000001.mp4"
    made = mask_boxes(clip, timed_boxes(load_table("cast_bench", "test")[0]), ClipStore(tmp_path / "made", 1 << 30))
    source, shown = pictures_by("decord", clip), pictures_by("decord", made.path)
    for number in range(FRAMES):
        second = number / RATE
        black = []
        for key in ("1", "2"):  # the others are outside the span, or say that nothing is to be seen
            if (1 <= second < 4 and abs(second - int(key)) < 1) or (second == 1 and key == "2"):
                black.append(json.loads(str(BOXES[key])))
        outside = shown[number].astype(float)
        expected = source[number].astype(float)
        for x1, y1, x2, y2 in black:
            assert shown[number][y1:y2, x1:x2].max() <= 20
            outside[y1:y2, x1:x2] = expected[y1:y2, x1:x2] = math.nan
        assert number_of(shown[number]) == number
        difference = abs(outside - expected)
        assert difference[difference == difference].mean() < 4
        assert (len(black) > 0) == (1 <= second < 3)


@pytest.mark.usefixtures("release", "skipping")
def test_the_added_option_stands_last_and_the_key_stays() -> None:
    first, without_box, *_ = load_table("cast_bench", "test").to_list()
    masked = masked_row(first)
    assert masked["options"] == [*first["options"], UNABLE] and masked["answer"] == first["answer"] == "B"
    assert masked["option_kinds"] == [*first["option_kinds"], None]
    assert masked_row(without_box) == without_box


@pytest.mark.usefixtures("release", "skipping")
def test_the_view_asks_with_the_added_option_about_the_masked_clip(home: Path) -> None:
    state = task_state("cast_bench_masked", Evaluation())
    rows = docs_of(state)
    for masked, whole in zip(rows, docs_of(task_state("cast_bench", Evaluation())), strict=True):
        assert (masked["item_id"], masked["answer"]) == (whole["item_id"], whole["answer"])
    first, without_box, _, missing = rows
    assert f"E: {UNABLE}" in state.doc_to_text(first) and UNABLE not in state.doc_to_text(without_box)
    (shown,) = state.doc_to_visual(first)
    clip = clip_path("cast_bench", first["clip"])
    assert Path(shown) == mask_boxes(clip, timed_boxes(first), ClipStore(home / "views", 1 << 30)).path
    assert state.doc_to_visual(missing) == [str(home / "cast_bench" / "placeholder.mp4")]
    record = state.process_results(first, [answer_with("E")])["record"]
    assert (record["view"], record["outcome"], record["fields"]["unable"]) == ("masked", "wrong", "E")
    assert record["answered"] == "E" and not state.submits
    evidence = answer_with_truth(released())
    black = state.process_results(first, [evidence])["record"]["fields"]
    assert (black["grounding"], black["grounding_reason"]) == (None, "the evidence is black")
    whole = task_state("cast_bench", Evaluation())
    assert whole.process_results(docs_of(whole)[0], [evidence])["record"]["fields"]["grounding"]["im_viou"] > 0
    assert state.process_results(missing, [""])["record"]["unscored_reason"] == "no clip"


@pytest.mark.usefixtures("release", "skipping")
def test_a_clip_that_cannot_be_decoded_is_unscored_and_shown_black(home: Path, tmp_path: Path) -> None:
    (tmp_path / "release" / "sav_000001.mp4").write_bytes(b"no video")
    state = task_state("cast_bench_masked", Evaluation())
    first = docs_of(state)[0]
    state.doc_to_text(first)
    assert state.doc_to_visual(first) == [str(home / "cast_bench" / "placeholder.mp4")]
    record = state.process_results(first, [answer_with("B")])["record"]
    assert (record["outcome"], record["unscored_reason"]) == ("unscored", "unreadable clip")


def test_questions_that_are_still_answered_are_listed(tmp_path: Path) -> None:
    questions = [released(question=f"Why {number}?") for number in range(5)]
    write_release(tmp_path / "release", [*questions, row({"bboxes_in_range": {}}, question="And then?")])
    write_numbered(tmp_path / "release" / "sav_000001.mp4", FRAMES, SIZE)
    prepare(str(tmp_path / "release"))
    letters = dict(zip((f"sav_000001_{number}" for number in range(1, 7)), "BEA?BB", strict=True))

    def answer(task: str, doc: Any) -> str:
        return answer_with(letters[doc["item_id"]])

    run = write_sample_run(tmp_path / "masked", ["cast_bench_masked"], answer)
    code, output = run_command("still-answered", run)
    assert code == 0 and output.splitlines()[-2:] == ["sav_000001_1", "sav_000001_5"]
    cells = [line.rsplit(None, 2) for line in output.splitlines()]
    counts = {parts[0].strip(): parts[1:] for parts in cells if len(parts) == 3}
    assert counts["still answered right"] == ["2", "40.0"]
    assert counts["unable to determine"] == counts["answered wrong"] == ["1", "20.0"]
    assert counts["no answer that can be read"] == ["1", "20.0"]
    assert "not masked: its evidence has no box" in output
    run_command("still-answered", run, "--out", tmp_path / "rejected.txt")
    assert (tmp_path / "rejected.txt").read_text() == "sav_000001_1\nsav_000001_5\n"
    plain = write_sample_run(tmp_path / "plain", ["cast_bench"], answer)
    code, message = run_command("still-answered", plain)
    assert code == 1 and "holds no cast_bench_masked" in message

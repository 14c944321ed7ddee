"""The picture of one answer, and what is told where there is none."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import matplotlib.font_manager  # noqa: F401  (a first look for fonts warns on stderr when it takes seconds)
import pytest
from cast_bench import ROW, answer_with_truth, row, write_release
from releases import write_clip
from typer.testing import CliRunner

from lmms_eval_tasks.api.evidence import grade_evidence
from lmms_eval_tasks.cast_bench.draw import SPURIOUS_SHOWN, draw_item
from lmms_eval_tasks.cast_bench.hooks import read_question
from lmms_eval_tasks.cast_bench.item import AnsweredItem, read_item
from lmms_eval_tasks.cast_bench.prepare import prepare
from lmms_eval_tasks.cast_bench.prompt import read_settings
from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.answers.evidence_boxes import BoxConvention
from lmms_eval_tasks.utils.answers.evidence_reading import LAST_SECOND
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.prepare import preparing
from lmms_eval_tasks.utils.reporting.item_views import InstanceTrack

ITEM = "sav_000001_1"

pytestmark = pytest.mark.usefixtures("home")


def write_run(
    folder: Path,
    response: str,
    convention: BoxConvention = BoxConvention.XYXY_PX,
    task: str = "cast_bench",
    sample: bool = False,
) -> Path:
    """The output folder of a run that answered every prepared question alike."""
    folder.mkdir()
    lines = []
    for doc in load_table("cast_bench", "test", require_clips=False):
        question = read_question({**doc, "asked": doc["clip_present"]}, read_settings({}, {}), None)
        record = grade_evidence(question, response, convention=convention)
        line = {"record": record.to_json(), "filtered_resps": [response], **({"sample_data": 100.0} if sample else {})}
        lines.append(json.dumps(line))
    (folder / f"20260101_samples_{task}.jsonl").write_text("\n".join(lines) + "\n")
    results: dict[str, Any] = {"configs": {task: {}}, "group_subtasks": {}, "config": {"model": "some_model"}}
    (folder / "20260101_results.json").write_text(json.dumps(results))
    return folder


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    """A release with a clip of three seconds, which at its whole seconds shows the greys 0, 160 and 64."""
    release = write_release(tmp_path / "release", [ROW, row(video="sav_000002.mp4", question="And why not?")])
    write_clip(tmp_path / "release" / "sav_000001.mp4", frames=24, size=64)
    prepare(str(release))
    return tmp_path


def show(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["cast-bench", "show", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_a_picture_is_written_and_told(prepared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_run(prepared / "run", answer_with_truth(ROW))
    out = prepared / "picture.png"
    assert show(ITEM, "--run", run, "--out", out) == (0, f"cast_bench, {ITEM}: {out}\n", "")
    first = out.read_bytes()
    assert first.startswith(b"\x89PNG") and len(first) < 150_000
    assert show(ITEM, "--run", run, "--out", out)[0] == 0
    assert out.read_bytes() == first
    monkeypatch.chdir(prepared)
    assert show(ITEM, "--run", run) == (0, f"cast_bench, {ITEM}: {prepared / (ITEM + '.png')}\n", "")
    assert (prepared / f"{ITEM}.png").read_bytes() == first


@pytest.mark.parametrize(("suffix", "start"), [(".pdf", b"%PDF"), (".svg", b"<?xml")])
def test_other_kinds_of_pictures_have_the_same_bytes_each_time(prepared: Path, suffix: str, start: bytes) -> None:
    item = read_item(ITEM, write_run(prepared / "run", answer_with_truth(ROW)))
    for name in ("a", "b"):
        draw_item(item, prepared / f"{name}{suffix}")
    content = (prepared / f"a{suffix}").read_bytes()
    assert content.startswith(start) and content == (prepared / f"b{suffix}").read_bytes()


def test_an_item_holds_the_truth_and_the_answer(prepared: Path) -> None:
    run = write_run(prepared / "run", answer_with_truth(ROW))
    item = read_item(ITEM, run)
    boxes = {0: (0, 0, 20, 20), 2: (2, 0, 22, 20)}
    assert item.true == item.predicted == (InstanceTrack("ball_1", ((0, 2),), boxes),)
    grounding = item.record.fields["grounding"]
    assert grounding["pairs"] == [{"predicted": 0, "true": 0, "tiou": 1.0, "viou": pytest.approx(2 / 3)}]
    assert (item.record.expected, item.record.answered, item.run) == ("B", "B", "some_model")
    assert (item.sample, item.length) == (False, pytest.approx(3.0, abs=0.05))
    # Two seconds have two boxes each; the later one is the middle of them.
    assert item.second == 2 and item.picture.shape == (64, 64, 3)
    earlier = read_item(ITEM, run, second=1)
    assert earlier.second == 1
    assert [float(one.picture.mean()) for one in (earlier, item)] == pytest.approx([160, 64], abs=6)


def test_boxes_are_read_as_they_were_scored(prepared: Path) -> None:
    said = json.loads(answer_with_truth(ROW))
    said["instances"][0]["evidences"][0]["bboxes_in_time_range"] = {"00:02": [0, 500, 250, 1000]}
    run = write_run(prepared / "run", json.dumps(said), BoxConvention.YXYX_N1000)
    assert read_run(run).records["cast_bench"][0].fields["boxes"] == {"convention": "yxyx_n1000", "seen": None}
    assert read_item(ITEM, run).predicted[0].boxes == {2: (32, 0, 64, 16)}


def test_an_answer_that_says_nothing_is_drawn_too(prepared: Path) -> None:
    run = write_run(prepared / "run", "I do not know.")
    item = read_item(ITEM, run)
    assert (item.record.answered, item.predicted, item.record.fields["grounding"]["im_viou"]) == (None, (), 0)
    assert show(ITEM, "--run", run, "--out", prepared / "x.png")[0] == 0


def test_what_a_model_writes_never_breaks_the_picture(prepared: Path) -> None:
    item = read_item(ITEM, write_run(prepared / "run", answer_with_truth(ROW)))
    odd = (
        InstanceTrack("$\\frac{x}{$ " * 30, ((5, 2),), {}),
        InstanceTrack("\ud800", ((0, LAST_SECOND),), {}),
        InstanceTrack(
            "late", ((1, 999_999),), {2: (-50, 3, 1e9, 4), 3: (0, 0, float("inf"), float("nan")), 999_999: (0, 0, 1, 1)}
        ),
    )
    many = (InstanceTrack("shadow", ((0, 1),), {}),) * 200
    row = {**item.row, "question": "Why $_^ " * 90, "options": ["$" * 300, "b", "c", "d"]}
    matched = {**item.record.fields["grounding"], "pairs": [{"predicted": 2, "true": 0, "tiou": 0.1, "viou": 0.0}]}
    record = replace(item.record, answered="Z").with_fields(grounding=matched)
    strange = replace(item, row=row, record=record, predicted=(*odd, *many))
    draw_item(strange, prepared / "odd.png")
    unscored = record.with_fields(grounding=None, grounding_reason="boxes unread $_^ " * 9)
    draw_item(replace(strange, record=unscored), prepared / "odd.svg")
    with av.open(str(prepared / "odd.png")) as picture:
        height = picture.streams.video[0].codec_context.height
    assert height < 2500
    draw_item(replace(item, predicted=item.predicted + many), prepared / "many.png")
    assert SPURIOUS_SHOWN < 200


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["sav_000001_9"], f"such as {ITEM}"),
        (["sav_000002_1"], "could not ask it, its clip was missing"),
        ([ITEM, "--at", "90"], "Expected a second of its clip, 3.0 s long, but got 90."),
        ([ITEM, "--at", "-1"], "Expected a second of its clip, but got -1."),
        ([ITEM, "--out", "x.gif"], "Expected a picture that ends in .png, .pdf, .svg, but got x.gif."),
    ],
)
def test_what_cannot_be_shown_is_told(prepared: Path, arguments: list[str], told: str) -> None:
    run = write_run(prepared / "run", answer_with_truth(ROW))
    status, out, err = show(*arguments, "--run", run)
    assert (status, out) == (1, "") and told in err


def test_a_run_without_the_task_is_told(prepared: Path) -> None:
    run = write_run(prepared / "run", answer_with_truth(ROW), task="mvp_mini_x")
    status, _, err = show(ITEM, "--run", run)
    assert status == 1 and err.endswith("holds no cast_bench: Expected a run of it, but got one of mvp_mini_x.\n")
    assert show(ITEM, "--run", prepared / "nowhere")[2].startswith(f"{prepared / 'nowhere'} holds no run")


def test_a_clip_that_has_gone_and_other_data_are_told(prepared: Path) -> None:
    run = write_run(prepared / "run", answer_with_truth(ROW))
    clip = prepared / "release" / "sav_000001.mp4"
    clip.write_bytes(b"no video")
    assert "is missing or cannot be decoded" in show(ITEM, "--run", run)[2]
    clip.unlink()
    assert "is missing or cannot be decoded" in show(ITEM, "--run", run)[2]
    with preparing(replace=True):
        prepare(str(write_release(prepared / "other", [row(video="sav_000009.mp4")])))
    assert "The run was made with other data" in show(ITEM, "--run", run)[2]


def test_the_item_of_a_sample_says_so(prepared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(prepared / "sample home"))
    (prepared / "release" / "SAMPLE.json").write_text("{}")
    prepare(str(prepared / "release"))
    item: AnsweredItem = read_item(ITEM, write_run(prepared / "run", answer_with_truth(ROW), sample=True))
    assert item.sample is True
    with pytest.raises(InputError):
        draw_item(item, prepared / "picture")

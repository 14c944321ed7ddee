"""What `check` says that a model would be shown: taken from lmms-eval's own adapters, without weights."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from commands import call, printed
from PIL import Image
from refusals import refusal

from lmms_eval_tasks.preview.shown import ShownClip, ShownItem, ShownTask, print_shown, show_task, write_sheet
from lmms_eval_tasks.sample.drawn_clips import write_clip
from lmms_eval_tasks.utils.core.output import make_console
from lmms_eval_tasks.utils.data.clips import PyavFrames

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prepared")]
TASK = "mvp_mini_human_object_interactions"
SHORT, LONG = "ssv2_0003_1", "ssv2_0001_1"
"""Items whose clips have 28 and 30 frames; all clips of the sample have 28."""
SMALL = "min_pixels=3136,max_pixels=12544"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with the sample of one benchmark."""
    folder = tmp_path_factory.mktemp("shown")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(folder / "home"))
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        printed("sample", "mvp", "--out", folder / "sample", "--prepare")
        clip = folder / "home/mvp/videos/mini/ssv2" / f"{LONG}.mp4"
        frames = PyavFrames(clip).read([*range(28), 27, 27])
        clip.unlink()
        write_clip(clip, frames)
        yield folder


def show(model: str, arguments: str, task: str = TASK, batch_size: int = 1, item: str | None = None) -> ShownTask:
    return show_task(model, f"{SMALL},{arguments}", task, batch_size, item)


@pytest.mark.parametrize(
    ("items", "together", "said"),
    [
        ("a", 1, "the item a"),
        ("a", 2, "the item a"),
        ("ab", 1, "2 items, each alone"),
        ("ab", 2, "2 items, in one batch"),
    ],
)
def test_how_many_items_are_shown_together_is_said(items: str, together: int, said: str) -> None:
    shown = ShownTask("task", [ShownItem(item, (), 3, "What?", None, None) for item in items], together, None, ())
    with (console := make_console()).capture() as caught:
        print_shown(console, "model", shown)
    assert caught.get().splitlines()[:2] == ["", f"model on task: {said}"]


@pytest.mark.parametrize(("model", "grid"), [("qwen2_5_vl", 28), ("qwen3_vl", 32), ("shared_prefix", 28)])
def test_frames_sizes_and_tokens_are_those_of_the_model_s_own_code(model: str, grid: int) -> None:
    shown = show(model, "max_num_frames=8")
    item, clip = shown.items[0], shown.items[0].clips[0]
    assert shown.stands_in and not shown.faults and item.item_id == SHORT
    assert (clip.count, clip.asked, list(clip.indices)) == (28, "nframes 8", [0, 4, 8, 12, 15, 19, 23, 27])
    assert clip.times[-1] == pytest.approx(27 / clip.rate) and not clip.faults
    width, height = clip.size
    assert width % grid == height % grid == 0 and 3136 <= width * height <= 12544
    assert clip.tokens == 4 * (width // grid) * (height // grid)
    assert item.prompt.count(f"<|video_pad|>*{clip.tokens}") == (0 if model == "qwen3_vl" else 1)
    assert ("<1.0 seconds>" in item.prompt) is (model == "qwen3_vl") and "with the blue ball?" in item.prompt
    # Two grids of more than a second each: transformers 4.57 counts the seconds, and 5.3 does not.
    item = show(model, "max_num_frames=4").items[0]
    if model == "qwen2_5_vl":
        assert item.first_text is not None
        columns, seconds = max(item.clips[0].size) // 28, 2 * 28 / 4 / item.clips[0].rate
        assert 1 < seconds < 2 and item.reference == item.first_text - columns + max(columns, 4 * int(seconds) + 1)
    elif model == "qwen3_vl":
        assert item.reference is None


def test_pictures_are_the_clip_s_own_frames(prepared: Path) -> None:
    """What is drawn from the processor's patches is the clip as another library scales it."""
    clip = show("shared_prefix", "max_num_frames=4").items[0].clips[0]
    path = next(prepared.glob(f"home/mvp/videos/**/{clip.name}"))
    for picture, frame in zip(clip.pictures, PyavFrames(path).read(list(clip.indices)), strict=True):
        expected = np.asarray(Image.fromarray(frame).resize(clip.size, Image.Resampling.BICUBIC), dtype=float)
        assert np.abs(picture - expected).mean() < 2
    turned = show("shared_prefix", "max_num_frames=4", f"{TASK}_reversed").items[0].clips[0]
    assert np.abs(turned.pictures[0].astype(float) - clip.pictures[-1]).mean() < 2
    blind = show("qwen2_5_vl", "max_num_frames=4", f"{TASK}_blind").items[0]
    assert not blind.clips and blind.first_text is None and "pad|>*" not in blind.prompt


def test_what_does_not_go_together_is_too_short_or_cannot_be_built_is_named() -> None:
    """lmms-eval's adapter takes the number of frames of the first clip for all clips of a batch."""
    fewer = show("qwen2_5_vl", "max_num_frames=64", batch_size=4)
    assert fewer.together == 4 and not fewer.faults
    (fault,) = fewer.items[2].clips[0].faults
    assert fewer.items[2].item_id == LONG and fault == "alone it would be shown 30 frames, nframes 30"
    failed = show("qwen2_5_vl", "max_num_frames=64", batch_size=2, item=LONG)
    assert failed.together == 1 and [len(item.clips[0].indices) for item in failed.items] == [30, 28]
    (message,) = failed.faults
    assert "ssv2_0003_1.mp4: nframes 30 is asked for, and it has 28" in message and "cannot go together" in message
    assert not show("shared_prefix", "max_num_frames=64", batch_size=2, item=LONG).faults
    short = show("qwen3_vl", "max_num_frames=64")
    assert not short.items and "nframes 64 is asked for, and it has 28" in short.faults[0]
    clip = show("qwen2_5_vl", "fps=4").items[0].clips[0]
    assert clip.asked == "fps 4" and clip.faults == ["4 frames a second are asked for, and 3.57 are shown"]
    assert "to be a task of lmms-eval-tasks, but got 'mvp_min'" in refusal(show, "qwen2_5_vl", "", "mvp_min")
    item = refusal(show, "qwen2_5_vl", "", item="none")
    assert item.startswith("Expected --item to be an item of ") and "but got 'none'" in item
    unbuilt = refusal(show, "qwen2_5_vl", "frames=4")
    assert unbuilt.startswith("The model qwen2_5_vl cannot be built (AssertionError): Unexpected kwargs")


def test_the_command_prints_tables_and_writes_the_sheet(prepared: Path, hundred_columns: None) -> None:
    sheet = prepared / "shown.png"
    model = ["--model", "shared_prefix", "--model_args", f"{SMALL},max_num_frames=4"]
    out = printed("check", "mvp", *model, "--task", TASK, "--png", sheet)
    text = out[out.index("shared_prefix on ") :]
    assert "Frames of ssv2_0003_1.mp4, decoded by pyav: 0, 9, 18, 27\n" in text and "At seconds: 0.00, " in text
    table = [line for line in text.splitlines() if ".mp4 " in line or "asked for" in line]
    assert len(table) >= 2 and max(map(len, table)) <= 100
    with Image.open(sheet) as picture:
        assert picture.format == "PNG" and picture.width > picture.height
    unknown = printed("check", "mvp", "--model", "random_answer", "--task", TASK)
    assert "prompt random_answer would be shown is not known here" in " ".join(unknown.split())
    assert "with --model" in " ".join(call("check", "--png", "shown.png").err.split())


def test_a_contact_sheet_shows_every_frame(tmp_path: Path) -> None:
    frames = np.zeros((10, 20, 30, 3), np.uint8) + np.arange(10, dtype=np.uint8)[:, None, None, None] * 10 + 5
    clip = ShownClip("a clip \N{SNOWMAN}", 10, 5.0, "", range(10), (30, 20), 0, "", None, frames)
    shown = ShownTask(TASK, [ShownItem("item", [clip], 0, "", None, None)], 1, None, [])
    for name in ("one.png", "two.png"):
        assert write_sheet(tmp_path / name, shown)
    content = (tmp_path / "one.png").read_bytes()
    assert content == (tmp_path / "two.png").read_bytes()
    with Image.open(BytesIO(content)) as picture:
        colours = {tuple(colour) for _, colour in picture.getcolors(100_000) or ()}
    assert {(10 * number + 5,) * 3 for number in range(10)} <= colours

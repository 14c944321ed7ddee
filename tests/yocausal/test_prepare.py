"""Preparing YoCausal: what its release holds, its odd files, and own videos. Laws of all are in tests/benchmarks."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import decord
import numpy as np
import pyarrow.parquet
import pytest
from expected import Expected
from numpy.typing import NDArray
from refusals import refusal
from releases import contents
from small_clips import falling_ball
from yocausal_world import read_metadata, write_metadata

from lmms_eval_tasks.sample.drawn_clips import write_clip
from lmms_eval_tasks.utils.data.clips import FrameStream
from lmms_eval_tasks.utils.data.home import benchmark_dir, clip_path, media_path
from lmms_eval_tasks.utils.data.prepare import Preparation
from lmms_eval_tasks.utils.data.release import UnreadableClip
from lmms_eval_tasks.yocausal.prepare import DirectedClip, open_video, prepare, read_release

pytestmark = pytest.mark.usefixtures("home")
CLIPS = Path(__file__).parents[1] / "utils" / "data" / "clips"
SUBSETS = ("animal", "general", "human", "physics")
SIDES = {"video_path_forward": "fwd", "video_path_backward": "bwd"}


def table() -> list[dict[str, Any]]:
    return list(pyarrow.parquet.read_table(benchmark_dir("yocausal") / "test.parquet").to_pylist())


@pytest.mark.slow
def test_the_release_as_a_table(release: Path, expected: Expected) -> None:
    facts = prepare(Preparation(), str(release))["test"]
    assert (facts.rows, facts.groups, facts.clips, facts.missing, facts.warnings) == (8, 8, 16, (), ())
    assert facts.data_set.is_sample and not facts.answers_withheld
    rows = table()
    assert [row["item_id"] for row in rows] == [f"{subset}_{number}" for subset in SUBSETS for number in (1, 2)]
    first = rows[0]
    expected(json.dumps({name: cell for name, cell in first.items() if not name.startswith("motion")}, indent=1))
    assert [row["vlm_causality"] for row in rows] == [True, False] * 4
    assert sum(row["motion_symmetric"] for row in rows) == 3
    assert all(media_path("yocausal", first, column).is_file() for column in ("clip", "clip_backward"))


@pytest.mark.slow
def test_clips_are_found_by_any_path_that_the_metadata_may_give(release: Path) -> None:
    # One subset each: a release has four, and a subset two pairs.
    for subset, path in {
        "animal": "data/processed_dataset/animal-kingdom/{side}/{name}",
        "general": "/abs/olute/{side}/{name}",
        "human": "subset/animal/{side}/{name}",
        "physics": "{name}",
    }.items():
        entries = read_metadata(release, subset)
        for column, side in SIDES.items():
            entries[0][column] = path.format(side=side, name=f"{subset}_0001.mp4")
        write_metadata(release, subset, entries)
    assert prepare(Preparation(), str(release))["test"].missing == ()
    rows = {row["item_id"]: row for row in table()}
    for subset in SUBSETS:
        for column, side in (("clip", "fwd"), ("clip_backward", "bwd")):
            clip = clip_path("yocausal", rows[f"{subset}_1"][column])
            assert clip.samefile(release / "subset" / subset / side / f"{subset}_0001.mp4")


@pytest.mark.slow
def test_each_clip_is_decoded_to_its_end_also_those_whose_motion_is_not_measured(release: Path) -> None:
    backward = release / "subset" / "animal" / "bwd" / "animal_0001.mp4"
    backward.unlink()
    # It opens and has its first frames.
    shutil.copy(CLIPS / "damaged_inside.mp4", backward)
    (missing,) = prepare(Preparation(), str(release))["test"].missing
    assert missing.reason == "unreadable" and missing.clip == table()[0]["clip_backward"]


def test_a_source_is_a_folder_or_has_the_name_of_a_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def download(*_: Any, **named: Any) -> str:
        raise OSError("no connection")

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    monkeypatch.chdir(tmp_path)
    Path("one").mkdir()
    Path("one", "file").write_text("{}")
    for source in ("one/file", "none", "some/where/else"):
        said = refusal(prepare, Preparation(), source)
        assert said == f"Expected --source to be a folder or a dataset on the hub, but got {source}."
    assert "cannot be loaded from some/where: no connection" in refusal(prepare, Preparation(), "some/where")


@pytest.mark.slow
def test_labels_of_a_file_replace_the_releases(release: Path, tmp_path: Path, expected: Expected) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text(
        '{"id": "animal_1", "vlm_causality": false, "human_discriminable": true}\n'
        '{"id": "animal_2", "vlm_causality": null}\n'
    )
    assert "labels.jsonl" in prepare(Preparation(), str(release), labels=labels)["test"].source_sha256
    messages = [refusal(prepare, Preparation(), str(release), labels=tmp_path / "none.jsonl")]
    for text in (
        '{"id": "x", "vlm_causality": true}\n{"id": "animal_1", "vlm_causality": 1}\nno\n',
        '{"id": "animal_1", "vlm_causality": null}\n',
    ):
        labels.write_text(text)
        messages.append(refusal(prepare, Preparation(), str(release), labels=labels))
    expected("\n".join(messages))
    assert [row["vlm_causality"] for row in table()[:4]] == [False, None, True, False]
    assert table()[0]["human_discriminable"] is True


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    folder = tmp_path / "videos"
    (folder / "kitchen").mkdir(parents=True)
    for seed, name in enumerate(("kitchen/a.mp4", "b.mp4")):
        write_clip(folder / name, falling_ball(np.random.default_rng(seed)), fps=8)
    return folder


def pictures(path: Path) -> NDArray[np.uint8]:
    reader = decord.VideoReader(str(path))
    return np.asarray(reader.get_batch(range(len(reader))).asnumpy())


@pytest.mark.slow
def test_own_videos_are_reversed_without_loss_and_the_same_each_time(
    videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    captions = tmp_path / "captions.csv"
    captions.write_text("caption,file\nA ball falls,kitchen/a.mp4\n", encoding="utf-8")
    facts = prepare(Preparation(), from_videos=videos, captions=captions)["test"]
    assert facts.warnings[0] == "1 of 2 pairs have no caption and can be scored with prompt=null only: general_b."
    rows = table()
    assert [(row["item_id"], row["subset"], row["category"], row["caption"]) for row in rows] == [
        ("general_b", "general", "general", None),
        ("kitchen_a", "kitchen", "kitchen", "A ball falls"),
    ]
    for row, source in zip(rows, [videos / "b.mp4", videos / "kitchen" / "a.mp4"], strict=True):
        forward, backward = (pictures(clip_path("yocausal", row[name])) for name in ("clip", "clip_backward"))
        assert np.array_equal(forward, pictures(source)) and np.array_equal(backward, forward[::-1])
    written = contents(benchmark_dir("yocausal"))
    assert len([name for name in written if name.endswith(".mp4")]) == 5
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "other"))
    prepare(Preparation(), from_videos=videos, captions=captions)
    assert contents(benchmark_dir("yocausal")) == written


@pytest.mark.slow
def test_a_changed_video_or_length_is_written_anew(videos: Path) -> None:
    clips = []
    for seconds, frames in ((1.0, 8), (2.0, 16)):
        prepare(Preparation(), from_videos=videos, seconds=seconds)
        assert [row["frames"] for row in table()] == [frames, frames]
        clips.append([row["clip"] for row in table()])
    assert not set(clips[0]) & set(clips[1])
    assert len(list((benchmark_dir("yocausal") / "videos").rglob("*.mp4"))) == 4
    os.utime(videos / "b.mp4", ns=(1, 1))
    prepare(Preparation(), from_videos=videos, seconds=2.0)
    assert [row["clip"] == before for row, before in zip(table(), clips[1], strict=True)] == [False, True]


ENTRIES: list[dict[str, Any]] = [
    {"prompt": " A ball falls. ", "dataset_source": " s ", "category": "fall", "vlm_causality": True,
     "human_discriminable": False, "meta": {"fps": 30, "total_frames": 90, "resolution": [4, 4]}, "more": 1},
    {"prompt": " ", "vlm_causality": None, "meta": {"fps": 10_000, "total_frames": 1_000_000_000}},
    {"prompt": 3, "vlm_causality": "true", "human_discriminable": 1, "meta": {"fps": 10_001, "total_frames": 1e9 + 1}},
    {"meta": {"fps": 0, "total_frames": 0.9, "resolution": "4x4"}},
    {"meta": {"fps": -0.1, "total_frames": -1}},
    {"meta": {"fps": True, "total_frames": "90", "resolution": None}},
    {"meta": [30, 90]},
]  # fmt: skip


def test_what_an_entry_of_the_metadata_may_hold(tmp_path: Path, expected: Expected) -> None:
    """Numbers that no clip can have, and labels that are none, are left out with a warning."""
    paths = [{column: f"{side}/{number}.mp4" for column, side in SIDES.items()} for number in range(len(ENTRIES))]
    entries = [{"id": number, **of, **one} for number, (of, one) in enumerate(zip(paths, ENTRIES, strict=True))]
    write_metadata(tmp_path, "animal", entries)
    file = tmp_path / "subset/animal/dataset_metadata.json"
    file.write_text(file.read_text(encoding="utf-8").replace('"4x4"', "1e999"), encoding="utf-8")
    pairs, clips, origin = read_release(str(tmp_path))
    common = ("question", "options", "answer", "group_id")
    shown = [json.dumps({name: value for name, value in pair.items() if name not in common}) for pair in pairs]
    expected("\n".join([*shown, *(f"{name}: {path}" for name, path in clips.items()), *origin.warnings]))


@pytest.mark.parametrize(
    ("seconds", "frames"), [(None, 9), (100.0, 9), (1.125, 9), (1.0, 8), (0.5, 4), (0.25, 2), (0.19, 2), (0.18, 1)]
)
def test_so_many_of_a_videos_frames_are_shown(seconds: float | None, frames: int, tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    write_clip(path, falling_ball(np.random.default_rng(0), frames=9), fps=8)
    if frames < 2:
        with pytest.raises(ValueError, match=r"^Expected at least 2 frames, but got 1\.$"):
            open_video(path, seconds)
        return
    # Half a byte for each of the 32 by 32 pixels of a frame.
    assert open_video(path, seconds) == DirectedClip(path, frames, 8.0, frames * 32 * 32 // 2)


def test_a_video_without_a_frame_rate_cannot_be_reversed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "clip.mp4"
    write_clip(path, falling_ball(np.random.default_rng(0), frames=9), fps=8)
    opened = FrameStream.__enter__

    def without_rate(stream: FrameStream) -> FrameStream:
        found = opened(stream)
        found.fps = 0.0
        return found

    monkeypatch.setattr(FrameStream, "__enter__", without_rate)
    for seconds in (None, 2.0):
        with pytest.raises(ValueError, match=r"^Expected a frame rate, but its header has none\.$"):
            open_video(path, seconds)


def test_a_video_that_cannot_be_opened_has_no_frames(tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    path.write_bytes(b"no video")
    clip = open_video(path, None)
    assert (clip.frames, clip.fps, clip.size, clip.backwards) == (0, 0.0, 0, False) and not clip.is_made(path)
    with pytest.raises(UnreadableClip, match=r"^it cannot be decoded$"):
        clip.make(tmp_path / "made.mp4")

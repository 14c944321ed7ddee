"""Preparing YoCausal: what its release holds, its odd files, and own videos. Laws of all are in tests/benchmarks."""

from __future__ import annotations

import io
import json
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import av
import decord
import numpy as np
import pyarrow.parquet
import pytest
from expected import Expected
from refusals import refusal
from releases import contents
from small_clips import falling_ball
from yocausal_world import read_metadata, write_metadata

from lmms_eval_tasks.sample.drawn_clips import write_clip
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.home import benchmark_dir, clip_path, media_path
from lmms_eval_tasks.yocausal.benchmark import prepare

pytestmark = pytest.mark.usefixtures("home")


def table() -> list[dict[str, Any]]:
    return pyarrow.parquet.read_table(benchmark_dir("yocausal") / "test.parquet").to_pylist()


@pytest.mark.slow
def test_the_release_as_a_table(release: Path) -> None:
    facts = prepare(str(release))["test"]
    assert (facts.rows, facts.groups, facts.clips, facts.missing, facts.warnings) == (8, 8, 16, (), ())
    assert facts.data_set.is_sample and not facts.answers_withheld
    rows = table()
    assert [row["item_id"] for row in rows] == [
        f"{subset}_{number}" for subset in ("animal", "general", "human", "physics") for number in (1, 2)
    ]
    first = rows[0]
    assert first["caption"].endswith("rolls off a ledge and falls.") and json.loads(first["released"])["id"] == 1
    assert {name: first[name] for name in ("subset", "dataset_source", "category", "fps", "frames")} == {
        "subset": "animal", "dataset_source": "Animal Kingdom", "category": "fall", "fps": 10.0, "frames": 28,
    }  # fmt: skip
    assert [row["vlm_causality"] for row in rows] == [True, False] * 4
    assert sum(row["motion_symmetric"] for row in rows) == 3
    assert all(media_path("yocausal", first, column).is_file() for column in ("clip", "clip_backward"))


@pytest.mark.slow
def test_clips_are_found_by_any_path_that_the_metadata_may_give(release: Path) -> None:
    paths = (
        "data/processed_dataset/animal-kingdom/{side}/{name}",
        "/abs/olute/{side}/{name}",
        "subset/animal/{side}/{name}",
        "{side}/{name}",
        "{name}",
    )
    # One subset each: a release has four, and a subset two pairs.
    given = {}
    for place, path in enumerate(paths):
        subset = ("animal", "general", "human", "physics", "animal")[place]
        entries = read_metadata(release, subset)
        name = f"{subset}_000{1 + place // 4}.mp4"
        sides = {"video_path_forward": "fwd", "video_path_backward": "bwd"}
        entries[place // 4] |= {column: path.format(side=side, name=name) for column, side in sides.items()}
        write_metadata(release, subset, entries)
        given[f"{subset}_{1 + place // 4}"] = (subset, name)
    assert prepare(str(release))["test"].missing == ()
    rows = {row["item_id"]: row for row in table()}
    for item, (subset, name) in given.items():
        for column, side in (("clip", "fwd"), ("clip_backward", "bwd")):
            assert clip_path("yocausal", rows[item][column]).samefile(release / "subset" / subset / side / name)


@pytest.mark.slow
def test_every_problem_is_named_at_once_and_nothing_is_written(release: Path, expected: Expected) -> None:
    one, two = read_metadata(release, "animal")
    wrong = [
        {**one, "id": None},
        {**one, "video_path_forward": "../secret.mp4"},
        {**two, "video_path_backward": two["video_path_forward"]},
        two,
        {**one, "id": 2},
        7,
    ]
    write_metadata(release, "animal", wrong)
    (release / "subset" / "human" / "dataset_metadata.json").write_text("{", encoding="utf-8")
    (release / "subset" / "physics" / "dataset_metadata.json").unlink()
    (release.parent / "empty").mkdir()
    expected(
        "\n".join(
            [
                refusal(prepare, str(release)),
                refusal(prepare, str(release.parent / "empty")),
                refusal(prepare, "nowhere"),
            ]
        )
    )
    assert not benchmark_dir("yocausal").exists()
    # A subset that is not there is not missed.
    for subset in ("animal", "human", "physics"):
        shutil.rmtree(release / "subset" / subset)
    assert prepare(str(release))["test"].rows == 2


@pytest.mark.slow
def test_a_hub_id_is_downloaded_and_its_revision_kept(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    snapshot = release.rename(release.with_name("0123abc"))

    def download(repo_id: str, **more: Any) -> str:
        if asked:
            raise OSError("no connection\nand more")
        asked.append((repo_id, more))
        return str(snapshot)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    facts = prepare("own/dataset")["test"]
    assert (facts.source, facts.revision) == ("own/dataset", "0123abc")
    assert asked == [("own/dataset", {"repo_type": "dataset", "allow_patterns": ["subset/**"]})]
    assert refusal(prepare, "own/dataset").startswith(
        "YoCausal cannot be loaded from own/dataset: no connection\nRemedy: "
    )  # fmt: skip


@pytest.mark.slow
def test_odd_labels_count_as_none_and_each_clip_is_decoded_once(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = read_metadata(release, "physics")
    entries[0] |= {"vlm_causality": "true", "human_discriminable": None, "prompt": None}
    write_metadata(release, "physics", entries)
    damaged = release / "subset" / "human" / "fwd" / "human_0001.mp4"
    damaged.write_bytes(damaged.read_bytes()[:-200])
    opened, open_file = [], av.open

    def count_reading(path: str, mode: str = "r", **more: Any) -> Any:
        if mode == "r":
            opened.append(Path(path).resolve())
        return open_file(path, mode, **more)

    monkeypatch.setattr(av, "open", count_reading)
    facts = prepare(str(release))["test"]
    assert facts.warnings == (
        "subset/physics/dataset_metadata.json: vlm_causality that are neither true nor false and count as none: "
        "1 (id 1).",
        "1 of 8 pairs have no caption and can be scored with prompt=null only: physics_1.",
    )
    rows = {row["item_id"]: row for row in table()}
    assert (rows["physics_1"]["vlm_causality"], rows["physics_1"]["human_discriminable"]) == (None, None)
    assert rows["human_1"]["frames"] == 28 and rows["human_1"]["motion"] is None
    # A clip that cannot be measured is looked at again: it may be one that only has no frame rate. Of the others the
    # header is read for their lengths.
    clips = set(release.rglob("*.mp4"))
    assert Counter(opened) == Counter([*clips, *clips]) and damaged in clips


@pytest.mark.slow
def test_labels_of_a_file_replace_the_releases(release: Path, tmp_path: Path, expected: Expected) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text(
        '{"id": "animal_1", "vlm_causality": false, "confidence": 1}\n{"id": "animal_2", "vlm_causality": null}\n'
    )
    assert "labels.jsonl" in prepare(str(release), labels=labels)["test"].source_sha256
    messages = [refusal(prepare, str(release), labels=tmp_path / "none.jsonl")]
    for text in (
        '{"id": "x", "vlm_causality": true}\n{"id": "animal_1", "vlm_causality": 1}\nno\n',
        '{"id": "animal_1", "vlm_causality": null}\n',
    ):
        labels.write_text(text)
        messages.append(refusal(prepare, str(release), labels=labels))
    expected("\n".join(messages))
    assert [row["vlm_causality"] for row in table()[:4]] == [False, None, True, False]


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    folder = tmp_path / "videos"
    (folder / "kitchen").mkdir(parents=True)
    for seed, name in enumerate(("kitchen/a.mp4", "b.mp4")):
        write_clip(folder / name, falling_ball(np.random.default_rng(seed)), fps=8)
    return folder


def pictures(path: Path) -> np.ndarray:
    reader = decord.VideoReader(str(path))
    return reader.get_batch(range(len(reader))).asnumpy()


def test_own_videos_are_reversed_without_loss_and_the_same_each_time(
    videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    captions = tmp_path / "captions.csv"
    captions.write_text("caption,file\nA ball falls,kitchen/a.mp4\n", encoding="utf-8")
    facts = prepare(from_videos=videos, captions=captions)["test"]
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
    prepare(from_videos=videos, captions=captions)
    assert contents(benchmark_dir("yocausal")) == written


def test_a_changed_video_or_length_is_written_anew(videos: Path) -> None:
    clips = []
    for seconds, frames in ((1.0, 8), (2.0, 16)):
        prepare(from_videos=videos, seconds=seconds)
        assert [row["frames"] for row in table()] == [frames, frames]
        clips.append([row["clip"] for row in table()])
    assert not set(clips[0]) & set(clips[1])
    assert len(list((benchmark_dir("yocausal") / "videos").rglob("*.mp4"))) == 4
    os.utime(videos / "b.mp4", ns=(1, 1))
    prepare(from_videos=videos, seconds=2.0)
    assert [row["clip"] == before for row, before in zip(table(), clips[1], strict=True)] == [False, True]


def test_own_videos_with_problems(videos: Path, tmp_path: Path, expected: Expected) -> None:
    messages = [refusal(prepare, from_videos=videos, seconds=0)]
    (videos / "kitchen" / "a.mp4").rename(videos / "a\nc.mp4")
    messages.append(refusal(prepare, from_videos=videos))
    (videos / "a\nc.mp4").unlink()
    (videos / "c.mp4").write_bytes(b"no video")
    write_clip(videos / "one.mp4", falling_ball(np.random.default_rng(0))[:1])
    write_clip(videos / "b.mov", falling_ball(np.random.default_rng(0)))
    captions, other = tmp_path / "captions.jsonl", tmp_path / "captions.csv"
    captions.write_text(
        '{"file": "x.mp4", "caption": "a"}\n{"file": "b.mp4", "caption": " "}\n[1]\n'
        '{"file": "b.mp4", "caption": "a"}\n{"file": "b.mp4", "caption": "b"}\n'
    )
    other.write_bytes(b"\xef\xbb\xbfname,caption\r\nb.mp4,a\r\n")
    (tmp_path / "none").mkdir()
    for given in ({"captions": captions}, {"captions": other}, {"from_videos": tmp_path / "none"}):
        messages.append(refusal(prepare, **{"from_videos": videos, **given}))
    messages.append(refusal(prepare, seconds=3))
    expected("\n".join(messages))


@pytest.mark.slow
def test_a_damaged_clip_is_absent_in_a_release_and_among_own_videos(
    release: Path, videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = bytearray((videos / "b.mp4").read_bytes())
    start = damaged.index(b"mdat") + 4
    damaged[start : start + 200] = bytes(200)
    with av.open(io.BytesIO(damaged)) as container:
        assert container.streams.video[0].frames == 24
    (videos / "b.mp4").write_bytes(damaged)
    missing = prepare(from_videos=videos)["test"].missing
    assert [entry.reason for entry in missing] == ["unreadable"] * 2
    assert all("general/" in entry.clip for entry in missing)
    for side in ("fwd", "bwd"):
        (release / "subset" / "human" / side / "human_0001.mp4").write_bytes(damaged)
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "other"))
    missing = prepare(str(release))["test"].missing
    assert [(entry.clip, entry.reason) for entry in missing] == [
        (f"test/human/{side}/human_0001.mp4", "unreadable") for side in ("fwd", "bwd")
    ]
    for path in (videos / "b.mp4", videos / "kitchen" / "a.mp4"):
        path.write_bytes(b"no video")
    with pytest.raises(InputError, match="videos: Expected a video that can be decoded, but there is none"):
        prepare(from_videos=videos)

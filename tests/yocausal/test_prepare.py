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
from small_clips import falling_ball
from typer.testing import CliRunner
from yocausal_world import read_metadata, write_metadata, write_release

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.sample.drawn_clips import write_clip
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.home import benchmark_dir, clip_path, media_path
from lmms_eval_tasks.yocausal.benchmark import prepare

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return write_release(tmp_path / "release")


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
    assert first["caption"].endswith("rolls off a ledge and falls.")
    assert {name: first[name] for name in ("subset", "dataset_source", "category", "fps", "frames")} == {
        "subset": "animal", "dataset_source": "Animal Kingdom", "category": "fall", "fps": 10.0, "frames": 28,
    }  # fmt: skip
    assert [row["vlm_causality"] for row in rows] == [True, False] * 4
    assert sum(row["motion_symmetric"] for row in rows) == 3
    assert json.loads(first["released"])["id"] == 1
    for column in ("clip", "clip_backward"):
        assert media_path("yocausal", first, column).is_file()
    assert prepare(str(release))["test"] == facts


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        "data/processed_dataset/animal-kingdom/{side}/animal_0001.mp4",
        "/abs/olute/{side}/animal_0001.mp4",
        "subset/animal/{side}/animal_0001.mp4",
        "{side}/animal_0001.mp4",
        "animal_0001.mp4",
    ],
)
def test_clips_are_found_by_any_path_that_the_metadata_may_give(release: Path, given: str) -> None:
    entries = read_metadata(release, "animal")
    entries[0] |= {
        "video_path_forward": given.format(side="fwd"), "video_path_backward": given.format(side="bwd"),
    }  # fmt: skip
    write_metadata(release, "animal", entries)
    assert prepare(str(release))["test"].missing == ()
    for column, side in (("clip", "fwd"), ("clip_backward", "bwd")):
        path = clip_path("yocausal", table()[0][column])
        assert path.samefile(release / "subset" / "animal" / side / "animal_0001.mp4")


@pytest.mark.slow
def test_every_problem_is_told_at_once_and_nothing_is_written(release: Path) -> None:
    entries = read_metadata(release, "animal")
    write_metadata(
        release,
        "animal",
        [
            {**entries[0], "id": None},
            {**entries[0], "video_path_forward": "../secret.mp4"},
            {**entries[1], "video_path_backward": entries[1]["video_path_forward"]},
            entries[1],
            {**entries[0], "id": 2},
            7,
        ],
    )
    (release / "subset" / "human" / "dataset_metadata.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError) as error:
        prepare(str(release))
    assert str(error.value) == (
        "YoCausal cannot be prepared from release: 7 problems, nothing was written.\n"
        "  subset/animal/dataset_metadata.json, entry 1 (id missing): Expected id to be a number or text, but got "
        "none.\n"
        "  subset/animal/dataset_metadata.json, entry 2 (id 1): Expected video_path_forward to name a file of the "
        "release, but got `../secret.mp4`.\n"
        "  subset/animal/dataset_metadata.json, entry 4 (id 2): Expected each id once, but entry 3 has it too.\n"
        "  subset/animal/dataset_metadata.json, entry 5 (id 2): Expected each id once, but entry 3 has it too.\n"
        "  subset/animal/dataset_metadata.json, entry 6: Expected an object, but got `7`.\n"
        "  subset/animal/dataset_metadata.json, entry 3 (id 2): Expected two clips, but video_path_forward and "
        "video_path_backward name the same file.\n"
        "  subset/human/dataset_metadata.json: Expected JSON in UTF-8, but got: Expecting property name enclosed in "
        "double quotes: line 1 column 2 (char 1)."
    )
    assert not benchmark_dir("yocausal").exists()


def test_a_subset_without_its_metadata_is_refused_and_one_that_is_not_there_is_not(release: Path) -> None:
    (release / "subset" / "human" / "dataset_metadata.json").unlink()
    with pytest.raises(InputError) as refused:
        prepare(str(release))
    assert str(refused.value).splitlines()[1:] == [
        "  subset/human/dataset_metadata.json: Expected it beside the subset's clips, but there is none. Remedy: Get "
        "the release again, or move human away to prepare the other subsets alone."
    ]
    assert not benchmark_dir("yocausal").exists()
    shutil.rmtree(release / "subset" / "human")
    assert prepare(str(release))["test"].rows == 6


def test_what_is_no_release_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty is not the YoCausal release: Expected subset/animal/dataset_metadata"):
        prepare(str(tmp_path / "empty"))
    with pytest.raises(InputError, match="Expected --source to be a folder or a dataset on the hub, but got nowhere"):
        prepare("nowhere")


@pytest.mark.slow
def test_a_hub_id_is_downloaded_and_its_revision_kept(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    snapshot = release.rename(release.with_name("0123abc"))

    def download(repo_id: str, **more: Any) -> str:
        asked.append((repo_id, more))
        return str(snapshot)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    facts = prepare("own/dataset")["test"]
    assert (facts.source, facts.revision) == ("own/dataset", "0123abc")
    assert asked == [("own/dataset", {"repo_type": "dataset", "allow_patterns": ["subset/**"]})]

    def fail(*_: Any, **__: Any) -> str:
        raise OSError("no connection\nand more")

    monkeypatch.setattr("huggingface_hub.snapshot_download", fail)
    with pytest.raises(InputError, match=r"YoCausal cannot be loaded from own/dataset: no connection\nRemedy: "):
        prepare("own/dataset")


@pytest.mark.slow
def test_odd_labels_count_as_none_and_missing_clips_are_listed(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = read_metadata(release, "physics")
    entries[0] |= {"vlm_causality": "true", "human_discriminable": None, "prompt": None}
    write_metadata(release, "physics", entries)
    (release / "subset" / "physics" / "bwd" / "physics_0002.mp4").unlink()
    (release / "subset" / "human" / "fwd" / "human_0001.mp4").write_bytes(b"no video")
    facts = prepare(str(release))["test"]
    assert [(entry.clip, entry.reason) for entry in facts.missing] == [
        ("test/human/fwd/human_0001.mp4", "unreadable"),
        ("test/physics/bwd/physics_0002.mp4", "absent"),
    ]
    assert facts.warnings == (
        "subset/physics/dataset_metadata.json: vlm_causality that are neither true nor false and count as none: "
        "1 (id 1).",
        "1 of 8 pairs have no caption and can be scored with prompt=null only: physics_1.",
    )
    rows = {row["item_id"]: row for row in table()}
    assert (rows["physics_1"]["vlm_causality"], rows["physics_1"]["human_discriminable"]) == (None, None)
    assert [name for name, row in rows.items() if not row["clip_present"]] == ["human_1", "physics_2"]
    assert rows["human_1"]["frames"] == 28 and rows["human_1"]["motion"] is None
    with pytest.raises(InputError, match=r"2 of 16 clips are missing \(test 2\)"):
        load_table("yocausal", "test")
    monkeypatch.setenv("LMMS_EVAL_TASKS_MISSING", "skip")
    present = load_table("yocausal", "test")["clip_present"]
    assert list(present) == [row["clip_present"] for row in rows.values()]
    for column in ("clip", "clip_backward"):
        assert media_path("yocausal", rows["physics_2"], column).name == "placeholder.mp4"


@pytest.mark.slow
def test_each_clip_of_a_release_is_decoded_once(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, open_file = [], av.open

    def count_reading(path: str, mode: str = "r", **more: Any) -> Any:
        if mode == "r":
            opened.append(Path(path).resolve())
        return open_file(path, mode, **more)

    damaged = release / "subset" / "human" / "fwd" / "human_0001.mp4"
    damaged.write_bytes(damaged.read_bytes()[:-200])
    monkeypatch.setattr(av, "open", count_reading)
    prepare(str(release))
    clips = set(release.rglob("*.mp4"))
    # A clip that cannot be measured is looked at again: it may be one that only has no frame rate. Of the others the
    # header is read for their lengths.
    assert Counter(opened) == Counter([*clips, *clips]) and damaged in clips


@pytest.mark.slow
def test_a_clip_that_has_gone_since_takes_its_pair_only(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(str(release))
    clip_path("yocausal", table()[3]["clip_backward"]).unlink()
    monkeypatch.setenv("LMMS_EVAL_TASKS_MISSING", "skip")
    present = load_table("yocausal", "test")["clip_present"]
    assert [row for row, there in enumerate(present) if not there] == [3]


def test_labels_and_captions_may_come_from_any_editor(videos: Path, tmp_path: Path) -> None:
    labels, captions = tmp_path / "labels.jsonl", tmp_path / "captions.jsonl"
    labels.write_bytes(b'\xef\xbb\xbf{"id": "general_b", "vlm_causality": true}\r\n\r\n')
    captions.write_bytes(b'\xef\xbb\xbf{"file": "b.mp4", "caption": "x"}\r\n\r\n')
    prepare(from_videos=videos, captions=captions, labels=labels)
    assert [(row["caption"], row["vlm_causality"]) for row in table()] == [("x", True), (None, None)]


@pytest.mark.slow
def test_labels_of_a_file_replace_the_releases(release: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text(
        '{"id": "animal_1", "vlm_causality": false, "confidence": 1}\n{"id": "animal_2", "vlm_causality": null}\n',
        encoding="utf-8",
    )
    facts = prepare(str(release), labels=labels)["test"]
    assert "labels.jsonl" in facts.source_sha256
    assert [row["vlm_causality"] for row in table()[:4]] == [False, None, True, False]
    labels.write_text(
        '{"id": "x", "vlm_causality": true}\n{"id": "animal_1", "vlm_causality": 1}\nno\n', encoding="utf-8"
    )
    with pytest.raises(InputError) as error:
        prepare(str(release), labels=labels)
    assert str(error.value) == (
        "The labels in labels.jsonl cannot be used: 3 problems, nothing was written.\n"
        "  labels.jsonl, id: Expected the id of a pair, but got `x` (line 1).\n"
        "  labels.jsonl, vlm_causality: Expected true, false or null, but got `1` (line 2).\n"
        "  labels.jsonl, lines: Expected one JSON object in each, but got no JSON from character 1 on (line 3)."
    )
    assert [row["vlm_causality"] for row in table()[:4]] == [False, None, True, False]
    labels.write_text('{"id": "animal_1", "vlm_causality": null}\n', encoding="utf-8")
    with pytest.raises(InputError, match="Expected true or false for at least one pair, but no pair has a label"):
        prepare(str(release), labels=labels)
    assert [row["vlm_causality"] for row in table()[:4]] == [False, None, True, False]
    with pytest.raises(InputError, match="there is no file"):
        prepare(str(release), labels=tmp_path / "none.jsonl")


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    folder = tmp_path / "videos"
    (folder / "kitchen").mkdir(parents=True)
    write_clip(folder / "kitchen" / "a.mp4", falling_ball(np.random.default_rng(0)), fps=8)
    write_clip(folder / "b.mp4", falling_ball(np.random.default_rng(1)), fps=8)
    return folder


def clips_written() -> dict[str, bytes]:
    folder = benchmark_dir("yocausal")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.mp4")}


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
    sources = [videos / "b.mp4", videos / "kitchen" / "a.mp4"]
    for row, source in zip(rows, sources, strict=True):
        forward, backward = (pictures(clip_path("yocausal", row[name])) for name in ("clip", "clip_backward"))
        assert np.array_equal(forward, pictures(source))
        assert np.array_equal(backward, forward[::-1])
    written = clips_written()
    assert len(written) == 5
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "other"))
    prepare(from_videos=videos, captions=captions)
    assert clips_written() == written


def test_a_changed_video_or_length_is_written_anew(videos: Path) -> None:
    prepare(from_videos=videos, seconds=1.0)
    first = [row["clip"] for row in table()]
    assert [row["frames"] for row in table()] == [8, 8]
    prepare(from_videos=videos, seconds=2.0)
    assert [row["frames"] for row in table()] == [16, 16]
    assert not set(first) & {row["clip"] for row in table()}
    assert len(list((benchmark_dir("yocausal") / "videos").rglob("*.mp4"))) == 4
    os.utime(videos / "b.mp4", ns=(1, 1))
    before = [row["clip"] for row in table()]
    prepare(from_videos=videos, seconds=2.0)
    assert [here == there for here, there in zip(before, [row["clip"] for row in table()], strict=True)] == [
        False,
        True,
    ]


def test_own_videos_with_problems(videos: Path, tmp_path: Path) -> None:
    (videos / "c.mp4").write_bytes(b"no video")
    write_clip(videos / "one.mp4", falling_ball(np.random.default_rng(0))[:1])
    write_clip(videos / "b.mov", falling_ball(np.random.default_rng(0)))
    captions = tmp_path / "captions.jsonl"
    captions.write_text(
        '{"file": "x.mp4", "caption": "a"}\n{"file": "b.mp4", "caption": " "}\n[1]\n'
        '{"file": "b.mp4", "caption": "a"}\n{"file": "b.mp4", "caption": "b"}\n',
        encoding="utf-8",
    )
    with pytest.raises(InputError) as error:
        prepare(from_videos=videos, captions=captions)
    assert str(error.value) == (
        "YoCausal cannot be prepared from videos: 6 problems, nothing was written.\n"
        "  captions.jsonl, file: Expected a video of videos, but got `x.mp4` (line 1).\n"
        "  captions.jsonl, caption: Expected a text, but there is none for `b.mp4` (line 2).\n"
        "  captions.jsonl, rows: Expected an object, but got a list (line 3).\n"
        "  captions.jsonl, file: Expected one caption per video, but got again `b.mp4` (line 5).\n"
        "  b.mp4: Expected another name than b.mov, apart from the suffix.\n"
        "  one.mp4: Expected at least 2 frames, but got 1."
    )
    table = tmp_path / "captions.csv"
    table.write_bytes(b"\xef\xbb\xbfname,caption\r\nb.mp4,a\r\n")
    with pytest.raises(InputError, match=r"captions\.csv cannot be used: Expected the columns file, caption, but got "):
        prepare(from_videos=videos, captions=table)
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match=r"holds no video \(\.avi, "):
        prepare(from_videos=tmp_path / "none")
    with pytest.raises(InputError, match="Expected --seconds to be above 0 and finite, but got 0"):
        prepare(from_videos=videos, seconds=0)


def test_a_line_break_in_a_name_is_refused_in_one_line(videos: Path) -> None:
    (videos / "b.mp4").rename(videos / "b\nc.mp4")
    with pytest.raises(InputError) as refused:
        prepare(from_videos=videos)
    assert str(refused.value).splitlines()[1:] == [
        "  b\\nc.mp4: Expected a shorter name, without a backslash, a line break or another control character. Remedy: "
        "rename it."
    ]


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
    facts = prepare(from_videos=videos)["test"]
    assert [entry.reason for entry in facts.missing] == ["unreadable", "unreadable"]
    assert all("general/" in entry.clip for entry in facts.missing)
    for side in ("fwd", "bwd"):
        (release / "subset" / "human" / side / "human_0001.mp4").write_bytes(damaged)
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "other"))
    facts = prepare(str(release))["test"]
    assert [(entry.clip, entry.reason) for entry in facts.missing] == [
        (f"test/human/{side}/human_0001.mp4", "unreadable") for side in ("fwd", "bwd")
    ]
    for path in (videos / "b.mp4", videos / "kitchen" / "a.mp4"):
        path.write_bytes(b"no video")
    with pytest.raises(InputError, match="videos: Expected a video that can be decoded, but there is none"):
        prepare(from_videos=videos)


def test_captions_belong_to_own_videos() -> None:
    result = CliRunner().invoke(app, ["prepare", "yocausal", "--seconds", "3"])
    assert (result.exit_code, result.stderr) == (1, "Expected --captions and --seconds only with --from-videos.\n")

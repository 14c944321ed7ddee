"""Small good releases and files of every benchmark, each in a folder that a test copies and spoils."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
import pyarrow.parquet
import pytest
from cast_bench import ROW, row
from cast_bench import write_release as write_cast_bench
from hook_runs import FILES, write_hook_run
from raw_releases import QUESTION, WITHHELD, mvp_pair, write_metadata, write_snapshot, zip_folder
from releases import write_clip
from small_clips import falling_ball, write_noise, write_pair
from submission_world import EVERY, prepare_world

CLIPS = "clips"
"""Folder of each base with clips to put in the place of good ones."""
METHODS = ("stored", "deflated", "bzip2", "lzma")
SUBSETS = ("animal", "general", "human", "physics")


@dataclass(frozen=True)
class Base:
    """A folder, and the command that reads it where a row names no other.

    Attributes:
        folder: What each test has a copy of.
        command: Arguments of `lmms-eval-tasks`, run in the copy.
    """

    folder: Path
    command: tuple[str, ...]


def write_bases(root: Path) -> dict[str, Base]:
    """Every base by its name."""
    clips = _write_clips(root / CLIPS)
    bases = {
        "causalvqa": Base(_causalvqa(root / "causalvqa"), ("prepare", "causalvqa", "--source", "CausalVQA")),
        "archive": Base(_archives(root / "archive"), ("prepare", "causalvqa", "--source", "deflated.zip")),
        "mvp": Base(
            _mvp(root / "mvp"), ("prepare", "mvp", "--videos", "videos", "--source", "snapshot", "--split", "mini")
        ),
        "cast_bench": Base(_cast_bench(root / "cast_bench"), ("prepare", "cast_bench", "--source", "release")),
        "yocausal": Base(_yocausal(root / "yocausal"), ("prepare", "yocausal", "--source", "release")),
        "videos": Base(_videos(root / "videos"), ("prepare", "yocausal", "--from-videos", "videos")),
        "humans": Base(_humans(root / "humans"), ("humans", "responses.csv", "--items", "items.csv")),
        "prompts": Base(
            _prompts(root / "prompts"), ("prompts", "import", "causalvqa", "--from", "checkout", "--accept-other")
        ),
        "run": Base(_run(root / "run"), ("validate", "causalvqa", "causalvqa.jsonl")),
    }
    for base in bases.values():
        shutil.copytree(clips, base.folder / CLIPS)
    return bases


def _causalvqa(root: Path) -> Path:
    second = {**QUESTION, "qid": "q2", "renamed_video": "b.mp4", "type": "counterfactual"}
    release = write_metadata(root, "debug", [QUESTION, second])
    write_clip(release / "debug" / "videos" / "b.mp4")
    write_metadata(root, "test", [WITHHELD])
    return root


def _archives(root: Path) -> Path:
    release = _causalvqa(root) / "CausalVQA"
    for method in METHODS:
        archive = zip_folder(release, root / f"{method}.zip")
        with zipfile.ZipFile(archive) as packed:
            contents = {name: packed.read(name) for name in packed.namelist() if not name.endswith("/")}
        with zipfile.ZipFile(archive, "w", getattr(zipfile, f"ZIP_{method.upper()}")) as packed:
            for name, content in contents.items():
                packed.writestr(name, content)
    shutil.rmtree(release)
    return root


def _mvp(root: Path) -> Path:
    rows = {subset: mvp_pair(f"{subset}_1", source="pt") for subset in ("temporal_reasoning",)}
    write_snapshot(root, "mini", rows)
    for subset in ("human_object_interactions", "robot_object_interactions", "intuitive_physics"):
        for member in (1, 2):
            write_clip(root / "videos" / "pt" / f"{subset}_x_{member}.mp4")
    for member in (1, 2):
        write_clip(root / "videos" / "pt" / f"temporal_reasoning_1_{member}.mp4")
    return root


def _cast_bench(root: Path) -> Path:
    write_cast_bench(root / "release", [ROW, row(question="Why does it stop?")])
    write_clip(root / "release" / "sav_000001.mp4")
    return root


def _yocausal(root: Path) -> Path:
    for number, subset in enumerate(SUBSETS):
        folder = root / "release" / "subset" / subset
        forward, backward = write_pair(folder, "x", falling_ball(np.random.default_rng(number), 12))
        for side, path in (("fwd", forward), ("bwd", backward)):
            (folder / side).mkdir()
            path.rename(folder / side / f"{subset}_1.mp4")
        entry = {
            "id": 1,
            "video_path_forward": f"{subset}/fwd/{subset}_1.mp4",
            "video_path_backward": f"{subset}/bwd/{subset}_1.mp4",
            "prompt": "A ball falls.",
            "dataset_source": subset.title(),
            "category": "fall",
            "meta": {"fps": 8, "resolution": [32, 32], "total_frames": 12},
            "vlm_causality": number % 2 == 0,
            "human_discriminable": True,
        }
        (folder / "dataset_metadata.json").write_text(json.dumps([entry]), encoding="utf-8")
    labels = [{"id": f"{subset}_1", "vlm_causality": True} for subset in SUBSETS]
    _write_lines(root / "labels.jsonl", labels)
    return root


def _videos(root: Path) -> Path:
    for name in ("b", "kitchen/a"):
        write_clip(root / "videos" / f"{name}.mp4")
    captions = [{"file": "b.mp4", "caption": "A square."}, {"file": "kitchen/a.mp4", "caption": "A light."}]
    _write_lines(root / "captions.jsonl", captions)
    lines = ["file,caption", *(f"{one['file']},{one['caption']}" for one in captions)]
    (root / "captions.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    _write_lines(root / "labels.jsonl", [{"id": "general_b", "vlm_causality": True}])
    return root


def _humans(root: Path) -> Path:
    root.mkdir(parents=True)
    answers = ["item,version,annotator,choice,correct", "q1,0,ann,B,1", "q2,0,ann,A,0", "q1,0,bob,C,0", "q2,0,bob,B,1"]
    (root / "responses.csv").write_text("\n".join(answers) + "\n", encoding="utf-8")
    items = ["item,version,answer,type", "q1,0,B,planning", "q2,0,B,counterfactual"]
    (root / "items.csv").write_text("\n".join(items) + "\n", encoding="utf-8")
    table = [
        {"item_id": f"{name}_0", "group_id": name, "question": "?", "options": ["x", "y", "z"], "answer": "B",
         "version": 0, "type": "planning"}
        for name in ("q1", "q2")
    ]  # fmt: skip
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(table), root / "items.parquet")
    return root


def _prompts(root: Path) -> Path:
    texts: Mapping[str, str] = {
        "tasks/_default_template_yaml": 'lmms_eval_specific_kwargs:\n  default:\n    post_prompt: "Answer."\n',
        "inference/prompt.md": "Question: {question}\nOptions:\n{options}\n",
        "VLM_labeling/prompt.txt": "Is it causal?\n",
    }
    for name, text in texts.items():
        (root / "checkout" / name).parent.mkdir(parents=True)
        (root / "checkout" / name).write_text(text, encoding="utf-8")
    return root


def _run(root: Path) -> Path:
    """A prepared home, a run on it, and its submission files under the benchmarks' names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(root / "home"))
        prepare_world(root.parent / "world")
        write_hook_run(root / "run", EVERY)
    write_hook_run_again(root)
    for (benchmark, part), file in FILES.items():
        name = f"{benchmark}_{part}" if part else benchmark
        shutil.copyfile(root / "run" / file, root / f"{name}{Path(file).suffix}")
    _write_lines(root / "labels.jsonl", [{"id": "animal_1", "vlm_causality": True}])
    (root / "scores.csv").write_text("model,vbench,released\nToy,80.5,2025-07\n", encoding="utf-8")
    return root


def write_hook_run_again(root: Path) -> None:
    """A second run, the copy of the first."""
    shutil.copytree(root / "run", root / "other")


def _write_lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _write_clips(folder: Path) -> Path:
    """Clips with which something is wrong, or only unusual."""
    write_clip(folder / "good.mp4")
    write_clip(folder / "one_frame.mp4", frames=1)
    write_noise(folder / "first_size.ts", (32, 32), frames=16)
    write_noise(folder / "second_size.ts", (64, 32), frames=16)
    write_noise(folder / "long.mp4", (64, 48), frames=80)
    write_noise(folder / "narrow.mp4", (2, 4096), frames=12)
    write_noise(folder / "flat.mp4", (4096, 2), frames=12)
    resized = (folder / "first_size.ts").read_bytes() + (folder / "second_size.ts").read_bytes()
    (folder / "resized.mp4").write_bytes(resized)
    shrunk = (folder / "second_size.ts").read_bytes() + (folder / "first_size.ts").read_bytes()
    (folder / "shrunk.mp4").write_bytes(shrunk)
    content = bytearray((folder / "long.mp4").read_bytes())
    for name, start in (("damaged_early.mp4", 0.1), ("damaged_middle.mp4", 0.5), ("damaged_late.mp4", 0.75)):
        damaged, first = bytearray(content), int(len(content) * start)
        damaged[first : first + len(content) // 5] = b"\xff" * (len(content) // 5)
        (folder / name).write_bytes(damaged)
    (folder / "cut.mp4").write_bytes((folder / "first_size.ts").read_bytes()[:-700])
    _write_sound(folder / "sound.mp4")
    (folder / "empty.mp4").write_bytes(b"")
    (folder / "text.mp4").write_text("<html>access denied</html>")
    (folder / "playlist.mp4").write_text("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:///etc/passwd\n")
    (folder / "concat.mp4").write_text("ffconcat version 1.0\nfile /etc/passwd\n")
    return folder


def _write_sound(path: Path) -> None:
    memory = io.BytesIO()
    with av.open(memory, "w", format="mp4") as container:
        stream = container.add_stream("aac", rate=16000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.sample_rate = 16000
        for packet in (*stream.encode(frame), *stream.encode(None)):
            container.mux(packet)
    path.write_bytes(memory.getvalue())

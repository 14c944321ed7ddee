"""Small good releases and files of every benchmark, each in a folder that a test copies and spoils."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Callable
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

METHODS = ("stored", "deflated", "bzip2", "lzma")


@dataclass(frozen=True)
class Base:
    """A folder that each test has a copy of, and the command that reads it where a row names no other."""

    folder: Path
    command: tuple[str, ...]


def write_bases(root: Path) -> dict[str, Base]:
    """Every base by its name; each has a folder ``clips`` with clips to put in the place of good ones."""
    _write_clips(root / "clips")
    for name, (write, _) in BASES.items():
        write(root / name)
        shutil.copytree(root / "clips", root / name / "clips")
    return {name: Base(root / name, tuple(command.split())) for name, (_, command) in BASES.items()}


def _write(path: Path, *lines: str) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _causalvqa(root: Path) -> Path:
    second = {**QUESTION, "qid": "q2", "renamed_video": "b.mp4", "type": "counterfactual"}
    release = write_metadata(root, "debug", [QUESTION, second])
    write_clip(release / "debug" / "videos" / "b.mp4")
    write_metadata(root, "test", [WITHHELD])
    return release


def _archive(root: Path) -> None:
    release = _causalvqa(root)
    for method in METHODS:
        archive = zip_folder(release, root / f"{method}.zip")
        with zipfile.ZipFile(archive) as packed:
            contents = {name: packed.read(name) for name in packed.namelist() if not name.endswith("/")}
        with zipfile.ZipFile(archive, "w", getattr(zipfile, f"ZIP_{method.upper()}")) as packed:
            for name, content in contents.items():
                packed.writestr(name, content)
    shutil.rmtree(release)


def _mvp(root: Path) -> None:
    write_snapshot(root, "mini", {"temporal_reasoning": mvp_pair("temporal_reasoning_1", source="pt")})
    subsets = ("human_object_interactions_x", "robot_object_interactions_x", "intuitive_physics_x")
    for name in (*subsets, "temporal_reasoning_1"):
        for member in (1, 2):
            write_clip(root / "videos" / "pt" / f"{name}_{member}.mp4")


def _cast_bench(root: Path) -> None:
    write_cast_bench(root / "release", [ROW, row(question="Why does it stop?")])
    write_clip(root / "release" / "sav_000001.mp4")


def _yocausal(root: Path) -> None:
    subsets = ("animal", "general", "human", "physics")
    for number, subset in enumerate(subsets):
        folder = root / "release" / "subset" / subset
        pair = write_pair(folder, "x", falling_ball(np.random.default_rng(number), 12))
        for side, path in zip(("fwd", "bwd"), pair, strict=True):
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
    _write(root / "labels.jsonl", *(json.dumps({"id": f"{subset}_1", "vlm_causality": True}) for subset in subsets))


def _videos(root: Path) -> None:
    captions = {"b.mp4": "A square.", "kitchen/a.mp4": "A light."}
    for name in captions:
        write_clip(root / "videos" / name)
    rows = [{"file": name, "caption": caption} for name, caption in captions.items()]
    _write(root / "captions.jsonl", *map(json.dumps, rows))
    _write(root / "captions.csv", "file,caption", *(f"{row['file']},{row['caption']}" for row in rows))
    _write(root / "labels.jsonl", json.dumps({"id": "general_b", "vlm_causality": True}))


def _humans(root: Path) -> None:
    root.mkdir(parents=True)
    answers = ("q1,0,ann,B,1", "q2,0,ann,A,0", "q1,0,bob,C,0", "q2,0,bob,B,1")
    _write(root / "responses.csv", "item,version,annotator,choice,correct", *answers)
    _write(root / "items.csv", "item,version,answer,type", "q1,0,B,planning", "q2,0,B,counterfactual")
    table = [
        {"item_id": f"{name}_0", "group_id": name, "question": "?", "options": ["x", "y", "z"], "answer": "B",
         "version": 0, "type": "planning"}
        for name in ("q1", "q2")
    ]  # fmt: skip
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(table), root / "items.parquet")


def _prompts(root: Path) -> None:
    for name, text in {
        "tasks/_default_template_yaml": 'lmms_eval_specific_kwargs:\n  default:\n    post_prompt: "Answer."\n',
        "inference/prompt.md": "Question: {question}\nOptions:\n{options}\n",
        "VLM_labeling/prompt.txt": "Is it causal?\n",
    }.items():
        (root / "checkout" / name).parent.mkdir(parents=True)
        (root / "checkout" / name).write_text(text, encoding="utf-8")


def _run(root: Path) -> None:
    """A prepared home, a run on it and its copy, and its submission files under the benchmarks' names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(root / "home"))
        prepare_world(root.parent / "world")
        write_hook_run(root / "run", EVERY)
    shutil.copytree(root / "run", root / "other")
    for (benchmark, part), file in FILES.items():
        name = f"{benchmark}_{part}" if part else benchmark
        shutil.copyfile(root / "run" / file, root / f"{name}{Path(file).suffix}")
    _write(root / "labels.jsonl", json.dumps({"id": "animal_1", "vlm_causality": True}))
    _write(root / "scores.csv", "model,vbench,released", "Toy,80.5,2025-07")


def _write_clips(folder: Path) -> None:
    """Clips with which something is wrong, or only unusual."""
    write_clip(folder / "good.mp4")
    write_clip(folder / "one_frame.mp4", frames=1)
    for name, size, frames in (
        ("first_size.ts", (32, 32), 16),
        ("second_size.ts", (64, 32), 16),
        ("long.mp4", (64, 48), 80),
        ("narrow.mp4", (2, 4096), 12),
        ("flat.mp4", (4096, 2), 12),
    ):
        write_noise(folder / name, size, frames)
    first, second = ((folder / f"{name}_size.ts").read_bytes() for name in ("first", "second"))
    (folder / "resized.mp4").write_bytes(first + second)
    (folder / "shrunk.mp4").write_bytes(second + first)
    (folder / "cut.mp4").write_bytes(first[:-700])
    content = (folder / "long.mp4").read_bytes()
    for name, start in (("early", 0.1), ("middle", 0.5), ("late", 0.75)):
        at, length = int(len(content) * start), len(content) // 5
        (folder / f"damaged_{name}.mp4").write_bytes(content[:at] + b"\xff" * length + content[at + length :])
    memory = io.BytesIO()
    with av.open(memory, "w", format="mp4") as container:
        stream = container.add_stream("aac", rate=16000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.sample_rate = 16000
        for packet in (*stream.encode(frame), *stream.encode(None)):
            container.mux(packet)
    (folder / "sound.mp4").write_bytes(memory.getvalue())
    (folder / "empty.mp4").write_bytes(b"")
    (folder / "text.mp4").write_text("<html>access denied</html>")
    (folder / "playlist.mp4").write_text("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:///etc/passwd\n")
    (folder / "concat.mp4").write_text("ffconcat version 1.0\nfile /etc/passwd\n")


BASES: dict[str, tuple[Callable[[Path], object], str]] = {
    "causalvqa": (_causalvqa, "prepare causalvqa --source CausalVQA"),
    "archive": (_archive, "prepare causalvqa --source deflated.zip"),
    "mvp": (_mvp, "prepare mvp --videos videos --source snapshot --split mini"),
    "cast_bench": (_cast_bench, "prepare cast_bench --source release"),
    "yocausal": (_yocausal, "prepare yocausal --source release"),
    "videos": (_videos, "prepare yocausal --from-videos videos"),
    "humans": (_humans, "humans responses.csv --items items.csv"),
    "prompts": (_prompts, "prompts import causalvqa --from checkout --accept-other"),
    "run": (_run, "validate causalvqa causalvqa.jsonl"),
}
"""Base to what writes it, and its command."""

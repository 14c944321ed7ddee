"""Releases in the official formats, and what a folder of them holds."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet

from lmms_eval_tasks.mvp.benchmark import SUBSETS

OPTIONS = ("falls left", "falls right", "stays", "rolls back", "breaks")
QUESTION = {
    "qid": "q1",
    "type": "planning",
    "question": "What happens next?",
    "choices1": "1. it falls|2. it rolls|3. it stops",
    "correct1": "2",
    "choices2": "1. it halts|2. it drops|3. it turns",
    "correct2": "3",
    "difficulty": "easy",
    "renamed_video": "a.mp4",
}
"""A row of CausalVQA's metadata."""
WITHHELD = {name: value for name, value in QUESTION.items() if not name.startswith("correct")}
Row = Mapping[str, str]


def write_clip(path: Path, frames: int = 8, size: int = 32) -> Path:
    """A short H.264 clip, eight frames a second, of a grey square that gets lighter, black again after white."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=Fraction(8))
        stream.width = stream.height = size
        stream.pix_fmt = "yuv420p"
        for index in range(frames):
            picture = np.full((size, size, 3), 20 * index % 256, dtype=np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return path


def question_row(qid: str, kind: str, difficulty: str, correct: tuple[int, int]) -> Row:
    """A row of CausalVQA's metadata with five options in both versions, in another order; about `clip.mp4`."""
    versions = OPTIONS, [f"{text} again" for text in reversed(OPTIONS)]
    choices = ["|".join(f"{number}. {text}" for number, text in enumerate(texts, 1)) for texts in versions]
    return {
        "qid": qid, "type": kind, "difficulty": difficulty, "question": f"What happens next in {qid}?",
        "choices1": choices[0], "correct1": str(correct[0]), "choices2": choices[1], "correct2": str(correct[1]),
        "renamed_video": "clip.mp4",
    }  # fmt: skip


def write_causalvqa(root: Path, split: str, rows: Sequence[Row], *, withheld: bool = False) -> Path:
    """Write a split of CausalVQA with the columns and the clip of its first row; the folder of the release."""
    folder = root / "CausalVQA" / split
    clip = folder / "videos" / (rows[0]["renamed_video"] or "a.mp4")
    if not clip.exists():
        write_clip(clip)
    columns = [name for name in rows[0] if not (withheld and name.startswith("correct"))]
    with (folder / f"{split}_metadata.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, columns, extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)
    return folder.parent


def mvp_pair(stem: str, **changes: str) -> list[dict[str, str]]:
    """The two rows of a pair of MVP; `changes` go into the second."""
    first = {
        "video_id": f"{stem}_1",
        "video_path": f"/pt/{stem}_1.mp4",
        "question": "Which way?",
        "answer": "left",
        "candidates": "['left', 'right']",
        "source": "pt",
    }
    second = {**first, "video_id": f"{stem}_2", "video_path": f"/pt/{stem}_2.mp4", "answer": "right"}
    return [first, {**second, **changes}]


def write_snapshot(root: Path, split: str, rows: Mapping[str, Sequence[Row]], subsets: Iterable[str] = SUBSETS) -> Path:
    """Write a split of MVP's dataset; a subset that is not given has one good pair."""
    snapshot = root / "snapshot"
    configs = []
    for subset in subsets:
        (snapshot / subset).mkdir(parents=True, exist_ok=True)
        table = pa.Table.from_pylist([dict(row) for row in rows.get(subset, mvp_pair(f"{subset}_x"))])
        pyarrow.parquet.write_table(table, snapshot / subset / f"{split}-00000-of-00001.parquet")
        splits = sorted(path.name.split("-")[0] for path in (snapshot / subset).glob("*.parquet"))
        files = "".join(f"  - split: {name}\n    path: {subset}/{name}-*\n" for name in splits)
        configs.append(f"- config_name: {subset}\n  data_files:\n{files}")
    (snapshot / "README.md").write_text(f"---\nconfigs:\n{''.join(configs)}---\n", encoding="utf-8")
    return snapshot


def write_mvp(root: Path, split: str, pairs: Mapping[str, Iterable[tuple[str, str]]]) -> tuple[Path, Path]:
    """Write pairs of MVP, (stem, source) in subsets, about one clip a source; the snapshot and the videos."""
    rows: dict[str, list[Row]] = {}
    asked = {"question": "What does it do?", "candidates": str(["it falls", "it stays"])}
    for subset, stems in pairs.items():
        for stem, source in stems:
            if not (clip := root / "videos" / source / "clip.mp4").is_file():
                write_clip(clip)
            for row, answer in zip(mvp_pair(stem), ("it falls", "it stays"), strict=True):
                place = {"video_path": f"{source}/clip.mp4", "source": source, "answer": answer}
                rows.setdefault(subset, []).append({**row, **asked, **place})
    return write_snapshot(root, split, rows, rows), root / "videos"


def latin_text() -> pa.Array[Any]:
    """A column of one text that is not in UTF-8."""
    offsets = np.array([0, 1], dtype=np.int32).tobytes()
    return pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(offsets), pa.py_buffer(b"\xe9")])


def zip_folder(folder: Path, archive: Path) -> Path:
    """Zip a folder with its own name on top."""
    archive.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(archive, "w") as out:
        for path in sorted(folder.rglob("*")):
            out.write(path, path.relative_to(folder.parent))
    return archive


def contents(folder: Path) -> dict[str, bytes | str]:
    """Every file below a folder with its bytes, every link with its target."""
    return {
        path.relative_to(folder).as_posix(): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }

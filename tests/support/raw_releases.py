"""Raw releases that a test can spoil before they are written."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
from releases import write_clip

from lmms_eval_tasks.mvp.benchmark import SUBSETS

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
WITHHELD = {name: value for name, value in QUESTION.items() if not name.startswith("correct")}


def write_metadata(root: Path, split: str, questions: Sequence[Mapping[str, str]]) -> Path:
    """Write a split's CSV file with the columns of its first row, and a clip a.mp4; returns the release folder."""
    release = root / "CausalVQA"
    if not (release / split / "videos" / "a.mp4").exists():
        write_clip(release / split / "videos" / "a.mp4")
    with (release / split / f"{split}_metadata.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(questions[0]))
        table.writeheader()
        table.writerows(questions)
    return release


def zip_folder(folder: Path, archive: Path) -> Path:
    """Zip a folder with its own name on top."""
    with zipfile.ZipFile(archive, "w") as out:
        for path in sorted(folder.rglob("*")):
            out.write(path, path.relative_to(folder.parent))
    return archive


def mvp_pair(stem: str, **changes: str) -> list[dict[str, str]]:
    """The two rows of a pair; `changes` go into the second."""
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


def write_snapshot(root: Path, split: str, rows: Mapping[str, Sequence[Mapping[str, str]]]) -> Path:
    """Write a snapshot of the MVP dataset; a subset that is not given has one good pair."""
    snapshot = root / "snapshot"
    configs = []
    for subset in SUBSETS:
        (snapshot / subset).mkdir(parents=True, exist_ok=True)
        table = pa.Table.from_pylist([dict(row) for row in rows.get(subset, mvp_pair(f"{subset}_x"))])
        pyarrow.parquet.write_table(table, snapshot / subset / f"{split}-00000-of-00001.parquet")
        splits = sorted(path.name.split("-")[0] for path in (snapshot / subset).glob("*.parquet"))
        files = "".join(f"  - split: {name}\n    path: {subset}/{name}-*\n" for name in splits)
        configs.append(f"- config_name: {subset}\n  data_files:\n{files}")
    (snapshot / "README.md").write_text(f"---\nconfigs:\n{''.join(configs)}---\n", encoding="utf-8")
    return snapshot


def contents(folder: Path) -> dict[str, bytes | str]:
    """Every file below a folder with its bytes, every link with its target."""
    return {
        path.relative_to(folder).as_posix(): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }

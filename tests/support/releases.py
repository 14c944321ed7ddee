"""Raw releases in the official formats, built from item-level facts, for tests."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

OPTIONS = ("falls left", "falls right", "stays", "rolls back", "breaks")
COLUMNS = ("qid", "type", "question", "choices1", "correct1", "choices2", "correct2", "difficulty", "renamed_video")


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


@dataclass(frozen=True)
class Question:
    """One question of a CausalVQA release; the same options serve both versions, in another order."""

    qid: str
    kind: str
    difficulty: str
    correct: tuple[int, int]


def write_causalvqa(root: Path, split: str, questions: Iterable[Question], *, withheld: bool = False) -> Path:
    """Write one split of a CausalVQA release with one clip that all questions share; returns the release folder."""
    release = root / "CausalVQA"
    write_clip(release / split / "videos" / "clip.mp4")
    columns = [name for name in COLUMNS if not (withheld and name.startswith("correct"))]
    with (release / split / f"{split}_metadata.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, columns, extrasaction="ignore")
        table.writeheader()
        for question in questions:
            row = {
                "qid": question.qid,
                "type": question.kind,
                "question": f"What happens next in {question.qid}?",
                "choices1": "|".join(f"{n}. {text}" for n, text in enumerate(OPTIONS, 1)),
                "correct1": question.correct[0],
                "choices2": "|".join(f"{n}. {text} again" for n, text in enumerate(reversed(OPTIONS), 1)),
                "correct2": question.correct[1],
                "difficulty": question.difficulty,
                "renamed_video": "clip.mp4",
            }
            table.writerow(row)
    return release


def write_mvp(root: Path, split: str, pairs: Mapping[str, Iterable[tuple[str, str]]]) -> tuple[Path, Path]:
    """Write an MVP snapshot: for each subset the (stem, source) of its pairs; returns snapshot and videos folder.

    The first member of a pair is right with the first candidate, the second with the second; one clip per source.
    """
    import datasets

    snapshot, videos = root / "snapshot", root / "videos"
    configs = []
    for subset, stems in pairs.items():
        rows = []
        for stem, source in stems:
            clip = videos / source / "clip.mp4"
            if not clip.is_file():
                write_clip(clip)
            for member, answer in ((1, "it falls"), (2, "it stays")):
                rows.append(
                    {
                        "video_id": f"{stem}_{member}",
                        "video_path": f"{source}/clip.mp4",
                        "question": "What does it do?",
                        "answer": answer,
                        "candidates": str(["it falls", "it stays"]),
                        "source": source,
                    }
                )
        (snapshot / subset).mkdir(parents=True, exist_ok=True)
        datasets.Dataset.from_list(rows).to_parquet(snapshot / subset / f"{split}-00000-of-00001.parquet")
        configs.append(
            f"- config_name: {subset}\n  data_files:\n  - split: {split}\n    path: {subset}/{split}-*.parquet\n"
        )
    (snapshot / "README.md").write_text(f"---\nconfigs:\n{''.join(configs)}---\n", encoding="utf-8")
    return snapshot, videos

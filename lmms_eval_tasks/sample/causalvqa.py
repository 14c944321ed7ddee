"""The sample in CausalVQA's release format: one CSV per split, clips beside it, the test truth kept apart."""

import csv
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from lmms_eval_tasks.sample.bin_questions import BIN_QUESTIONS, LEVELS
from lmms_eval_tasks.sample.drafts import OPTIONS, Draft, draw_options
from lmms_eval_tasks.sample.scenes import Scene
from lmms_eval_tasks.sample.table_questions import TABLE_QUESTIONS

TYPES = ("anticipation", "counterfactual", "descriptive", "hypothetical", "planning")
COLUMNS = (
    "qid", "type", "question", "choices1", "correct1", "choices2", "correct2", "difficulty", "renamed_video",
)  # fmt: skip
WITHHELD = ("correct1", "correct2")
FIRST_QID = {"debug": 1, "test": 1001}
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Split:
    """Rows of a split with every column, and the scene of each clip by the clip's name."""

    name: str
    rows: Sequence[Mapping[str, str]]
    scenes: Mapping[str, Scene]


def draw_split(seed: int, name: str, levels: Sequence[str], per_stratum: int) -> Split:
    """Draw `per_stratum` questions for each type and level; falling balls and tables take turns."""
    drafts = [
        (kind, level, _draw_draft(seed, name, kind, level, number))
        for kind in TYPES
        for level in levels
        for number in range(per_stratum)
    ]
    rng = random.Random(f"{seed}/causalvqa/{name}")
    rng.shuffle(drafts)
    positions = [_balanced(rng, len(drafts)) for _ in range(2)]
    rows, scenes = [], {}
    for number, (kind, level, draft) in enumerate(drafts):
        video = f"{name}_{number:04d}.mp4"
        scenes[video] = draft.scene
        choices = [draw_options(rng, draft, version, positions[version][number]) for version in range(2)]
        rows.append(
            {
                "qid": str(FIRST_QID[name] + number),
                "type": kind,
                "question": draft.question,
                "choices1": _join(choices[0]),
                "correct1": str(positions[0][number] + 1),
                "choices2": _join(choices[1]),
                "correct2": str(positions[1][number] + 1),
                "difficulty": level,
                "renamed_video": video,
            }
        )
    return Split(name, rows, scenes)


def draw_debug(seed: int, per_type: int) -> Split:
    """The debug split: easy questions only, as in the release."""
    return draw_split(seed, "debug", LEVELS[:1], per_type)


def draw_test(seed: int, per_stratum: int) -> Split:
    """The test split: all levels."""
    return draw_split(seed, "test", LEVELS, per_stratum)


def write_metadata(split: Split, folder: Path) -> None:
    """Write `<split>/<split>_metadata.csv` below `folder`; the test split's answers are withheld."""
    columns = [column for column in COLUMNS if split.name == "debug" or column not in WITHHELD]
    _write_csv(folder / split.name / f"{split.name}_metadata.csv", columns, split.rows)


def write_truth(split: Split, path: Path) -> None:
    """Write the answers of a split as qid, correct1, correct2."""
    _write_csv(path, ["qid", *WITHHELD], split.rows)


def write_archive(folder: Path, path: Path) -> None:
    """Pack a folder, under its own name, into a zip whose bytes depend on nothing but the files."""
    with ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                info = ZipInfo(f"{folder.name}/{file.relative_to(folder).as_posix()}", _EPOCH)
                info.compress_type = ZIP_STORED
                info.external_attr = 0o644 << 16
                archive.writestr(info, file.read_bytes())


def _draw_draft(seed: int, split: str, kind: str, level: str, number: int) -> Draft:
    families = (BIN_QUESTIONS, TABLE_QUESTIONS)
    rng = random.Random(f"{seed}/causalvqa/{split}/{kind}/{level}/{number}")
    return families[number % 2][kind](rng, level)


def _balanced(rng: random.Random, count: int) -> list[int]:
    """Positions of the right option, each as often as the others, in random order."""
    positions = [number % OPTIONS for number in range(count)]
    rng.shuffle(positions)
    return positions


def _join(options: Sequence[str]) -> str:
    return "|".join(f"{number}. {text}" for number, text in enumerate(options, 1))


def _write_csv(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)

from __future__ import annotations

import ast
import csv
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet
import pytest
from shared import made_once

from lmms_eval_tasks.sample.write_sample import build_sample
from lmms_eval_tasks.sample.writers.cast_bench import draw_release
from lmms_eval_tasks.sample.writers.mvp import FAMILIES

LETTERS = "ABCDE"
SEED = 20


@dataclass(frozen=True)
class Item:
    """One question of the sample as a model meets it, with its true letter."""

    benchmark: str
    kind: str
    group: str
    version: int
    question: str
    options: tuple[str, ...]
    answer: str
    clip: Path


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sizes = {"causalvqa": {"debug_per_type": 2}, "mvp": {"mini_pairs": 4, "full_pairs": 8}}
    root = made_once(tmp_path_factory, "sample", lambda root: build_sample(root / "world", SEED, sizes=sizes))
    return root / "world"


@pytest.fixture(scope="session")
def items(sample: Path) -> list[Item]:
    return [*causalvqa_items(sample), *mvp_items(sample)]


@pytest.fixture(scope="session")
def more_evidence() -> list[Item]:
    """Questions of CaST-Bench's kind of many samples, without their clips."""
    rows = [row for seed in range(4, 20) for row in draw_release(seed, 2)[0]]
    return [
        Item("cast_bench", "", str(number), 1, row["question"], tuple(row["options"].values()), row["answer"], Path())
        for number, row in enumerate(rows)
    ]


def causalvqa_items(sample: Path) -> list[Item]:
    with (sample / "causalvqa" / "test_truth.csv").open(encoding="utf-8") as file:
        truth = {row["qid"]: row for row in csv.DictReader(file)}
    items = []
    for split in ("debug", "test"):
        folder = sample / "causalvqa" / "CausalVQA" / split
        with (folder / f"{split}_metadata.csv").open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                right = row if split == "debug" else truth[row["qid"]]
                for version in (1, 2):
                    options = tuple(part.partition(". ")[2] for part in row[f"choices{version}"].split("|"))
                    answer = LETTERS[int(right[f"correct{version}"]) - 1]
                    clip = folder / "videos" / row["renamed_video"]
                    item = Item("causalvqa", row["type"], row["qid"], version, row["question"], options, answer, clip)
                    items.append(item)
    return items


def mvp_items(sample: Path) -> list[Item]:
    items = []
    for subset in FAMILIES:
        table = pyarrow.parquet.read_table(sample / "mvp" / "snapshot" / subset / "full-00000-of-00001.parquet")
        for row in table.to_pylist():
            options = tuple(ast.literal_eval(row["candidates"]))
            stem, _, version = row["video_id"].rpartition("_")
            answer = LETTERS[options.index(row["answer"])]
            clip = sample / "mvp" / "videos" / row["video_path"]
            items.append(Item("mvp", row["source"], stem, int(version), row["question"], options, answer, clip))
    return items

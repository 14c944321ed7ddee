"""Pairs of YoCausal in the prepared table: their labels, the motion in their clips, their columns and strata."""

from __future__ import annotations

import json
import os
from collections.abc import Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict

from lmms_eval_tasks.api import InputError, Problems, Progress, RowForm, no_progress, read_rows
from lmms_eval_tasks.api.clips import ClipMotion, measure_motion, most_symmetric
from lmms_eval_tasks.api.release import WholeText, describe
from lmms_eval_tasks.yocausal.card import FORWARD, OPTIONS, QUESTION


def flow(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> float:
    """Mean length of the flow between two pictures, in widths of the picture."""
    import cv2

    found: Any = cv2.calcOpticalFlowFarneback(before, after, None, 0.5, 3, 15, 3, 5, 1.2, 0)
    return float(np.hypot(found[..., 0], found[..., 1]).mean() / before.shape[1])


SPLIT = "test"


@dataclass(frozen=True)
class PairRow:
    """One pair before its motion is measured."""

    item_id: str
    clip: str
    clip_backward: str
    caption: str | None
    subset: str
    dataset_source: str
    category: str
    vlm_causality: bool | None
    human_discriminable: bool | None
    fps: float | None
    frames: int | None
    released: Mapping[str, Any]
    path: Path | None


class LabelRow(RowForm):
    """A line of a labels file; further keys are ignored."""

    model_config = ConfigDict(extra="ignore")

    id: WholeText
    vlm_causality: bool | None = None
    human_discriminable: bool | None = None


LABELS = CAUSALITY, DISCRIMINABLE = ("vlm_causality", "human_discriminable")
"""Labels of a pair."""


def own_columns() -> dict[str, Any]:
    import pyarrow as pa

    return {
        **dict.fromkeys(("clip_backward", "caption", "subset", "dataset_source", "category"), pa.string()),
        **dict.fromkeys(LABELS, pa.bool_()),
        "fps": pa.float64(),
        "frames": pa.int64(),
        **dict.fromkeys(("motion", "motion_symmetry"), pa.float64()),
        "motion_symmetric": pa.bool_(),
        "released": pa.string(),
    }


def measure_pairs(
    pairs: Sequence[PairRow], seconds: float | None = None, progress: Progress = no_progress
) -> dict[str, ClipMotion | None]:
    """Measure the motion in the forward clip of each pair whose file exists, by the pair's id, decoding each once."""
    present = {pair.item_id: pair.path for pair in pairs if pair.path is not None}
    workers = max(1, min(8, os.cpu_count() or 1))
    motions: dict[str, ClipMotion | None] = {}
    with ThreadPoolExecutor(workers, thread_name_prefix="motion") as pool:
        measured = pool.map(lambda path: measure_motion(path, flow, seconds), present.values())
        for item_id, motion in zip(present, measured, strict=True):
            motions[item_id] = motion
            progress("measuring motion", len(motions), len(present))
    return motions


def table_rows(pairs: Sequence[PairRow], motions: Mapping[str, ClipMotion | None]) -> list[dict[str, Any]]:
    """Rows of the prepared table without `clip_present`."""
    symmetric = most_symmetric({item_id: motion.symmetry for item_id, motion in motions.items() if motion})
    rows = []
    for pair in pairs:
        motion = motions.get(pair.item_id)
        row = {name: value for name, value in vars(pair).items() if name != "path"}
        if motion:
            row |= {"fps": motion.fps, "frames": motion.frames}
        rows.append(
            {
                **row,
                "group_id": pair.item_id,
                "question": QUESTION,
                "options": list(OPTIONS),
                "answer": FORWARD,
                "motion": motion.magnitude if motion else None,
                "motion_symmetry": motion.symmetry if motion else None,
                "motion_symmetric": pair.item_id in symmetric,
                "released": json.dumps(dict(pair.released), ensure_ascii=False, sort_keys=True),
            }
        )
    return rows


def read_labels(file: Path, known: Container[str]) -> dict[str, bool | None]:
    return {item_id: row.vlm_causality for item_id, row in _read_label_rows(file, known, (CAUSALITY,)).items()}


def _read_label_rows(file: Path, known: Container[str], names: Sequence[str]) -> dict[str, LabelRow]:
    """The lines of a labels file by item id; each has one label at least of those that are named."""
    if not file.is_file():
        raise InputError(f"The labels cannot be used: there is no file {file}.")
    issues, labels = Problems(), dict[str, LabelRow]()
    wanted = " or ".join(names)
    for where, row in read_rows(file, LabelRow, issues, exact=False):
        if row.id not in known:
            issues.add("id", "Expected the id of a pair, but got", f"{describe(row.id)} ({where})")
        elif row.id in labels:
            issues.add("id", "Expected one label per pair, but got again", f"{describe(row.id)} ({where})")
        elif row.model_fields_set.isdisjoint(names):
            issues.add(wanted, "Expected true, false or null, but got nothing for", f"{describe(row.id)} ({where})")
        else:
            labels[row.id] = row
    if not issues and all(getattr(row, name) is None for row in labels.values() for name in names):
        issues.add(wanted, "Expected true or false for at least one pair, but", "no pair has a label")
    problems = Problems().extend(issues, f"{file.name}, ")
    problems.raise_if_any(f"The labels in {file.name} cannot be used", "nothing was written")
    return labels


def with_labels(pairs: Sequence[PairRow], file: Path) -> list[PairRow]:
    """The pairs with the labels of a file in place of their own; what it leaves out stays."""
    rows = _read_label_rows(file, {pair.item_id for pair in pairs}, LABELS)
    given = {item_id: row.model_dump(include=row.model_fields_set & set(LABELS)) for item_id, row in rows.items()}
    return [replace(pair, **given.get(pair.item_id, {})) for pair in pairs]


def stratum(row: Mapping[str, Any]) -> dict[str, str]:
    def name(label: bool | None, yes: str, no: str) -> str:
        return "unlabelled" if label is None else yes if label else no

    return {
        "subset": row["subset"],
        "category": row["category"],
        "causality": name(row["vlm_causality"], "causal", "not causal"),
        "people": name(row["human_discriminable"], "can tell", "cannot tell"),
        "motion_symmetric": "symmetric" if row["motion_symmetric"] else "other",
    }

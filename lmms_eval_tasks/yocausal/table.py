"""YoCausal's prepared table: what the release and a folder of own videos have in common."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.core.problems import InputError, Problems
from lmms_eval_tasks.utils.core.progress import Progress, no_progress
from lmms_eval_tasks.utils.core.wording import summarize_names
from lmms_eval_tasks.yocausal.card import FORWARD, OPTIONS, QUESTION
from lmms_eval_tasks.yocausal.motion import Motion, measure_all, most_symmetric

SPLIT = "test"


@dataclass(frozen=True)
class PairRow:
    """One pair before its motion is measured.

    Attributes:
        item_id: Unique id: subset and the release's id.
        clip: Forward clip in the data home.
        clip_backward: Its reversal.
        caption: Of the forward clip; None where there is none.
        subset: Part of the benchmark.
        dataset_source: Where the clip comes from, as released.
        category: As released.
        vlm_causality: Whether something causes something in it; None where unlabelled.
        human_discriminable: Whether people can tell its direction; None where unlabelled.
        fps: As released; None where the release does not say.
        frames: As released.
        released: What a result file repeats of the release's entry, as JSON values.
        path: File whose motion is measured; None where there is none.
    """

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


def own_columns() -> dict[str, Any]:
    """The benchmark's own columns and their types."""
    import pyarrow as pa

    return {
        "clip_backward": pa.string(),
        "caption": pa.string(),
        "subset": pa.string(),
        "dataset_source": pa.string(),
        "category": pa.string(),
        "vlm_causality": pa.bool_(),
        "human_discriminable": pa.bool_(),
        "fps": pa.float64(),
        "frames": pa.int64(),
        "motion": pa.float64(),
        "motion_symmetry": pa.float64(),
        "motion_symmetric": pa.bool_(),
        "released": pa.string(),
    }


def table_rows(
    pairs: Sequence[PairRow], seconds: float | None = None, progress: Progress = no_progress
) -> list[dict[str, Any]]:
    """Rows of the prepared table without `clip_present`; every forward clip that is there is decoded once.

    Args:
        pairs: The pairs, in the order of the rows.
        seconds: How much of each clip counts; all of it by default.
        progress: Told about clips measured.
    """
    paths = [pair.path for pair in pairs if pair.path is not None]
    found = dict(zip(paths, measure_all(paths, seconds, progress), strict=True))
    motions: list[Motion | None] = [None if pair.path is None else found[pair.path] for pair in pairs]
    symmetric = most_symmetric(
        {pair.item_id: motion.symmetry if motion else None for pair, motion in zip(pairs, motions, strict=True)}
    )
    return [
        {
            "item_id": pair.item_id,
            "group_id": pair.item_id,
            "question": QUESTION,
            "options": list(OPTIONS),
            "answer": FORWARD,
            "clip": pair.clip,
            "clip_backward": pair.clip_backward,
            "caption": pair.caption,
            "subset": pair.subset,
            "dataset_source": pair.dataset_source,
            "category": pair.category,
            "vlm_causality": pair.vlm_causality,
            "human_discriminable": pair.human_discriminable,
            "fps": motion.fps if motion else pair.fps,
            "frames": motion.frames if motion else pair.frames,
            "motion": motion.magnitude if motion else None,
            "motion_symmetry": motion.symmetry if motion else None,
            "motion_symmetric": pair.item_id in symmetric,
            "released": json.dumps(dict(pair.released), ensure_ascii=False, sort_keys=True),
        }
        for pair, motion in zip(pairs, motions, strict=True)
    ]


def uncaptioned(pairs: Sequence[PairRow]) -> tuple[str, ...]:
    """A warning where pairs have no caption."""
    lacking = [pair.item_id for pair in pairs if pair.caption is None]
    if not lacking:
        return ()
    told = f"{len(lacking)} of {len(pairs)} pairs have no caption and can be scored with prompt=null only"
    return (f"{told}: {summarize_names(lacking)}.",)


def with_labels(pairs: Sequence[PairRow], labels: Path | None) -> list[PairRow]:
    """The pairs with the causality labels of a file in place of their own; a pair that it leaves out keeps its own.

    Raises:
        InputError: where the file cannot be used; every problem is listed.
    """
    if labels is None:
        return list(pairs)
    found = read_labels(labels, {pair.item_id for pair in pairs})
    return [replace(pair, vlm_causality=found.get(pair.item_id, pair.vlm_causality)) for pair in pairs]


def read_labels(file: Path, known: set[str] | None = None) -> dict[str, bool | None]:
    """Causality labels by item id, from lines of ``{"id": …, "vlm_causality": true | false | null}``.

    Args:
        file: JSON lines, as `lmms-eval-tasks label yocausal` writes them; further keys are ignored.
        known: The ids that there are; None takes any.

    Raises:
        InputError: where the file is not such a file, an id is unknown or labelled twice; every problem is listed.
    """
    if not file.is_file():
        raise InputError(f"The labels cannot be used: there is no file {file}.")
    problems, labels = Problems(), dict[str, bool | None]()
    for number, line in enumerate(file.read_bytes().split(b"\n"), 1):
        if not line.strip():
            continue
        where = f"{file.name}, line {number}"
        try:
            entry = json.loads(line)
            item_id, label = entry["id"], entry["vlm_causality"]
        except (ValueError, TypeError, KeyError, RecursionError):
            problems.add(where, 'Expected {"id": …, "vlm_causality": true or false}.')
            continue
        if not isinstance(item_id, str) or not (label is None or isinstance(label, bool)):
            problems.add(where, f"Expected a text as id and true, false or null as label, but got {label!r}.")
        elif known is not None and item_id not in known:
            problems.add(where, f"Expected the id of a pair, but there is no {item_id!r}.")
        elif item_id in labels:
            problems.add(where, f"Expected one label per pair, but {item_id!r} has two.")
        else:
            labels[item_id] = label
    problems.raise_if_any(f"The labels in {file.name} cannot be used", "nothing was written")
    return labels

"""A set of masked clips in the form of a release, which is prepared and run as the release itself is."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from string import ascii_uppercase

from lmms_eval_tasks.cast_bench.card import CARD
from lmms_eval_tasks.cast_bench.masked import UNABLE, masked_clip, masked_row, timed_boxes
from lmms_eval_tasks.cast_bench.prepare import SPLIT
from lmms_eval_tasks.cast_bench.released import FILE
from lmms_eval_tasks.utils.benchmark.benchmark import Row
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.progress import Progress, no_progress
from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.home import clip_path, load_table, read_manifest
from lmms_eval_tasks.utils.data.release import SAMPLE_MARK, UnreadableClip, link_or_copy

MADE, VIDEOS = "made", "videos"
MOST_WORKERS = 8


@dataclass(frozen=True)
class MaskedSet:
    """What was written.

    Attributes:
        questions: Ids of all questions.
        not_masked: Ids of those whose evidence has no box; their clips and options are as they were.
        missing: Ids of those whose clip is missing or cannot be decoded.
    """

    questions: tuple[str, ...]
    not_masked: tuple[str, ...]
    missing: tuple[str, ...]


def write_masked_set(out: Path, progress: Progress = no_progress) -> MaskedSet:
    """Write a set with a masked clip for each prepared question.

    Its questions keep their ids. What an earlier call made is not made again, so that one that was cut short goes on.

    Args:
        out: The folder; it need not exist. It gets `castbench_hf.jsonl` and the clips.
        progress: Receives how far the work is.

    Raises:
        InputError: nothing is prepared, clips are missing and $LMMS_EVAL_TASKS_MISSING is not `skip`, or what is
            prepared is a masked set.
        OSError: a file cannot be written.
    """
    rows: Sequence[Row] = load_table(CARD.name, SPLIT).to_list()
    if any(UNABLE in row["options"] for row in rows):
        raise InputError(f"Expected {CARD.title} as it was released, but what is prepared is a masked set.")
    store = ClipStore(out / MADE, sys.maxsize)

    def place(row: Row) -> bool:
        """Make the clip of a row under the set's name for it; False where it cannot be decoded."""
        target = out / VIDEOS / _video(row)
        try:
            source = masked_clip(row, store).path if timed_boxes(row) else clip_path(CARD.name, row["clip"]).resolve()
        except UnreadableClip:
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        link_or_copy(source, target)
        return True

    missing = []
    with ThreadPoolExecutor(max_workers=min(MOST_WORKERS, os.cpu_count() or 1)) as pool:
        placed = pool.map(lambda row: bool(row["clip_present"]) and place(row), rows)
        for done, (row, is_there) in enumerate(zip(rows, placed, strict=True), 1):
            if not is_there:
                missing.append(row["item_id"])
            progress("masking clips", done, len(rows))
    if read_manifest(CARD.name).splits[SPLIT].sample:
        write_file(out / SAMPLE_MARK, "simulated\n")
    write_file(out / FILE, "".join(json.dumps(_released(row), ensure_ascii=False) + "\n" for row in rows))
    return MaskedSet(
        questions=tuple(row["item_id"] for row in rows),
        not_masked=tuple(row["item_id"] for row in rows if not timed_boxes(row)),
        missing=tuple(missing),
    )


def _video(row: Row) -> str:
    """A question's own clip; an item's id goes by the name of the file alone, so that it stays."""
    return f"{row['item_id']}/{PurePosixPath(row['clip']).name}"


def _released(row: Row) -> Row:
    """A question as a release has it, with the added option."""
    masked = masked_row(row)
    kinds = dict(zip(ascii_uppercase, masked["option_kinds"] or (), strict=False))
    return {
        "video": _video(row),
        "question": masked["question"],
        "question_type": masked["question_type"],
        "scene_category": masked["scene_category"],
        "options": dict(zip(ascii_uppercase, masked["options"], strict=False)),
        "answer": masked["answer"],
        "evidence": masked["evidence"],
        **({"distractor_types": {letter: kind for letter, kind in kinds.items() if kind}} if kinds else {}),
    }

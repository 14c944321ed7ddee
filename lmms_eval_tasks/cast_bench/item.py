"""One question with what a run's model answered to it and what is true, ready to be drawn."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.api import InputError, Record, Row
from lmms_eval_tasks.api.clips import PyavFrames
from lmms_eval_tasks.api.evidence import read_truth
from lmms_eval_tasks.api.page import InstanceTrack, predicted_tracks, tracks_of
from lmms_eval_tasks.api.release import UnreadableClip, clip_path, load_table
from lmms_eval_tasks.api.runs import Run, read_run
from lmms_eval_tasks.cast_bench.card import CARD
from lmms_eval_tasks.cast_bench.prepare import SPLIT, frame_of

TASK = "cast_bench"


@dataclass(frozen=True)
class AnsweredItem:
    """A question of CaST-Bench, the answer and the truth."""

    run: str
    row: Row
    record: Record
    true: tuple[InstanceTrack, ...]
    predicted: tuple[InstanceTrack, ...]
    sample: bool
    second: int
    length: float
    picture: NDArray[np.uint8]


def read_item(item_id: str, source: Path, second: int | None = None) -> AnsweredItem:
    """Read one item of the latest run in a folder, with its truth from the prepared table and a frame of its clip."""
    run = read_run(source)
    record = _find_record(run, item_id)
    response = _read_response(run, record)
    row = _find_row(item_id)
    true, predicted = tracks_of(read_truth(row["evidence"])), predicted_tracks(record, response, frame_of(row))
    at = _busiest_second(true, predicted) if second is None else second
    path = clip_path(CARD.name, row["clip"])
    if at < 0:
        raise InputError(f"{item_id} cannot be shown: Expected a second of its clip, but got {at}.")
    try:
        clip = PyavFrames(path)
        picture = clip.read([clip.number_at(at)])[0]
    except UnreadableClip:
        raise InputError(f"{item_id} cannot be shown: its clip {path} is missing or cannot be decoded.") from None
    if at > clip.seconds:
        length = f"{clip.seconds:.1f} s long"
        raise InputError(f"{item_id} cannot be shown: Expected a second of its clip, {length}, but got {at}.")
    return AnsweredItem(
        run=run.name,
        row=row,
        record=record,
        true=true,
        predicted=predicted,
        sample=run.set_of(TASK).is_sample,
        second=at,
        length=clip.seconds,
        picture=picture,
    )


def _find_record(run: Run, item_id: str) -> Record:
    if TASK not in run.records:
        raise InputError(f"{run.path} holds no {TASK}: Expected a run of it, but got one of {', '.join(run.records)}.")
    records = {record.item_id: record for record in run.records[TASK]}
    if item_id not in records:
        near = difflib.get_close_matches(item_id, records, n=3, cutoff=0) or list(records)[:3]
        raise InputError(f"Expected an item of {run.path}, such as {', '.join(near)}, but got {item_id}.")
    return records[item_id]


def _read_response(run: Run, record: Record) -> str:
    if not record.asked:
        raise InputError(
            f"{record.item_id} cannot be shown: the run in {run.path} could not ask it, its clip was missing."
        )
    logged = next(item for item in run.items_of(TASK) if item.record.item_id == record.item_id)
    return (logged.responses or [""])[0]


def _find_row(item_id: str) -> Row:
    for row in load_table(CARD.name, SPLIT, require_clips=False):
        if row["item_id"] == item_id:
            return dict(row)
    raise InputError(
        f"{item_id} cannot be shown: the prepared {CARD.title} has no such item. The run was made with other data than "
        "what is prepared now."
    )


def _busiest_second(true: Sequence[InstanceTrack], predicted: Sequence[InstanceTrack]) -> int:
    """Of the seconds with a true box, one with the most boxes; the middle one of several."""
    candidates = sorted({second for track in true for second in track.boxes})
    if not candidates:
        return min((start for track in true for start, _ in track.spans), default=0)
    counts = {second: sum(second in track.boxes for track in (*true, *predicted)) for second in candidates}
    busiest = [second for second in candidates if counts[second] == max(counts.values())]
    return busiest[len(busiest) // 2]

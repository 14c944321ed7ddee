"""Spatio-temporal grounding: how well predicted evidence covers the true one in time and space.

Definitions: CaST-Bench, METRICS.md and `metrics_core.py` of CaST-Bench-Evaluation@a216491. Time is whole seconds, spans
include both ends, boxes are pixels, every measure is in 0-1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.utils.evidence.boxes import (
    Bools,
    Box,
    Convention,
    Floats,
    Frame,
    box_area,
    box_iou,
    has_area,
    to_pixels,
)
from lmms_eval_tasks.utils.evidence.reader import Instance
from lmms_eval_tasks.utils.evidence.timestamps import LAST_SECOND

Ints = NDArray[np.int64]

# Wider than any second, so that instance and second make one sortable key.
_STRIDE = 2 * LAST_SECOND


@dataclass(frozen=True)
class Settings:
    """How predicted and true instances are matched, and what counts as a hit.

    Defaults are those of the official runs (`evaluate.sh`); the official command line itself defaults to 1 / 0.5 / 0.3.

    Attributes:
        eps_overlap: Seconds that two instances must share to be matched.
        tau_t: tIoU from which a true instance is found in time.
        tau_st: vIoU from which it is found in time and space, and an answer is supported.
        coverage_aware: Match by tIoU × mean sIoU in place of mean sIoU.
    """

    eps_overlap: int = 2
    tau_t: float = 0.5
    tau_st: float = 0.1
    coverage_aware: bool = False


DEFAULTS = Settings()


@dataclass(frozen=True)
class Timelines:
    """The instances of many questions over time, one after the other.

    Attributes:
        counts: (Q,) instances of each question.
        spans: (N, 2) first and last second of each instance, over all its evidences; ``(0, -1)`` without evidence.
        owner: (K,) which instance a box belongs to, ascending.
        seconds: (K,) second of the box, within the owner's span, ascending and unique for each owner.
        boxes: (K, 4) ``x1, y1, x2, y2`` in pixels.
    """

    counts: Ints
    spans: Ints
    owner: Ints
    seconds: Ints
    boxes: Floats


@dataclass(frozen=True, slots=True)
class Pair:
    """A predicted instance matched with a true one; `viou` is tIoU times mean sIoU over the shared seconds."""

    predicted: int
    true: int
    tiou: float
    viou: float


@dataclass(frozen=True, slots=True)
class Grounding:
    """Grounding of one question, every measure in 0-1.

    Attributes:
        pairs: Matched instances, in the order in which they were matched.
        predicted: Number of predicted instances.
        true: Number of true instances.
        temporal_recall: Share of true instances matched with tIoU of at least tau_t.
        tiou_tp_only: Mean tIoU of the pairs, 0 without one.
        im_tiou: Sum of tIoU over the true instances' number (at least 1).
        st_recall: Share of true instances matched with vIoU of at least tau_st.
        viou_tp_only: Mean vIoU of the pairs, 0 without one.
        im_viou: Sum of vIoU over the true instances' number (at least 1).
        supported: Whether any pair has vIoU of at least tau_st: today's official "faithful", given a right answer.
        supported_strict: Whether the mean vIoU of all predicted instances, 0 for an unmatched one, is at least tau_st:
            the README's definition. False without a predicted instance.
    """

    pairs: tuple[Pair, ...]
    predicted: int
    true: int
    temporal_recall: float
    tiou_tp_only: float
    im_tiou: float
    st_recall: float
    viou_tp_only: float
    im_viou: float
    supported: bool
    supported_strict: bool

    @property
    def false_positives(self) -> int:
        """Predicted instances that match no true one."""
        return self.predicted - len(self.pairs)

    @property
    def missed(self) -> int:
        """True instances that no prediction matches."""
        return self.true - len(self.pairs)


def build_timelines(
    questions: Iterable[Sequence[Instance]],
    convention: Convention = Convention.XYXY_PX,
    frames: Sequence[Frame] | None = None,
    seen: Sequence[Frame] | None = None,
) -> Timelines:
    """Merge each instance's evidences into one timeline.

    The span runs from the earliest start to the latest end. A box counts when its second lies within its own
    evidence's span; where several evidences give a second a box, the largest counts, the first among equals.

    Args:
        questions: The instances of each question, with boxes in `convention`.
        convention: How the boxes are written.
        frames: Width and height of each question's clip in pixels.
        seen: Width and height of the frame that the model was shown for each question.

    Raises:
        ValueError: where the convention needs a size that is not given.
    """
    counts: list[int] = []
    spans: list[tuple[int, int]] = []
    evidence_rows: list[tuple[int, int, int, int, int]] = []
    flat_seconds: list[int] = []
    flat_boxes: list[Box] = []
    for question, instances in enumerate(questions):
        counts.append(len(instances))
        for instance in instances:
            first, last = (LAST_SECOND, -1) if instance.evidences else (0, -1)
            for evidence in instance.evidences:
                first, last = min(first, evidence.start), max(last, evidence.end)
                evidence_rows.append((question, len(spans), evidence.start, evidence.end, len(evidence.boxes)))
                flat_seconds += evidence.seconds
                flat_boxes += evidence.boxes
            spans.append((first, last))
    rows = np.array(evidence_rows, dtype=np.int64).reshape(-1, 5)
    seconds = np.array(flat_seconds, dtype=np.int64)
    boxes = np.fromiter(chain.from_iterable(flat_boxes), np.float64, 4 * len(flat_boxes)).reshape(-1, 4)
    question_of, owner, start, end = np.repeat(rows[:, :4], rows[:, 4], axis=0).T
    kept = (start <= seconds) & (seconds <= end)
    if convention is not Convention.XYXY_PX:
        boxes = to_pixels(boxes, convention, _sizes_of(frames, question_of), _sizes_of(seen, question_of))
        kept &= has_area(boxes) & np.isfinite(boxes).all(axis=1)
    keys = owner * _STRIDE + seconds
    order = np.flatnonzero(kept)
    order = order[np.argsort(keys[order], kind="stable")]
    chosen = _largest(keys[order], boxes[order], order)
    return Timelines(
        counts=np.array(counts, dtype=np.int64),
        spans=np.array(spans, dtype=np.int64).reshape(-1, 2),
        owner=owner[chosen],
        seconds=seconds[chosen],
        boxes=boxes[chosen],
    )


def temporal_iou(predicted: Ints, true: Ints) -> tuple[Ints, Floats]:
    """Overlap in time of predicted spans with the true spans beside them.

    Args:
        predicted: (R, 2) first and last second.
        true: (R, 2) first and last second.

    Returns:
        Shared seconds (R,), and tIoU (R,): shared seconds over the seconds from the earlier start to the later end.
    """
    shared = np.minimum(predicted[:, 1], true[:, 1]) - np.maximum(predicted[:, 0], true[:, 0]) + 1
    hull = np.maximum(predicted[:, 1], true[:, 1]) - np.minimum(predicted[:, 0], true[:, 0]) + 1
    shared = np.maximum(shared, 0)
    return shared, shared / np.maximum(hull, 1)


def mean_spatial_iou(predicted: Timelines, true: Timelines, rows: Ints, columns: Ints, shared: Ints) -> Floats:
    """Mean sIoU of pairs over the seconds that they share; a second without both boxes counts 0.

    Args:
        predicted: Predicted instances.
        true: True instances.
        rows: (R,) predicted instance of each pair.
        columns: (R,) true instance of each pair.
        shared: (R,) seconds that they share, at least 1.

    Returns:
        (R,).
    """
    boxes_of = np.bincount(predicted.owner, minlength=len(predicted.spans))
    pair, at = _ranges(boxes_of[rows], (np.cumsum(boxes_of) - boxes_of)[rows])
    keys = np.append(true.owner * _STRIDE + true.seconds, -1)
    wanted = columns[pair] * _STRIDE + predicted.seconds[at]
    found = np.searchsorted(keys[:-1], wanted)
    hits = np.flatnonzero(keys[found] == wanted)
    overlap = box_iou(predicted.boxes[at[hits]], true.boxes[found[hits]])
    # bincount adds one by one, here in order of time, as the official code does: what ties there must tie here.
    return np.bincount(pair[hits], overlap, len(rows)) / shared


def greedy_match(score: Floats, shared: Ints, rows: Ints, columns: Ints) -> list[int]:
    """Match predicted with true instances one to one, best score first.

    Ties go to the longer overlap, then to the earlier prediction, then to the earlier true instance.

    Args:
        score: (R,) score of each candidate pair.
        shared: (R,) seconds that its instances share.
        rows: (R,) its predicted instance.
        columns: (R,) its true instance.

    Returns:
        Indices of the matched pairs, in the order of matching.
    """
    matched: list[int] = []
    used_rows: set[int] = set()
    used_columns: set[int] = set()
    order = np.lexsort((columns, rows, -shared, -score))
    for index, row, column in zip(order.tolist(), rows[order].tolist(), columns[order].tolist(), strict=True):
        if row not in used_rows and column not in used_columns:
            matched.append(index)
            used_rows.add(row)
            used_columns.add(column)
    return matched


def ground(predicted: Timelines, true: Timelines, settings: Settings = DEFAULTS) -> list[Grounding]:
    """All grounding measures of each question.

    A pair needs a shared second, `eps_overlap` of them, and a score above 0 to be matched.

    Args:
        predicted: Predicted instances of Q questions.
        true: True instances of the same Q questions.
        settings: Thresholds.
    """
    size = len(true.counts)
    row_question = np.repeat(np.arange(size), predicted.counts)
    row, columns = _ranges(true.counts[row_question], (np.cumsum(true.counts) - true.counts)[row_question])
    shared, tiou = temporal_iou(predicted.spans[row], true.spans[columns])
    near = np.flatnonzero(shared >= max(settings.eps_overlap, 1))
    row, columns, shared, tiou = row[near], columns[near], shared[near], tiou[near]
    siou = mean_spatial_iou(predicted, true, row, columns, shared)
    viou = tiou * siou
    score = viou if settings.coverage_aware else siou
    candidates = np.flatnonzero(score > 0)
    matched = candidates[greedy_match(score[candidates], shared[candidates], row[candidates], columns[candidates])]

    question = row_question[row[matched]]
    tiou, viou = tiou[matched], viou[matched]

    def total(weights: Floats | Bools) -> Floats:
        return np.bincount(question, weights.astype(np.float64), size).astype(np.float64, copy=False)

    found, wanted = np.maximum(np.bincount(question, minlength=size), 1), np.maximum(true.counts, 1)
    tiou_sum, viou_sum, hits = total(tiou), total(viou), total(viou >= settings.tau_st)
    measures = zip(
        predicted.counts.tolist(),
        true.counts.tolist(),
        (total(tiou >= settings.tau_t) / wanted).tolist(),
        (tiou_sum / found).tolist(),
        (tiou_sum / wanted).tolist(),
        (hits / wanted).tolist(),
        (viou_sum / found).tolist(),
        (viou_sum / wanted).tolist(),
        (hits > 0).tolist(),
        ((predicted.counts > 0) & (viou_sum / np.maximum(predicted.counts, 1) >= settings.tau_st)).tolist(),
        strict=True,
    )
    pairs: list[list[Pair]] = [[] for _ in range(size)]
    first_row, first_column = np.cumsum(predicted.counts) - predicted.counts, np.cumsum(true.counts) - true.counts
    for index, *pair in zip(
        question.tolist(),
        (row[matched] - first_row[question]).tolist(),
        (columns[matched] - first_column[question]).tolist(),
        tiou.tolist(),
        viou.tolist(),
        strict=True,
    ):
        pairs[index].append(Pair(*pair))
    return [Grounding(tuple(of_question), *values) for of_question, values in zip(pairs, measures, strict=True)]


def _ranges(counts: Ints, starts: Ints) -> tuple[Ints, Ints]:
    """For each i in turn, ``counts[i]`` consecutive numbers from ``starts[i]``: the i of each, and the numbers."""
    which = np.repeat(np.arange(len(counts)), counts)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts - starts, counts)


def _sizes_of(sizes: Sequence[Frame] | None, question_of: Ints) -> Floats | None:
    """(K, 2) the size that belongs to each box's question."""
    return None if sizes is None else np.array(sizes, dtype=np.float64).reshape(-1, 2)[question_of]


def _largest(keys: Ints, boxes: Floats, order: Ints) -> Ints:
    """Of `order`, sorted by `keys`, one entry for each key: that of the largest box, the first among equals."""
    fresh = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
    if fresh.all():
        return order
    best = np.flatnonzero(fresh)
    place = np.cumsum(fresh) - 1
    for again in np.flatnonzero(~fresh).tolist():
        group = place[again]
        if box_area(boxes[again].tolist()) > box_area(boxes[best[group]].tolist()):
            best[group] = again
    return order[best]

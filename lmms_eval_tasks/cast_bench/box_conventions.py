"""Whether a run's boxes look as if they were written in another convention than the one they were scored in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.cast_bench.settings import BOXES
from lmms_eval_tasks.utils.evidence.boxes import Convention, Floats, Frame, box_iou, has_area, is_finite, to_pixels
from lmms_eval_tasks.utils.evidence.reader import Instance

Ints = NDArray[np.intp]

MIN_BOXES = 20
"""With fewer boxes nothing is suspected."""
MOST = 0.5
OUTSIDE_MARGIN = 0.05
"""Share of the frame's size by which a box may leave it; models overshoot edges a little."""
SHARP_FACTOR = 1.5
SHARP_STEP = 0.1
"""Mean IoU rises sharply where it grows by this factor and by this much."""
ASSUMED_FRAME = (1920.0, 1080.0)
"""What the official script takes for a clip of unknown size. Here conventions are tried on it and nothing is scored."""


_UNKNOWN = (np.nan, np.nan)


@dataclass(frozen=True)
class BoxCase:
    """One question.

    Attributes:
        predicted: Predicted instances, boxes as written.
        true: True instances, boxes in pixels.
        frame: Width and height of the clip, None where unknown.
        seen: Width and height of the frame that the model was shown, None where unknown.
    """

    predicted: Sequence[Instance]
    true: Sequence[Instance]
    frame: Frame | None
    seen: Frame | None = None


@dataclass(frozen=True)
class ConventionDiagnosis:
    """What a run's boxes look like.

    Attributes:
        declared: The convention in which they were scored.
        boxes: Boxes with a true box in the same second of the same question.
        outside_share: Share, 0-1, of all boxes that leave the frame under `declared`; None where no frame is known.
        mean_iou: For each convention that can be tried, the mean over boxes of the best IoU with a true box of the same
            second, 0-1; None where there is no such box.
        suspected: The convention under which the IoU rises sharply, None where there is none.
        mostly_outside: Whether most boxes leave the frame under `declared`.
        frames_assumed: Whether `ASSUMED_FRAME` stands for the frames of some boxes.
    """

    declared: Convention
    boxes: int
    outside_share: float | None
    mean_iou: Mapping[Convention, float | None]
    suspected: Convention | None
    mostly_outside: bool
    frames_assumed: bool

    @property
    def suspicious(self) -> bool:
        """Whether a user should be told."""
        return self.mostly_outside or self.suspected is not None


def diagnose_convention(
    cases: Iterable[BoxCase],
    declared: Convention,
) -> ConventionDiagnosis:
    """Compare a run's boxes with the frames, and with the true boxes under every convention that can be tried.

    Normalised boxes are tried on `ASSUMED_FRAME` where the size of the clip is unknown; boxes in pixels of the frame
    that the model was shown are tried only where that is known.

    Args:
        cases: The questions.
        declared: The convention in which the run is scored.
    """
    boxes, frames, seen, true, box_of = _gather(cases)
    tried = np.where(np.isnan(frames), ASSUMED_FRAME, frames)
    ious = {convention: _best_iou(to_pixels(boxes, convention, tried, seen), true, box_of) for convention in Convention}
    reference = ious[declared]
    suspected, best = None, 0.0
    for convention, iou in ious.items():
        both = ~np.isnan(iou) & ~np.isnan(reference)
        if convention is declared or both.sum() < MIN_BOXES:
            continue
        here, there = float(reference[both].mean()), float(iou[both].mean())
        if there >= max(SHARP_FACTOR * here, here + SHARP_STEP) and there - here > best:
            suspected, best = convention, there - here
    outside = _outside(to_pixels(boxes, declared, frames, seen), frames)
    share = float(outside.mean()) if len(outside) else None
    return ConventionDiagnosis(
        declared=declared,
        boxes=int((~np.isnan(reference)).sum()),
        outside_share=share,
        mean_iou={name: float(np.nanmean(iou)) if not np.isnan(iou).all() else None for name, iou in ious.items()},
        suspected=suspected,
        mostly_outside=share is not None and share > MOST and len(outside) >= MIN_BOXES,
        frames_assumed=bool(np.isnan(frames).any()),
    )


def _gather(cases: Iterable[BoxCase]) -> tuple[Floats, Floats, Floats, Floats, Ints]:
    """Predicted boxes with what they are compared with.

    Returns:
        Predicted boxes (K, 4); the sizes (K, 2) of their clips and of the frames that the model was shown, NaN where
        unknown; true boxes (M, 4), and for each the index (M,) of a predicted box of the same second and question.
    """
    boxes: list[Sequence[float]] = []
    frames: list[Sequence[float]] = []
    seen: list[Sequence[float]] = []
    true: list[Sequence[float]] = []
    box_of: list[int] = []
    for case in cases:
        at: dict[int, list[Sequence[float]]] = {}
        for evidence in (evidence for instance in case.true for evidence in instance.evidences):
            for second, box in zip(evidence.seconds, evidence.boxes, strict=True):
                at.setdefault(second, []).append(box)
        for evidence in (evidence for instance in case.predicted for evidence in instance.evidences):
            for second, box in zip(evidence.seconds, evidence.boxes, strict=True):
                if is_finite(box):
                    matches = at.get(second, [])
                    true += matches
                    box_of += [len(boxes)] * len(matches)
                    boxes.append(box)
                    frames.append(case.frame or _UNKNOWN)
                    seen.append(case.seen or _UNKNOWN)
    return _array(boxes, 4), _array(frames, 2), _array(seen, 2), _array(true, 4), np.array(box_of, dtype=np.intp)


def _array(rows: list[Sequence[float]], width: int) -> Floats:
    return np.array(rows, dtype=np.float64).reshape(-1, width)


def _best_iou(boxes: Floats, true: Floats, box_of: Ints) -> Floats:
    """(K,) best IoU of each box with a true one of its second, NaN without one or where it cannot be converted."""
    best = np.full(len(boxes), np.nan)
    iou = np.where(has_area(boxes[box_of]), box_iou(boxes[box_of], true), 0.0)
    np.fmax.at(best, box_of, iou)
    best[np.isnan(boxes).any(axis=1)] = np.nan
    return best


def _outside(boxes: Floats, frames: Floats) -> Floats:
    """For each box whose frame is known, 1 where it leaves the frame by more than the margin, else 0."""
    known = ~np.isnan(frames).any(axis=1) & ~np.isnan(boxes).any(axis=1)
    margin = OUTSIDE_MARGIN * frames[known]
    low, high = boxes[known, :2] < -margin, boxes[known, 2:] > frames[known] + margin
    outside: Floats = np.any(low | high, axis=1).astype(np.float64)
    return outside


def convention_warning(diagnosis: ConventionDiagnosis) -> str:
    """The warning where boxes look as if they were written in another convention."""
    declared = diagnosis.declared.value
    sentences = [f"CaST-Bench's boxes were read as {declared}, and do not look it:"]
    if diagnosis.mostly_outside and diagnosis.outside_share is not None:
        sentences.append(f"{100 * diagnosis.outside_share:.0f}% of them leave the frame.")
    if diagnosis.suspected is not None:
        ours, theirs = diagnosis.mean_iou[diagnosis.declared], diagnosis.mean_iou[diagnosis.suspected]
        name = diagnosis.suspected.value
        assumed, first = "", ""
        if diagnosis.frames_assumed and (diagnosis.suspected.normalised or diagnosis.declared.normalised):
            assumed = " and clips of unknown size taken for {:.0f}×{:.0f}".format(*ASSUMED_FRAME)
        if diagnosis.frames_assumed and diagnosis.suspected.normalised:
            first = "prepare the benchmark with its clips, which tell their sizes, and "
        sentences.append(
            f"Read as {name}{assumed}, their mean IoU with true boxes of the same second is {theirs or 0:.2f}, not "
            f"{ours or 0:.2f}. If the model writes boxes so, {first}score its responses again with {BOXES}={name}."
        )
    return " ".join(sentences)

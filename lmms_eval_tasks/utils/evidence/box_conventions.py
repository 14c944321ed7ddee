"""Whether a run's boxes look as if they were written in another convention than the one they were scored in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lmms_eval_tasks.utils.core.variables import BOXES
from lmms_eval_tasks.utils.evidence.boxes import Box, BoxConvention, FrameSize, box_iou, has_area, is_finite, to_pixels
from lmms_eval_tasks.utils.evidence.instances import EvidenceInstance

MIN_BOXES = 20
"""With fewer boxes nothing is suspected."""
MOST = 0.5
"""With a larger share of boxes outside their frames, the declared convention is suspect."""
OUTSIDE_MARGIN = 0.05
"""Share of the frame's size by which a box may leave it; models overshoot edges a little."""
SHARP_FACTOR = 1.5
SHARP_STEP = 0.1
"""Mean IoU rises sharply where it grows by this factor and by this much."""
ASSUMED_FRAME = (1920, 1080)
"""What the official script takes for a clip of unknown size. Here conventions are tried on it and nothing is scored."""


class GroundedQuestion(Protocol):
    """A question whose answer has boxes."""

    @property
    def truth(self) -> Sequence[EvidenceInstance]:
        """True instances, boxes in pixels."""

    @property
    def frame(self) -> FrameSize | None:
        """Width and height of the clip, None where unknown."""

    @property
    def seen(self) -> FrameSize | None:
        """Width and height of the frame that the model was shown, None where unknown."""


@dataclass(frozen=True)
class ConventionDiagnosis:
    """What a run's boxes look like."""

    outside_share: float | None
    mean_iou: Mapping[BoxConvention, float | None]
    suspected: BoxConvention | None
    mostly_outside: bool
    frames_assumed: bool

    @property
    def suspicious(self) -> bool:
        """Whether to warn the user."""
        return self.mostly_outside or self.suspected is not None


def diagnose_convention(
    answers: Iterable[tuple[GroundedQuestion, Sequence[EvidenceInstance]]], declared: BoxConvention
) -> ConventionDiagnosis:
    """Compare a run's boxes with the frames, and with the true boxes under every convention that can be tried."""
    best_ious: dict[BoxConvention, list[float]] = {convention: [] for convention in BoxConvention}
    outside: list[bool] = []
    frames_assumed = False
    for question, instances in answers:
        frames_assumed |= question.frame is None and any(_boxes(instances))
        true: dict[int, list[Box]] = {}
        for second, box in _boxes(question.truth):
            true.setdefault(second, []).append(box)
        for second, box in _boxes(instances):
            for convention, best in best_ious.items():
                pixels = _convert(box, convention, question.frame or ASSUMED_FRAME, question.seen)
                best.append(_best_iou(pixels, true.get(second, ())))
            pixels = _convert(box, declared, question.frame, question.seen)
            if question.frame and pixels:
                outside.append(_is_outside(pixels, question.frame))
    ious = {convention: np.array(best) for convention, best in best_ious.items()}
    reference = ious[declared]
    suspected, most = None, 0.0
    for convention, iou in ious.items():
        both = ~np.isnan(iou) & ~np.isnan(reference)
        if convention is declared or both.sum() < MIN_BOXES:
            continue
        here, there = float(reference[both].mean()), float(iou[both].mean())
        if there >= max(SHARP_FACTOR * here, here + SHARP_STEP) and there - here > most:
            suspected, most = convention, there - here
    share = sum(outside) / len(outside) if outside else None
    return ConventionDiagnosis(
        outside_share=share,
        mean_iou={name: float(np.nanmean(iou)) if not np.isnan(iou).all() else None for name, iou in ious.items()},
        suspected=suspected,
        mostly_outside=share is not None and share > MOST and len(outside) >= MIN_BOXES,
        frames_assumed=frames_assumed,
    )


def _boxes(instances: Iterable[EvidenceInstance]) -> Iterator[tuple[int, Box]]:
    """Each finite box with its second."""
    for instance in instances:
        for evidence in instance.evidences:
            for second, box in zip(evidence.seconds, evidence.boxes, strict=True):
                if is_finite(box):
                    yield second, box


def _convert(box: Box, convention: BoxConvention, frame: FrameSize | None, seen: FrameSize | None) -> Box | None:
    return to_pixels(box, convention, frame, seen) if convention.can_convert(frame, seen) else None


def _best_iou(box: Box | None, true: Sequence[Box]) -> float:
    """The best IoU of a box with the true ones of its second, NaN without one or where it cannot be converted."""
    if box is None or not true:
        return float("nan")
    return max(box_iou(box, one) for one in true) if has_area(box) else 0.0


def _is_outside(box: Box, frame: FrameSize) -> bool:
    """Whether a box leaves the frame by more than the margin."""
    x, y = (OUTSIDE_MARGIN * side for side in frame)
    return box[0] < -x or box[1] < -y or box[2] > frame[0] + x or box[3] > frame[1] + y


def convention_warnings(
    title: str, answers: Iterable[tuple[GroundedQuestion, Sequence[EvidenceInstance]]], declared: BoxConvention
) -> list[str]:
    """The warning where boxes look as if they were written in another convention; empty where they do not.

    They do where most of them leave their frames, or where another convention raises their mean IoU with true boxes of
    the same second by half and by 0.1 at least. With fewer than 20 boxes nothing is suspected.

    Args:
        title: The benchmark's.
        answers: The questions, each with its predicted instances, boxes as written. A question has `truth`, its true
            instances in pixels, and `frame` and `seen`, width and height in pixels of the clip and of the frame that
            the model was shown, None where unknown.
        declared: The convention in which the run is scored.

    Returns:
        One message for the user, or none.
    """
    diagnosis = diagnose_convention(answers, declared)
    if not diagnosis.suspicious:
        return []
    sentences = [f"{title}'s boxes were read as {declared.value}, and do not look it:"]
    if diagnosis.mostly_outside and diagnosis.outside_share is not None:
        sentences.append(f"{100 * diagnosis.outside_share:.0f}% of them leave the frame.")
    if diagnosis.suspected is not None:
        ours, theirs = diagnosis.mean_iou[declared], diagnosis.mean_iou[diagnosis.suspected]
        name = diagnosis.suspected.value
        assumed, first = "", ""
        if diagnosis.frames_assumed and (diagnosis.suspected.normalised or declared.normalised):
            assumed = " and clips of unknown size taken for {:.0f}×{:.0f}".format(*ASSUMED_FRAME)
        if diagnosis.frames_assumed and diagnosis.suspected.normalised:
            first = "prepare the benchmark with its clips, which tell their sizes, and "
        sentences.append(
            f"Read as {name}{assumed}, their mean IoU with true boxes of the same second is {theirs or 0:.2f}, not "
            f"{ours or 0:.2f}. If the model writes boxes so, {first}score its responses again with {BOXES}={name}."
        )
    return [" ".join(sentences)]

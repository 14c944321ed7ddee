"""Settings of tasks that ask for boxes and times, and a warning where a run's boxes seem to follow another
convention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lmms_eval_tasks.utils.answers.evidence import DEFAULTS, MATCHINGS, EvidenceQuestion, GroundingSettings
from lmms_eval_tasks.utils.answers.evidence_boxes import (
    Box,
    BoxConvention,
    EvidenceInstance,
    FrameSize,
    PixelLimits,
    box_iou,
    has_area,
    is_finite,
    qwen_limits,
    shown_frame,
    to_pixels,
)
from lmms_eval_tasks.utils.answers.hooks import Prompt, TaskSettings
from lmms_eval_tasks.utils.core.errors import Problems
from lmms_eval_tasks.utils.core.text import BOXES, MATCHING

MIN_BOXES = 20
"""With fewer boxes nothing is suspected."""
MOST = 0.5
"""With a larger share of boxes outside their frames, the declared convention is suspect."""
OUTSIDE_MARGIN = 0.05
"""Share of the frame's size by which a box may leave it; models overshoot edges a little."""
SHARP_FACTOR, SHARP_STEP = 1.5, 0.1
"""Mean IoU rises sharply where it grows by this factor and by this much."""
ASSUMED_FRAME = (1920, 1080)
"""What the official script takes for a clip of unknown size. Here conventions are tried on it and nothing is scored."""

Answers = Iterable[tuple[EvidenceQuestion, Sequence[EvidenceInstance]]]


@dataclass(frozen=True)
class ConventionDiagnosis:
    outside_share: float | None
    mean_iou: Mapping[BoxConvention, float | None]
    suspected: BoxConvention | None
    mostly_outside: bool
    frames_assumed: bool

    @property
    def suspicious(self) -> bool:
        return self.mostly_outside or self.suspected is not None


def diagnose_convention(answers: Answers, declared: BoxConvention) -> ConventionDiagnosis:
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
                x, y = (OUTSIDE_MARGIN * side for side in question.frame)
                width, height = question.frame[0] + x, question.frame[1] + y
                outside.append(pixels[0] < -x or pixels[1] < -y or pixels[2] > width or pixels[3] > height)
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
    for instance in instances:
        for evidence in instance.evidences:
            yield from (pair for pair in zip(evidence.seconds, evidence.boxes, strict=True) if is_finite(pair[1]))


def _convert(box: Box, convention: BoxConvention, frame: FrameSize | None, seen: FrameSize | None) -> Box | None:
    return to_pixels(box, convention, frame, seen) if convention.can_convert(frame, seen) else None


def _best_iou(box: Box | None, true: Sequence[Box]) -> float:
    """The best IoU of a box with the true ones of its second, NaN without one or where it cannot be converted."""
    if box is None or not true:
        return float("nan")
    return max(box_iou(box, one) for one in true) if has_area(box) else 0.0


def convention_warnings(title: str, answers: Answers, declared: BoxConvention) -> list[str]:
    """The warning where boxes look as if they were written in another convention; empty where they do not.

    They do where most of them leave their frames, or where another convention raises their mean IoU with true boxes of
    the same second by half and by 0.1 at least. With fewer than 20 boxes nothing is suspected.

    Args:
        title: The benchmark's.
        answers: The questions, each with its predicted instances, boxes as written.
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


KWARGS = "lmms_eval_specific_kwargs"
EXAMPLE = f"{BOXES}=xyxy_resized,min_pixels=3136,max_pixels=602112"


@dataclass(frozen=True)
class EvidenceSettings(TaskSettings):
    """Settings of a task that asks for boxes and times, chosen by its configuration and the environment.

    Attributes:
        prompt: How questions are asked.
        convention: How the model writes boxes.
        limits: Least and most pixels of the frames that the model was shown, where they were given; else they are the
            model's own.
        hits: How evidence is matched, and what counts as a hit.
        logged_sizes: Of a finished run, a clip's width and height to those of its frames as they were shown.
        overridden: Whether the environment chose how boxes are read.
    """

    prompt: Prompt
    convention: BoxConvention = BoxConvention.XYXY_PX
    limits: PixelLimits | None = None
    hits: GroundingSettings = DEFAULTS
    logged_sizes: Mapping[FrameSize, FrameSize] | None = None
    overridden: bool = False

    def facts(self) -> Mapping[str, Any]:
        """Return how boxes are read and what counts as a hit, for the run card."""
        return {"boxes": self.convention.value, "hits": vars(self.hits)}

    def seen(self, frame: FrameSize | None, model: object) -> FrameSize | None:
        """Size of the frame that a model was shown of a clip, None where it is not known or does not matter."""
        if self.convention is not BoxConvention.XYXY_RESIZED or frame is None:
            return None
        if self.logged_sizes is not None:
            return self.logged_sizes.get(frame)
        limits = self.limits or qwen_limits(model)
        return shown_frame(frame, limits) if limits else None

    def as_logged(self, logged: Iterable[tuple[FrameSize, Mapping[str, Any]]]) -> EvidenceSettings:
        """The same with boxes read as the log of a finished run says, where the environment does not choose.

        Args:
            logged: Of each item the width and height of its clip, and the field ``boxes`` of its record: ``convention``
                and ``seen``, as far as it has them.
        """
        items = list(logged)
        conventions = {boxes.get("convention") for _, boxes in items} - {None}
        if self.overridden or len(conventions) != 1:
            return self
        sizes = {frame: (boxes["seen"][0], boxes["seen"][1]) for frame, boxes in items if boxes.get("seen")}
        return replace(self, convention=BoxConvention(conventions.pop()), logged_sizes=sizes)


def read_evidence_settings(
    kwargs: Mapping[str, Any], environment: Mapping[str, str], prompt: Prompt, problems: Problems
) -> EvidenceSettings:
    """The settings of a task that asks with a prompt, with the default in place of each value that cannot be used."""
    overridden = environment.get(BOXES)
    boxes, where = (_read_variable(overridden, problems), BOXES) if overridden else (kwargs, KWARGS)
    convention, named = BoxConvention.XYXY_PX, boxes.get("boxes", BoxConvention.XYXY_PX.value)
    try:
        convention = BoxConvention(named)
    except ValueError:
        known = ", ".join(one.value for one in BoxConvention)
        problems.add(where, f"Expected boxes to be one of {known}, but got {named!r}.")
    limits, least, most = None, boxes.get("min_pixels"), boxes.get("max_pixels")
    if isinstance(least, int) and isinstance(most, int) and 0 < least <= most:
        limits = PixelLimits(least, most)
    elif (least, most) != (None, None):
        what = "Expected min_pixels and max_pixels, the first not the larger"
        problems.add(where, f"{what}, but got {least} and {most}.")
    hits = _read_hits(kwargs, environment.get(MATCHING), problems)
    return EvidenceSettings(prompt, convention, limits, hits, overridden=bool(overridden))


def _read_variable(text: str, problems: Problems) -> dict[str, Any]:
    """Read the variable `BOXES` as settings under the names that a configuration uses."""
    convention, *others = (part.strip() for part in text.split(","))
    boxes: dict[str, Any] = {"boxes": convention}
    for name, _, value in (map(str.strip, part.partition("=")) for part in others if part):
        if name in ("min_pixels", "max_pixels") and value.isdecimal():
            boxes[name] = int(value)
        else:
            part = f"{name}={value}"
            problems.add(BOXES, f"Expected min_pixels or max_pixels as a number, but got {part!r}.", remedy=EXAMPLE)
    return boxes


def _read_hits(kwargs: Mapping[str, Any], overridden: str | None, problems: Problems) -> GroundingSettings:
    matching = overridden or kwargs.get("matching")
    if matching is not None and matching not in MATCHINGS:
        where, known = MATCHING if overridden else KWARGS, ", ".join(MATCHINGS)
        problems.add(where, f"Expected matching to be one of {known}, but got {matching!r}.")
    elif matching is not None:
        kwargs = {**kwargs, **dict(zip(("eps_overlap", "coverage_aware"), MATCHINGS[matching], strict=True))}
    hits: dict[str, Any] = {}
    for name, default in vars(DEFAULTS).items():
        value = kwargs.get(name, default)
        fits, kind = _FITS[type(default)]
        if fits(value):
            hits[name] = value
        else:
            problems.add(KWARGS, f"Expected {name} to be {kind}, but got {value!r}.")
    return GroundingSettings(**hits)


_FITS: Mapping[type, tuple[Any, str]] = {
    bool: (lambda value: isinstance(value, bool), "true or false"),
    int: (lambda value: type(value) is int and value >= 0, "a whole number from 0 on"),
    float: (lambda value: type(value) in (int, float) and 0 <= value <= 1, "a number from 0 to 1"),
}

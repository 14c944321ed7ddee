"""Options with their evidence in time and space: grounding measures, the record of a question, the scores, and the
settings of tasks that ask for boxes and times."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from lmms_eval_tasks.utils.answers.evidence_boxes import (
    Box,
    BoxConvention,
    EvidenceInstance,
    FrameSize,
    PixelLimits,
    Timeline,
    box_iou,
    has_area,
    is_finite,
    qwen_limits,
    shown_frame,
    to_pixels,
)
from lmms_eval_tasks.utils.answers.evidence_reading import read_evidence_answer
from lmms_eval_tasks.utils.answers.hooks import Prompt, TaskSettings
from lmms_eval_tasks.utils.answers.opening import why_unread
from lmms_eval_tasks.utils.answers.reply import as_reply
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.text import BOXES, MATCHING
from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.record import LogForm, Outcome, Record, UnparsedReason, UnscoredReason, percent


@dataclass(frozen=True)
class GroundingSettings:
    """Settings for matching predicted with true instances and for counting hits.

    Defaults are those of the official runs (`evaluate.sh`); the official command line itself defaults to 1 / 0.5 / 0.3.

    Attributes:
        eps_overlap: Whole seconds that two instances must share to be matched.
        tau_t: tIoU from which a true instance is found in time, 0-1.
        tau_st: vIoU from which it is found in time and space, and an answer is supported, 0-1.
        coverage_aware: Match by tIoU × mean sIoU in place of mean sIoU.
    """

    eps_overlap: int = 2
    tau_t: float = 0.5
    tau_st: float = 0.1
    coverage_aware: bool = False

    @property
    def rule(self) -> str:
        """Rule by which instances are matched: its name in `MATCHINGS`, or else a description."""
        chosen = self.eps_overlap, self.coverage_aware
        score = "tIoU × mean sIoU" if self.coverage_aware else "mean sIoU"
        return next((name for name, rule in MATCHINGS.items() if rule == chosen), f"{score} from {chosen[0]} s on")

    def by_rule(self, rule: str) -> GroundingSettings:
        """The same by another rule, as `rule` calls it; ValueError where there is none of that name."""
        described = re.fullmatch(r"(tIoU × )?mean sIoU from (\d{1,9}) s on", rule)
        if rule not in MATCHINGS and not described:
            raise ValueError(f"Expected a rule of matching, but got {rule!r}.")
        chosen = (int(described[2]), described[1] is not None) if described else MATCHINGS[rule]
        return replace(self, eps_overlap=chosen[0], coverage_aware=chosen[1])


MATCHINGS = {"script": (2, False), "supplement": (1, True)}
"""The rules of matching by name, each with `eps_overlap` and `coverage_aware`: the run script's, and that of the
supplement, 12.1: by tIoU × mean sIoU until no pair with a positive overlap is left."""
DEFAULTS = GroundingSettings()


@dataclass(frozen=True)
class Pair:
    predicted: int
    true: int
    tiou: float
    viou: float


@dataclass(frozen=True)
class Grounding:
    """Grounding of one question, every measure in 0-1; a record holds these fields in this order."""

    temporal_recall: float
    """Share of true instances matched with tIoU of at least tau_t."""
    tiou_tp_only: float
    """Mean tIoU of the pairs, 0 without one."""
    im_tiou: float
    """Sum of tIoU over the true instances' number (at least 1)."""
    st_recall: float
    """Share of true instances matched with vIoU of at least tau_st; the next two are as those of tIoU."""
    viou_tp_only: float
    im_viou: float
    supported: bool
    """Whether any pair has vIoU of at least tau_st: today's official "faithful", given a right answer."""
    supported_strict: bool
    """Whether the mean vIoU of all predicted instances, 0 for an unmatched one, is at least tau_st: the README's
    definition. False without a predicted instance."""
    predicted: int
    true: int
    false_positives: int
    """Predicted instances that match no true one."""
    missed: int
    """True instances that no prediction matches."""
    pairs: list[Pair]
    """Matched instances, in the order in which they were matched."""


def temporal_iou(predicted: Timeline, true: Timeline) -> tuple[int, float]:
    shared = max(min(predicted.end, true.end) - max(predicted.start, true.start) + 1, 0)
    hull = max(predicted.end, true.end) - min(predicted.start, true.start) + 1
    return shared, shared / max(hull, 1)


def ground_evidence(
    predicted: Sequence[Timeline], true: Sequence[Timeline], settings: GroundingSettings = DEFAULTS
) -> Grounding:
    candidates: list[tuple[float, int, Pair]] = []
    for predicted_place, answered in enumerate(predicted):
        for true_place, wanted in enumerate(true):
            shared, tiou = temporal_iou(answered, wanted)
            if shared < max(settings.eps_overlap, 1):
                continue
            # A second without both boxes counts 0.
            overlaps = (box_iou(box, wanted.boxes[at]) for at, box in answered.boxes.items() if at in wanted.boxes)
            siou = _sum(overlaps) / shared
            viou = tiou * siou
            score = viou if settings.coverage_aware else siou
            if score > 0:
                candidates.append((score, shared, Pair(predicted_place, true_place, tiou, viou)))
    candidates.sort(key=lambda candidate: (-candidate[0], -candidate[1]))
    pairs: list[Pair] = []
    free_predicted, free_true = set(range(len(predicted))), set(range(len(true)))
    for _, _, pair in candidates:
        if pair.predicted in free_predicted and pair.true in free_true:
            pairs.append(pair)
            free_predicted.remove(pair.predicted)
            free_true.remove(pair.true)
    tiou_sum, viou_sum = _sum(pair.tiou for pair in pairs), _sum(pair.viou for pair in pairs)
    hits = sum(pair.viou >= settings.tau_st for pair in pairs)
    pair_count, true_count = max(len(pairs), 1), max(len(true), 1)
    return Grounding(
        temporal_recall=sum(pair.tiou >= settings.tau_t for pair in pairs) / true_count,
        tiou_tp_only=tiou_sum / pair_count,
        im_tiou=tiou_sum / true_count,
        st_recall=hits / true_count,
        viou_tp_only=viou_sum / pair_count,
        im_viou=viou_sum / true_count,
        supported=hits > 0,
        supported_strict=bool(predicted) and viou_sum / len(predicted) >= settings.tau_st,
        predicted=len(predicted),
        true=len(true),
        false_positives=len(free_predicted),
        missed=len(free_true),
        pairs=pairs,
    )


def _sum(values: Iterable[float]) -> float:
    """The sum, one value after the other as in the official code; `sum` makes up for rounding from Python 3.12 on."""
    return reduce(operator.add, values, 0.0)


Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0, le=1_000_000)]


class _PairForm(LogForm):
    predicted: Count
    true: Count


class _GroundingForm(LogForm):
    temporal_recall: Share
    tiou_tp_only: Share
    im_tiou: Share
    st_recall: Share
    viou_tp_only: Share
    im_viou: Share
    supported: bool
    supported_strict: bool
    false_positives: Count
    pairs: list[_PairForm]


class _ReadingForm(LogForm):
    json_valid: bool
    schema_valid: bool
    recoverable: bool
    answered: str | None


class _BoxesForm(LogForm):
    convention: Annotated[BoxConvention, Field(strict=False)] | None = None
    seen: Annotated[list[Count], Field(min_length=2, max_length=2)] | None = None


class EvidenceFields(LogForm):
    """Fields of a record made by `grade_evidence` that the scores and pictures need."""

    grounding: _GroundingForm | None
    grounding_reason: str | None = None
    format: _ReadingForm
    matching: str | None = None
    boxes: _BoxesForm | None = None
    prompt: str | None = None


MEASURES = ("temporal_recall", "tiou_tp_only", "im_tiou", "st_recall", "viou_tp_only", "im_viou")
"""The measures of a grounding that are shares, and scores."""
TITLES = {"im_tiou": "IM-tIoU", "im_viou": "IM-vIoU", "grounding_unscored_rate": "grounding unscored"}
LOWER_IS_BETTER = ("spurious", "false_positives", "grounding_unscored_rate")


def _diagnostic_accuracy(record: Record) -> float | None:
    return None if record.correct is None else percent(record.fields["format"]["answered"] == record.expected)


def _supported(measure: str, wanted: bool, record: Record) -> float | None:
    """Whether the answer is right, and its evidence supports it or does not; unscored where either is."""
    grounding = record.fields["grounding"]
    if record.correct is None or grounding is None:
        return None
    return 100.0 * (record.correct and grounding[measure] is wanted)


def _grounded(measure: str, factor: float, record: Record) -> float | None:
    grounding = record.fields["grounding"]
    return factor * grounding[measure] if grounding else None


def _formed(rule: str, record: Record) -> float | None:
    return 100.0 * record.fields["format"][rule] if record.asked else None


def _metric(name: str, value: Callable[[Record], float | None]) -> Metric:
    title = TITLES.get(name, name.replace("_", " "))
    return Metric(name, title, value, errors="plain", higher_is_better=name not in LOWER_IS_BETTER)


EVIDENCE_SCORES = {
    "accuracy": replace(_metric("accuracy", lambda record: percent(record.correct)), errors="clustered"),
    "faithful": _metric("faithful", partial(_supported, "supported", True)),
    "spurious": _metric("spurious", partial(_supported, "supported", False)),
    "faithful_strict": _metric("faithful_strict", partial(_supported, "supported_strict", True)),
    **{name: _metric(name, partial(_grounded, name, 100.0)) for name in MEASURES},
    "false_positives": replace(
        _metric("false_positives", partial(_grounded, "false_positives", 1.0)), unit="", value_bounds=None
    ),
}
"""CaST-Bench's scores of answers and their evidence by name: ``accuracy``, ``faithful``, ``spurious`` and
``faithful_strict`` of the answer, then the measures of the evidence, from ``temporal_recall`` to ``im_viou``."""

EVIDENCE_FORMAT = (
    *(_metric(f"{rule}_rate", partial(_formed, rule)) for rule in ("json_valid", "schema_valid", "recoverable")),
    _metric("accuracy_diagnostic", _diagnostic_accuracy),
    _metric("grounding_unscored_rate", lambda record: 100.0 * (record.fields["grounding"] is None)),
)
"""What was lost to the form of answers: percent of valid ones, and of those whose evidence cannot be graded."""


@dataclass(frozen=True)
class EvidenceQuestion:
    """A question that asks for an option and its evidence, as grading needs it.

    Attributes:
        item_id: Stable id.
        group_id: The questions that belong together, such as those about one clip.
        stratum: Names and values by which scores are broken down.
        answer: Upper-case letter, None where it is withheld.
        truth: True instances, boxes in pixels.
        letters: Letters of its options.
        frame: Width and height of the clip, None where unknown.
        seen: Width and height of the frame that the model was shown, for ``xyxy_resized``; None where unknown.
    """

    item_id: str
    group_id: str
    stratum: Mapping[str, str]
    answer: str | None
    truth: tuple[EvidenceInstance, ...]
    letters: str = "ABCDEF"
    frame: tuple[int, int] | None = None
    seen: tuple[int, int] | None = None


def grade_evidence(
    question: EvidenceQuestion,
    said: object,
    settings: GroundingSettings = DEFAULTS,
    convention: BoxConvention = BoxConvention.XYXY_PX,
) -> Record:
    """Grade one reply.

    The answer and the grounding are those that CaST-Bench's official evaluator reads. The grounding is unscored, and
    the answer still scored, where there are boxes that need the size of a frame that is not known.

    Args:
        question: What was asked, with the truth.
        said: What came back, or its text; anything else is read as an empty text.
        settings: How instances are matched.
        convention: How the model writes boxes.

    Returns:
        The record. Its fields: ``grounding_reason`` (why unscored, None where scored), ``grounding`` (measures in 0-1
        and counts, None where unscored), ``matching`` (the rule), ``boxes`` (the convention, and where it matters the
        size of the frame that the model was shown) and ``format``.
    """
    reply = as_reply(said)
    prediction = read_evidence_answer(reply.text)
    diagnosis = prediction.diagnose(question.letters)
    missing = reply.missing and reply.missing.value
    grounding_reason = missing or _grounding_reason(question, prediction.instances, convention)
    grounding: dict[str, Any] | None = None
    if grounding_reason is None:
        predicted = [one.timeline(convention, question.frame, question.seen) for one in prediction.instances]
        measures = ground_evidence(predicted, [instance.timeline() for instance in question.truth], settings)
        grounding = {**vars(measures), "pairs": [vars(pair) for pair in measures.pairs]}
    record = Record.graded(
        question.item_id,
        question.group_id,
        dict(question.stratum),
        question.answer,
        prediction.answer,
        missing=reply.missing,
        fields={
            "grounding_reason": grounding_reason,
            "grounding": grounding,
            "matching": settings.rule,
            "boxes": {"convention": convention.value, "seen": list(question.seen) if question.seen else None},
            "format": {
                "json_valid": diagnosis.json_valid,
                "schema_valid": diagnosis.schema_valid,
                "recoverable": diagnosis.answer is not None,
                "answered": diagnosis.answer,
            },
        },
    )
    if record.outcome is not Outcome.UNPARSED:
        return record
    why = why_unread(reply) or UnparsedReason.NO_OPTION
    return replace(record, detail=diagnosis.unread, unparsed_reason=why)


def _grounding_reason(
    question: EvidenceQuestion, predicted: Sequence[EvidenceInstance], convention: BoxConvention
) -> str | None:
    has_boxes = any(evidence.boxes for instance in predicted for evidence in instance.evidences)
    if convention.can_convert(question.frame, question.seen) or not has_boxes:
        return None
    size = "frame" if question.frame is None else "frame that the model was shown"
    return f"{convention.value} boxes, size of the {size} unknown"


MIN_BOXES = 20
"""With fewer boxes nothing is suspected."""
MOST = 0.5
"""With a larger share of boxes outside their frames, the declared convention is suspect."""
OUTSIDE_MARGIN = 0.05
"""Share of the frame's size by which a box may leave it; models overshoot edges a little."""
SHARP_FACTOR, SHARP_STEP = 1.5, 0.1
"""Mean IoU rises sharply where it grows by this factor and by this much."""

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
    """Compare a run's boxes with the frames, and with the true boxes under every convention that can be tried.

    Conventions are tried on a clip of unknown size as if it reached as far as its true boxes do. Nothing is scored so.
    """
    answers = list(answers)
    extents = _extents(question for question, _ in answers)
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
                pixels = _convert(box, convention, question.frame or extents.get(question.group_id), question.seen)
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


def _extents(questions: Iterable[EvidenceQuestion]) -> dict[str, FrameSize]:
    """Return how far to the right and down the true boxes of each group reach, whose questions are about one clip.

    A frame that is assumed alike for all clips would hide that boxes are normalised: upright clips, and those of
    another resolution, would fit no better when read so.
    """
    extents: dict[str, FrameSize] = {}
    for question in questions:
        for _, (_, _, right, bottom) in _boxes(question.truth):
            width, height = extents.get(question.group_id, (1, 1))
            extents[question.group_id] = max(width, math.ceil(right)), max(height, math.ceil(bottom))
    return extents


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
    """Warnings where boxes look as if they were written in another convention, and where a size that they need lacks.

    They look so where most of them leave their frames, or where another convention raises their mean IoU with true
    boxes of the same second by half and by 0.1 at least. With fewer than 20 boxes nothing is suspected. A clip of
    unknown size is taken to end with its true boxes for this comparison alone.

    Args:
        title: The benchmark's.
        answers: The questions, each with its predicted instances, boxes as written.
        declared: The convention in which the run is scored.

    Returns:
        Messages for the user.
    """
    answers = list(answers)
    return [*_suspicion(title, diagnose_convention(answers, declared), declared), *_lacks(title, answers, declared)]


def _lacks(title: str, answers: Answers, declared: BoxConvention) -> list[str]:
    """Return what is needed to score the grounding of questions that lack a size; empty if none does."""
    reasons = [_grounding_reason(question, instances, declared) for question, instances in answers]
    lacking = sum(reason not in (None, UnscoredReason.NO_CLIP.value) for reason in reasons)
    if not lacking:
        return []
    needs = (
        f"the size of the frames that the model was shown. Name the pixels that its adapter allowed: {BOXES}={EXAMPLE}"
        if declared is BoxConvention.XYXY_RESIZED and all(question.frame for question, _ in answers)
        else f"the size of each clip. Prepare the benchmark with its clips, then score the responses again with "
        f"{BOXES}={declared.value}"
    )
    counted = f"The grounding of {lacking:,} of {len(reasons):,} questions is not scored"
    return [f"{title}: {counted}, and their answers are: {declared.value} boxes need {needs}."]


def _suspicion(title: str, diagnosis: ConventionDiagnosis, declared: BoxConvention) -> list[str]:
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
            assumed = ", and clips of unknown size as if they ended with their true boxes"
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
        rematched: Whether it chose how instances are matched.
    """

    prompt: Prompt
    convention: BoxConvention = BoxConvention.XYXY_PX
    limits: PixelLimits | None = None
    hits: GroundingSettings = DEFAULTS
    logged_sizes: Mapping[FrameSize, FrameSize] | None = None
    overridden: bool = False
    rematched: bool = False

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

    def as_logged(
        self,
        logged: Iterable[tuple[FrameSize, Mapping[str, Any]]],
        rules: Iterable[str] = (),
        hits: Iterable[Mapping[str, Any]] = (),
    ) -> EvidenceSettings:
        """The same with boxes read and evidence matched as the log of a finished run says, where the environment does
        not choose.

        Args:
            logged: Of each item the width and height of its clip, and the field ``boxes`` of its record: ``convention``
                and ``seen``, as far as it has them.
            rules: The field ``matching`` of each record that has it.
            hits: The fields of `GroundingSettings` of each item that has them.

        Raises:
            InputError: where a log says several, which no run has.
        """
        items = list(logged)
        conventions = sorted({str(boxes["convention"]) for _, boxes in items if boxes.get("convention")})
        counted = {GroundingSettings(**one) for one in hits} or {self.hits.by_rule(one) for one in set(rules)}
        several = [conventions, sorted(one.rule for one in counted)]
        if wrong := [", ".join(names) for names in several if len(names) > 1]:
            raise InputError(f"Expected one convention of boxes and one matching in a log, but got {'; '.join(wrong)}.")
        settings = self
        for found in counted:
            settings = replace(settings, hits=found.by_rule(self.hits.rule) if self.rematched else found)
        if self.overridden or not conventions:
            return settings
        sizes = {frame: (boxes["seen"][0], boxes["seen"][1]) for frame, boxes in items if boxes.get("seen")}
        return replace(settings, convention=BoxConvention(conventions[0]), logged_sizes=sizes)


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
    rematched = bool(environment.get(MATCHING))
    return EvidenceSettings(prompt, convention, limits, hits, overridden=bool(overridden), rematched=rematched)


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

"""Options with their evidence in time and space: grounding measures, the record of a question, and the scores."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Annotated, Any

from pydantic import Field

from lmms_eval_tasks.utils.answers.evidence_boxes import BoxConvention, EvidenceInstance, Timeline, box_iou
from lmms_eval_tasks.utils.answers.evidence_reading import read_evidence_answer
from lmms_eval_tasks.utils.scoring.metrics import Metric, percent
from lmms_eval_tasks.utils.scoring.record import LogForm, Outcome, Record, UnscoredReason


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
        asked: Whether the model was shown the clip.
    """

    item_id: str
    group_id: str
    stratum: Mapping[str, str]
    answer: str | None
    truth: tuple[EvidenceInstance, ...]
    letters: str = "ABCDEF"
    frame: tuple[int, int] | None = None
    seen: tuple[int, int] | None = None
    asked: bool = True


def grade_evidence(
    question: EvidenceQuestion,
    response: object,
    settings: GroundingSettings = DEFAULTS,
    convention: BoxConvention = BoxConvention.XYXY_PX,
) -> Record:
    """Grade one response.

    The answer and the grounding are those that CaST-Bench's official evaluator reads. The grounding is unscored, and
    the answer still scored, where there are boxes that need the size of a frame that is not known.

    Args:
        question: What was asked, with the truth.
        response: What the model returned; anything but text is read as an empty text.
        settings: How instances are matched.
        convention: How the model writes boxes.

    Returns:
        The record. Its fields: ``grounding_reason`` (why unscored, None where scored), ``grounding`` (measures in 0-1
        and counts, None where unscored), ``matching`` (the rule), ``boxes`` (the convention, and where it matters the
        size of the frame that the model was shown) and ``format``.
    """
    prediction = read_evidence_answer(response if isinstance(response, str) else "")
    diagnosis = prediction.diagnose(question.letters)
    grounding_reason = _grounding_reason(question, prediction.instances, convention)
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
        asked=question.asked,
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
    return replace(record, detail=prediction.unread) if record.outcome is Outcome.UNPARSED else record


def _grounding_reason(
    question: EvidenceQuestion, predicted: Sequence[EvidenceInstance], convention: BoxConvention
) -> str | None:
    if not question.asked:
        return UnscoredReason.NO_CLIP.value
    has_boxes = any(evidence.boxes for instance in predicted for evidence in instance.evidences)
    if convention.can_convert(question.frame, question.seen) or not has_boxes:
        return None
    size = "frame" if question.frame is None else "frame that the model was shown"
    return f"{convention.value} boxes, size of the {size} unknown"

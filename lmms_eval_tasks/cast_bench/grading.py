"""Grading CaST-Bench: the record of one question, and the official evaluator's files.

Our scores are percent. The official names, fractions and file shapes are in `official_overall` and
`official_per_question`. Every mean is over questions (macro over questions, as in the official evaluator).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from lmms_eval_tasks.utils.evidence.boxes import Convention, Frame
from lmms_eval_tasks.utils.evidence.grounding import DEFAULTS, Grounding, Settings, build_timelines, ground
from lmms_eval_tasks.utils.evidence.reader import LETTERS, Diagnosis, Instance, Prediction, mean_box_area, read_both
from lmms_eval_tasks.utils.scoring.records import Outcome, Record, UnscoredReason

SMALL_BOX_AREA = 10_000
"""A question is about small things where its true boxes have a smaller mean area, in square pixels.

Source: ``bbox_threshold`` in CaST-Bench-Evaluation@a216491, `evaluate_benchmark.py`.
"""

GROUNDING_METRICS = {
    "temporal_recall": "qa_temporal_r1_tau",
    "tiou_tp_only": "qa_temporal_m_tiou_tponly",
    "im_tiou": "qa_temporal_m_tiou_pergt",
    "st_recall": "qa_st_r1_tau_st",
    "viou_tp_only": "qa_st_m_viou_tponly",
    "im_viou": "qa_st_m_viou_pergt",
}
"""Our name of each grounding metric, and the official one."""

ANSWER_METRICS = {
    "accuracy": "qa_accuracy",
    "faithful": "qa_faithful_answer_accuracy",
    "spurious": "qa_spurious_answer_rate",
}
"""Our name of each metric of the answer, and the official one."""


@dataclass(frozen=True)
class Question:
    """One question of the release, as scoring needs it.

    Attributes:
        item_id: Stable id.
        clip: Group of the questions about one clip.
        category: Category of the taxonomy.
        answer: Upper-case letter, None where it is withheld.
        truth: True instances, boxes in pixels.
        letters: Letters of its options.
        frame: Width and height of the clip, None where unknown.
        seen: Width and height of the frame that the model was shown, for ``xyxy_resized``; None where unknown.
        asked: Whether the model was shown the clip.
    """

    item_id: str
    clip: str
    category: str
    answer: str | None
    truth: tuple[Instance, ...]
    letters: str = LETTERS
    frame: Frame | None = None
    seen: Frame | None = None
    asked: bool = True


def score_question(
    question: Question,
    response: object,
    settings: Settings = DEFAULTS,
    convention: Convention = Convention.XYXY_PX,
) -> Record:
    """Grade one response: `score_questions` of one."""
    return next(score_questions([(question, response)], settings, convention))


def score_questions(
    cases: Iterable[tuple[Question, object]],
    settings: Settings = DEFAULTS,
    convention: Convention = Convention.XYXY_PX,
) -> Iterator[Record]:
    """Grade the responses of a run, a few dozen at a time.

    The answer and the grounding are those of the official reading. The grounding is unscored, and the answer still
    scored, where there are boxes that need the size of a frame that is not known.

    Args:
        cases: What was asked, with the truth, and what the model returned; anything but text says nothing.
        settings: How instances are matched.
        convention: How the model writes boxes.

    Yields:
        The record of each question. Its fields: ``grounding_reason`` (why unscored, None where scored), ``grounding``
        (measures in 0-1 and counts, None where unscored), ``boxes`` (the convention, and where it matters the size of
        the frame that the model was shown) and ``format``.
    """
    remaining = iter(cases)
    while chunk := list(islice(remaining, _CHUNK)):
        yield from _score_chunk(chunk, settings, convention)


def _score_chunk(cases: Sequence[tuple[Question, object]], settings: Settings, convention: Convention) -> list[Record]:
    readings = [
        read_both(response if isinstance(response, str) else "", question.letters) for question, response in cases
    ]
    blocked = [
        _grounding_reason(question, prediction, convention)
        for (question, _), (prediction, _) in zip(cases, readings, strict=True)
    ]
    scored = [index for index, reason in enumerate(blocked) if reason is None]
    predicted = build_timelines(
        [readings[index][0].instances for index in scored],
        convention,
        [cases[index][0].frame or _NO_FRAME for index in scored],
        [cases[index][0].seen or _NO_FRAME for index in scored],
    )
    true = build_timelines([cases[index][0].truth for index in scored])
    groundings = dict(zip(scored, ground(predicted, true, settings), strict=True))
    return [
        _record(question, *readings[index], convention, blocked[index], groundings.get(index))
        for index, (question, _) in enumerate(cases)
    ]


def _grounding_reason(question: Question, prediction: Prediction, convention: Convention) -> str | None:
    if not question.asked:
        return UnscoredReason.NO_CLIP.value
    if convention.can_convert(question.frame, question.seen) or not _has_boxes(prediction):
        return None
    size = "frame" if question.frame is None else "frame that the model was shown"
    return f"{convention.value} boxes, size of the {size} unknown"


def _record(
    question: Question,
    prediction: Prediction,
    diagnosis: Diagnosis,
    convention: Convention,
    grounding_reason: str | None,
    grounding: Grounding | None,
) -> Record:
    reason = None
    if not question.asked:
        reason = UnscoredReason.NO_CLIP
    elif not question.answer:
        reason = UnscoredReason.NO_KEY
    if reason:
        outcome = Outcome.UNSCORED
    elif prediction.answer is None:
        outcome = Outcome.UNPARSED
    else:
        outcome = Outcome.CORRECT if prediction.answer == question.answer else Outcome.WRONG
    return Record(
        item_id=question.item_id,
        group_id=question.clip,
        stratum={
            "category": question.category,
            "size": "small" if mean_box_area(question.truth) < SMALL_BOX_AREA else "large",
        },
        expected=question.answer,
        answered=prediction.answer,
        outcome=outcome,
        unscored_reason=reason,
        fields={
            "grounding_reason": grounding_reason,
            "grounding": None if grounding is None else _grounding_json(grounding),
            "boxes": {"convention": convention.value, "seen": list(question.seen) if question.seen else None},
            "format": {
                "json_valid": diagnosis.json_valid,
                "schema_valid": diagnosis.schema_valid,
                "recoverable": diagnosis.recoverable,
                "answered": diagnosis.prediction.answer,
            },
        },
    )


def question_score(name: str, record: Record) -> float | None:
    """What one question contributes to a score: percent, a count of false positives; None where it cannot be said.

    A right answer is faithful where it is supported and spurious where it is not; with the grounding unscored it is
    neither, and so unscored.

    Raises:
        KeyError: there is no score of that name.
    """
    right = record.correct
    grounding: Mapping[str, Any] | None = record.fields["grounding"]
    form: Mapping[str, Any] = record.fields["format"]
    if name in GROUNDING_METRICS:
        return 100.0 * grounding[name] if grounding else None
    if name == "false_positives":
        return float(grounding["false_positives"]) if grounding else None
    if name in _SUPPORT:
        key, supported = _SUPPORT[name]
        if right is None or grounding is None:
            return None
        return 100.0 * (right and bool(grounding[key]) is supported)
    if name in _FORMS:
        return 100.0 * form[_FORMS[name]] if record.asked else None
    correct = {"accuracy": bool(right), "accuracy_diagnostic": form["answered"] == record.expected}[name]
    return None if right is None else 100.0 * correct


_SUPPORT = {
    "faithful": ("supported", True),
    "spurious": ("supported", False),
    "faithful_strict": ("supported_strict", True),
}
_FORMS = {"json_valid_rate": "json_valid", "schema_valid_rate": "schema_valid", "recoverable_rate": "recoverable"}
QUESTION_SCORES = (
    "accuracy", *_SUPPORT, "false_positives", *_FORMS, "accuracy_diagnostic", *GROUNDING_METRICS,
)  # fmt: skip
"""Every name that `question_score` knows."""


def official_overall(
    records: Sequence[Record], settings: Settings, predictions: str, missing: int = 0
) -> dict[str, Any]:
    """A run in the shape of the official ``results_overall.json``: fractions, official names.

    Only questions whose answer and grounding are both scored are in it; ``n_qas`` says how many they are.

    Args:
        records: One per question.
        settings: With which they were scored.
        predictions: Path of the predictions, for the configuration.
        missing: Questions without a prediction.
    """
    scored = [record for record in records if _is_whole(record)]
    rows = [_official_scores(record) for record in scored]
    return {
        "overall_per_qa": {
            "n_qas": len(rows),
            **{name: _mean([row[name] for row in rows]) or 0.0 for name in _OFFICIAL_NAMES},
        },
        "missing_pred_files": missing,
        "config": {
            "eps_overlap": settings.eps_overlap,
            "tau_t": settings.tau_t,
            "tau_st": settings.tau_st,
            "use_coverage_aware_score": settings.coverage_aware,
            "pred_path": predictions,
        },
    }


def official_per_question(record: Record) -> dict[str, Any]:
    """One question in the shape of the official ``results_per_qa.json``.

    Raises:
        ValueError: where its answer or its grounding is unscored.
    """
    if not _is_whole(record):
        raise ValueError(f"Expected a scored question but got {record.item_id}: {record.fields['grounding_reason']}.")
    scores, grounding = _official_scores(record), record.fields["grounding"]
    return {
        "video_id": record.group_id,
        "qa_id": record.item_id,
        "temporal": {
            "r1_tau": grounding["temporal_recall"],
            "m_tiou_tponly": grounding["tiou_tp_only"],
            "m_tiou_pergt": grounding["im_tiou"],
        },
        "spatiotemporal": {
            "r1_tau_st": grounding["st_recall"],
            "m_viou_tponly": grounding["viou_tp_only"],
            "m_viou_pergt": grounding["im_viou"],
        },
        "tp": len(grounding["pairs"]),
        "fp": grounding["false_positives"],
        "fn": grounding["missed"],
        "qa6": {
            "qa_accuracy": scores["qa_accuracy"],
            "temporal_grounding_accuracy": grounding["temporal_recall"],
            "spatiotemporal_grounding_accuracy": grounding["st_recall"],
            "faithful_answer_accuracy": scores["qa_faithful_answer_accuracy"],
            "spurious_answer_rate": scores["qa_spurious_answer_rate"],
        },
    }


_CHUNK = 64
_NO_FRAME = (0, 0)  # stands beside questions without boxes
_OFFICIAL_NAMES = (*GROUNDING_METRICS.values(), *ANSWER_METRICS.values())


def _official_scores(record: Record) -> dict[str, float]:
    grounding = record.fields["grounding"]
    right = bool(record.correct)
    return {
        **{official: grounding[name] for name, official in GROUNDING_METRICS.items()},
        "qa_accuracy": float(right),
        "qa_faithful_answer_accuracy": float(right and grounding["supported"]),
        "qa_spurious_answer_rate": float(right and not grounding["supported"]),
    }


def _is_whole(record: Record) -> bool:
    return record.correct is not None and record.fields["grounding"] is not None


def _has_boxes(prediction: Prediction) -> bool:
    return any(evidence.boxes for instance in prediction.instances for evidence in instance.evidences)


def _grounding_json(grounding: Grounding) -> dict[str, Any]:
    return {
        "temporal_recall": grounding.temporal_recall,
        "tiou_tp_only": grounding.tiou_tp_only,
        "im_tiou": grounding.im_tiou,
        "st_recall": grounding.st_recall,
        "viou_tp_only": grounding.viou_tp_only,
        "im_viou": grounding.im_viou,
        "supported": grounding.supported,
        "supported_strict": grounding.supported_strict,
        "predicted": grounding.predicted,
        "true": grounding.true,
        "false_positives": grounding.false_positives,
        "missed": grounding.missed,
        "pairs": [
            {"predicted": pair.predicted, "true": pair.true, "tiou": pair.tiou, "viou": pair.viou}
            for pair in grounding.pairs
        ],
    }


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None

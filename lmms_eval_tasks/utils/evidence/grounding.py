"""Spatio-temporal grounding: how well predicted evidence covers the true one in time and space."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from lmms_eval_tasks.utils.evidence.boxes import box_iou
from lmms_eval_tasks.utils.evidence.instances import Timeline


@dataclass(frozen=True)
class GroundingSettings:
    """How predicted and true instances are matched, and what counts as a hit.

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
        """How instances are matched: the name in `MATCHINGS`, else in words."""
        chosen = self.eps_overlap, self.coverage_aware
        score = "tIoU × mean sIoU" if self.coverage_aware else "mean sIoU"
        return next((name for name, rule in MATCHINGS.items() if rule == chosen), f"{score} from {chosen[0]} s on")


MATCHINGS = {"script": (2, False), "supplement": (1, True)}
"""The rules of matching by name, each with `eps_overlap` and `coverage_aware`: the run script's, and that of the
supplement, 12.1: by tIoU × mean sIoU until no pair with a positive overlap is left."""
DEFAULTS = GroundingSettings()


@dataclass(frozen=True)
class Pair:
    """A predicted and a true instance that were matched."""

    predicted: int
    true: int
    tiou: float
    viou: float


@dataclass(frozen=True)
class Grounding:
    """Grounding of one question, every measure in 0-1; a record holds these fields in this order.

    Attributes:
        temporal_recall: Share of true instances matched with tIoU of at least tau_t.
        tiou_tp_only: Mean tIoU of the pairs, 0 without one.
        im_tiou: Sum of tIoU over the true instances' number (at least 1).
        st_recall: Share of true instances matched with vIoU of at least tau_st.
        viou_tp_only: Mean vIoU of the pairs, 0 without one.
        im_viou: Sum of vIoU over the true instances' number (at least 1).
        supported: Whether any pair has vIoU of at least tau_st: today's official "faithful", given a right answer.
        supported_strict: Whether the mean vIoU of all predicted instances, 0 for an unmatched one, is at least tau_st:
            the README's definition. False without a predicted instance.
        predicted: Number of predicted instances.
        true: Number of true instances.
        false_positives: Predicted instances that match no true one.
        missed: True instances that no prediction matches.
        pairs: Matched instances, in the order in which they were matched.
    """

    temporal_recall: float
    tiou_tp_only: float
    im_tiou: float
    st_recall: float
    viou_tp_only: float
    im_viou: float
    supported: bool
    supported_strict: bool
    predicted: int
    true: int
    false_positives: int
    missed: int
    pairs: list[Pair]


def temporal_iou(predicted: Timeline, true: Timeline) -> tuple[int, float]:
    """Overlap in time of two instances."""
    shared = max(min(predicted.end, true.end) - max(predicted.start, true.start) + 1, 0)
    hull = max(predicted.end, true.end) - min(predicted.start, true.start) + 1
    return shared, shared / max(hull, 1)


def ground_evidence(
    predicted: Sequence[Timeline], true: Sequence[Timeline], settings: GroundingSettings = DEFAULTS
) -> Grounding:
    """All grounding measures of one question."""
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
    """The sum, one value after the other as in the official code, so that what ties there ties here.

    `sum` makes up for rounding from Python 3.12 on.
    """
    return reduce(operator.add, values, 0.0)

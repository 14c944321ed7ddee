"""CaST-Bench records and scores: what is unscored stays out and is counted, what is scored adds up."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from metric_scores import score_all

from lmms_eval_tasks.api.evidence import EVIDENCE_FORMAT, EVIDENCE_SCORES, EvidenceQuestion, grade_evidence
from lmms_eval_tasks.cast_bench.card import CATEGORIES, METRICS
from lmms_eval_tasks.cast_bench.hooks import evidence_question, mean_box_area
from lmms_eval_tasks.cast_bench.submission import ANSWER_METRICS, GROUNDING_METRICS, official_metrics, official_overall
from lmms_eval_tasks.utils.answers.evidence import DEFAULTS
from lmms_eval_tasks.utils.answers.evidence_boxes import BoxConvention, EvidenceInstance
from lmms_eval_tasks.utils.answers.evidence_reading import read_truth
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

WHOLE = {metric.name: metric for metric in (*EVIDENCE_SCORES.values(), *EVIDENCE_FORMAT)}
"""The scores of all questions that a question contributes to, whatever its category."""


def question_scores(record: Record) -> dict[str, float | None]:
    return {name: metric.value(record) for name, metric in WHOLE.items()}


def truth(box: str = "[0, 0, 200, 200]") -> tuple[EvidenceInstance, ...]:
    times = {"evidence_start_time": "00:00", "evidence_end_time": "00:02"}
    boxes = {str(second): box for second in range(3)}
    return read_truth([{"evidence_instance_id": "p", "bboxes_in_range": boxes, **times}])


def response(answer: str = "A", box: object = (0, 0, 200, 200), things: int = 1) -> str:
    evidence = {
        "evidence_start_time": "00:00",
        "evidence_end_time": "00:02",
        "evidence_rationale": "r",
        "bboxes_in_time_range": {f"00:0{second}": box for second in range(3)},
    }
    said = {"instances": [{"instance_name": "p", "evidences": [evidence]}] * things, "answer_choice": answer}
    return json.dumps(said)


def question(**changes: Any) -> EvidenceQuestion:
    facts = {"item_id": "q", "clip": "sav_1", "category": "why", "subtype": "why", "answer": "A", "truth": truth()}
    return evidence_question(**{**facts, **changes})


def test_a_perfect_response_and_its_record_in_json() -> None:
    record = grade_evidence(question(), response())
    assert record.outcome is Outcome.CORRECT
    assert record.stratum == {"category": "why", "subtype": "why", "size": "large"}
    scores = question_scores(record)
    assert set(scores) <= {metric.name for metric in METRICS}
    none = {"spurious": 0, "false_positives": 0, "grounding_unscored_rate": 0}
    assert {name: value for name, value in scores.items() if value != 100} == none
    two = grade_evidence(question(), response(things=2))
    again = Record.from_json(json.loads(json.dumps(two.to_json())))
    assert question_scores(again) == question_scores(two)


def test_small_boxes_have_less_than_ten_thousand_square_pixels() -> None:
    for box, size in (("[0, 0, 99, 101]", "small"), ("[0, 0, 100, 100]", "large")):
        assert grade_evidence(question(truth=truth(box)), "").stratum["size"] == size
    assert mean_box_area(truth("[0, 0, 10, 20]")) == 200 and mean_box_area([]) == 0


@pytest.mark.parametrize("said", ["", "no idea", None, 5, "{}"])
def test_a_response_that_says_nothing_is_unparsed_and_scores_zero(said: object) -> None:
    record = grade_evidence(question(), said)
    scores = question_scores(record)
    assert record.outcome is Outcome.UNPARSED
    assert (scores["accuracy"], scores["im_viou"], scores["recoverable_rate"]) == (0, 0, 0)


def test_what_format_costs() -> None:
    records = [grade_evidence(question(), said) for said in ("I'd say: answer: A", response())]
    scores = score_all(METRICS, records)
    assert (scores["accuracy"], scores["accuracy_diagnostic"], scores["json_valid_rate"]) == (50, 100, 50)
    assert set(score_all(METRICS, []).values()) == {None}


@pytest.mark.parametrize("convention", [BoxConvention.XYXY_N1000, BoxConvention.YXYX_N1000, BoxConvention.XYXY_RESIZED])
def test_boxes_without_a_size_are_unscored_and_the_answer_is_not(convention: BoxConvention) -> None:
    record = grade_evidence(question(), response(), convention=convention)
    assert record.outcome is Outcome.CORRECT and record.fields["grounding"] is None
    assert record.fields["grounding_reason"] == f"{convention.value} boxes, size of the frame unknown"
    scores = question_scores(record)
    assert scores["accuracy"] == 100
    assert {scores[name] for name in (*GROUNDING_METRICS, "faithful", "spurious", "faithful_strict")} == {None}
    total = score_all(METRICS, [record, grade_evidence(question(), response())])
    assert (total["grounding_unscored_rate"], total["unscored_rate"], total["im_viou"]) == (50, 0, 100)
    # Without boxes no size is needed.
    plain = grade_evidence(question(), '{"answer_choice": "A"}', convention=convention)
    assert question_scores(plain)["spurious"] == 100


@pytest.mark.parametrize(
    ("convention", "frame", "seen", "shown"),
    [
        (BoxConvention.XYXY_N1000, (1000, 1000), None, (1000, 1000)),
        (BoxConvention.XYXY_N1000, (2000, 500), None, (1000, 1000)),
        (BoxConvention.XYXY_RESIZED, (1000, 1000), (500, 250), (500, 250)),
        (BoxConvention.XYXY_RESIZED, (2000, 500), (1000, 250), (1000, 250)),
        (BoxConvention.XYXY_RESIZED, (2000, 500), None, None),
    ],
)
def test_sizes_belong_to_their_own_question(convention: BoxConvention, frame: Any, seen: Any, shown: Any) -> None:
    width, height = shown or frame
    said = response(box=[0, 0, 200 * width / frame[0], 200 * height / frame[1]])
    record = grade_evidence(question(frame=frame, seen=seen), said, convention=convention)
    assert question_scores(record)["im_viou"] == (100 if shown else None)
    reason = "xyxy_resized boxes, size of the frame that the model was shown unknown"
    assert shown or record.fields["grounding_reason"] == reason


@pytest.mark.parametrize(("changes", "reason"), [({"asked": False}, "no clip"), ({"answer": None}, "no answer key")])
def test_what_could_not_be_asked_or_graded_is_unscored(changes: dict[str, Any], reason: str) -> None:
    record = grade_evidence(question(**changes), response())
    scores = question_scores(record)
    assert (record.outcome, record.why) == (Outcome.UNSCORED, reason)
    assert scores["accuracy"] is scores["faithful"] is scores["accuracy_diagnostic"] is None
    for name in ("im_viou", "json_valid_rate"):
        assert (scores[name] is None) == (reason == "no clip")
    assert official_metrics(record) is None
    assert official_overall([record], DEFAULTS, "p.jsonl")["overall_per_qa"]["n_qas"] == 0


def test_the_scores_of_many_questions_add_up() -> None:
    randomly, records = random.Random(0), []
    for index in range(300):
        edge = randomly.randrange(50, 400)
        said = response(randomly.choice("ABC"), [0, 0, edge, edge], randomly.randrange(3))
        records.append(grade_evidence(question(item_id=str(index), category=randomly.choice(CATEGORIES[:2])), said))
    total = score_all(METRICS, records)
    assert score_all(METRICS, records[::-1]) == pytest.approx(total)
    # Categories add up to the whole.
    members = {value: [one for one in records if one.stratum["category"] == value] for value in CATEGORIES[:2]}
    parts = {value: score_all(METRICS, some) for value, some in members.items()}
    for name in WHOLE:
        weighted = sum((part[name] or 0) * len(members[value]) for value, part in parts.items())
        assert weighted / 300 == pytest.approx(total[name]), name
    for name in EVIDENCE_SCORES:
        assert [total[f"{name}_{value}"] for value in parts] == [part[name] for part in parts.values()], name
    # What is right is faithful or spurious.
    assert total["faithful"] + total["spurious"] == pytest.approx(total["accuracy"])
    assert 0 < total["faithful_strict"] <= total["faithful"]
    # Official numbers are ours as fractions.
    official = official_overall(records, DEFAULTS, "p.jsonl", missing=3)
    for name, official_name in {**ANSWER_METRICS, **GROUNDING_METRICS}.items():
        assert official["overall_per_qa"][official_name] == pytest.approx(total[name] / 100), name
    assert official["missing_pred_files"] == 3
    assert official["config"] == {
        "eps_overlap": 2, "tau_t": 0.5, "tau_st": 0.1, "use_coverage_aware_score": False, "pred_path": "p.jsonl",
    }  # fmt: skip


def test_an_answer_of_any_length_is_counted_as_what_it_is() -> None:
    long = grade_evidence(question(), response(things=1_000))
    assert (long.outcome, long.answered) == (Outcome.UNPARSED, None)
    assert long.detail == "the answer object has more than 100,000 characters and was not read"
    assert long.fields["format"]["json_valid"] is False and long.fields["grounding"]["predicted"] == 0
    assert grade_evidence(question(), response(things=100)).detail == ""
    assert grade_evidence(question(), "none").detail == ""

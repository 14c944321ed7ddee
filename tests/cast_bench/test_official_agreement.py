"""Agreement with the official evaluator on the public questions and two models' public predictions."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from cast_bench import answer_with_truth
from oracles import measurement, oracle_path, read_oracle

from lmms_eval_tasks.api.evidence import EVIDENCE_SCORES, grade_evidence
from lmms_eval_tasks.cast_bench.hooks import read_settings
from lmms_eval_tasks.cast_bench.submission import official_metrics, official_overall
from lmms_eval_tasks.utils.answers.evidence import GroundingSettings
from lmms_eval_tasks.utils.answers.evidence_boxes import BoxConvention
from lmms_eval_tasks.utils.scoring.record import Record

ORACLE = oracle_path("cast_bench")
EXPECTED = read_oracle("cast_bench", "expected.json")
Cases = list[tuple[dict[str, Any], str]]


@pytest.fixture(scope="module")
def plain() -> ModuleType:
    return measurement("cast_bench_scoring")


@pytest.fixture(scope="module")
def predictions(plain: ModuleType) -> dict[str, Cases]:
    cases = plain.load_cases(ORACLE)
    return {"sonnet-4.6": cases[:80], "qwen3vl-8b": cases[80:]}


def settings_of(run: dict[str, Any]) -> tuple[GroundingSettings, BoxConvention]:
    used = run["settings"]
    settings = GroundingSettings(used["eps_overlap"], used["tau_t"], used["tau_st"], used["use_coverage_aware_score"])
    return settings, BoxConvention(used["bbox_format"])


def score(plain: ModuleType, cases: Cases, settings: GroundingSettings, convention: BoxConvention) -> list[Record]:
    return [
        grade_evidence(plain.our_question(str(index), row), text, settings, convention)
        for index, (row, text) in enumerate(cases)
    ]


def counts(record: Record) -> dict[str, int]:
    """Of one question's instances, those matched, predicted in vain and missed, under their official names."""
    grounding = record.fields["grounding"]
    return {"tp": len(grounding["pairs"]), "fp": grounding["false_positives"], "fn": grounding["missed"]}


@pytest.mark.parametrize(
    "run", EXPECTED["runs"], ids=lambda run: f"{run['model']}-{list(run['settings'].values())[:5]}"
)
def test_every_official_metric_and_every_question(
    run: dict[str, Any], plain: ModuleType, predictions: dict[str, Cases]
) -> None:
    """The questions are scored by a second program, too."""
    settings, convention = settings_of(run)
    cases = predictions[run["model"]]
    records = score(plain, cases, settings, convention)
    assert official_overall(records, settings, "")["overall_per_qa"] == pytest.approx(run["overall_per_qa"], abs=1e-9)
    totals = {name: sum(counts(record)[name] for record in records) for name in ("tp", "fp", "fn")}
    assert totals == run.get("totals", totals)
    limits = (settings.eps_overlap, settings.tau_t, settings.tau_st, settings.coverage_aware)
    for record, (row, text) in zip(records, cases, strict=True):
        second = plain.plain_score(row, text, *limits, swapped=convention is BoxConvention.YXYX_PX)
        ours = official_metrics(record)
        assert ours is not None
        assert {**ours, **counts(record)} == pytest.approx(second, abs=1e-12), record.item_id


@pytest.mark.parametrize(
    ("model", "script", "supplement"),
    [("sonnet-4.6", (29.45, 7.93), (29.77, 8.01)), ("qwen3vl-8b", (12.46, 2.55), (12.92, 2.61))],
)
def test_the_supplements_rule_of_matching(
    model: str, script: tuple[float, float], supplement: tuple[float, float], plain: ModuleType,
    predictions: dict[str, Cases],
) -> None:  # fmt: skip
    """12.1, on the same answers; the first are the official script's numbers."""
    for name, expected in (("script", script), ("supplement", supplement)):
        settings = read_settings({"matching": name}, {}).hits
        records = score(plain, predictions[model], settings, BoxConvention.XYXY_PX)
        found = (EVIDENCE_SCORES[one].score_records(records) for one in ("im_tiou", "im_viou"))
        assert tuple(round(value or 0, 2) for value in found) == expected
        assert {record.fields["matching"] for record in records} == {name}


@pytest.mark.parametrize(("name", "eps"), [("eps1", 1), ("eps2", 2)])
def test_the_truth_as_prediction(name: str, eps: int, plain: ModuleType, predictions: dict[str, Cases]) -> None:
    cases = [(row, answer_with_truth(row)) for row, _ in predictions["sonnet-4.6"]]
    settings = GroundingSettings(eps_overlap=eps)
    overall = official_overall(score(plain, cases, settings, BoxConvention.XYXY_PX), settings, "")["overall_per_qa"]
    assert overall == pytest.approx(EXPECTED["gt_as_prediction_ceiling"][name], abs=1e-9)
    assert round(overall["qa_temporal_m_tiou_pergt"], 5) == 0.98542
    assert round(overall["qa_st_m_viou_pergt"], 5) == 0.96376

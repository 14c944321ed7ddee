"""Scores of CounterVQA on records: the paper's table, the floors of constants, pairs of opposite verdicts."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from countervqa_rows import row
from task_states import task_state

from lmms_eval_tasks.countervqa import hooks, report
from lmms_eval_tasks.countervqa.card import METRICS
from lmms_eval_tasks.utils.reporting.columns import RunRecords
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, UnscoredReason


@pytest.fixture(autouse=True)
def no_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LMMS_EVAL_TASKS_JUDGE", raising=False)


def grade(rows: list[dict[str, Any]], responses: list[Any]) -> list[Record]:
    state = task_state("countervqa")
    return [hooks.grade(row, response, state).record for row, response in zip(rows, responses, strict=True)]


def scores(records: list[Record]) -> dict[str, Any]:
    return {metric.name: metric.score_records(records) for metric in METRICS}


def test_each_cell_is_an_average_over_items_beside_its_floors() -> None:
    rows = [
        row(number, verdict, level, interaction)
        for number, (interaction, level, verdict) in enumerate(
            [
                *product(["H2H"], ["L1"], ["yes"] * 3), *product(["H2H"], ["L2"], ["no"]),
                *product(["H2O"], ["L2"], ["no"] * 2), *product(["H2O"], ["L3"], ["yes"] * 4),
            ]
        )
    ]  # fmt: skip
    found = scores(grade(rows, ["Yes."] * 4 + ["No."] * 2 + ["Yes.", "No.", "I cannot tell.", "yes"]))
    assert found["verdict_accuracy"] == pytest.approx(70) and found["verdict_accuracy_h2h"] == 75
    assert found["verdict_accuracy_h2h_l1"] == 100 and found["verdict_accuracy_h2h_l2"] == 0
    assert found["verdict_accuracy_l2"] == pytest.approx(200 / 3) and found["verdict_accuracy_h2o_l3"] == 50
    assert found["verdict_accuracy_h2o_l1"] is None
    assert found["always_yes"] == 70 and found["always_no"] == 30
    assert (found["always_yes_h2h"], found["always_no_l2"], found["always_yes_h2o_l3"]) == (75, 100, 100)
    assert found["balanced_accuracy"] == pytest.approx((500 / 7 + 200 / 3) / 2)
    assert found["unparsed_rate"] == 10 and found["yes_rate"] == pytest.approx(600 / 9)


@pytest.mark.parametrize("constant", ["yes", "no"])
def test_a_constant_scores_its_floor_half_when_balanced_and_no_pair(constant: str) -> None:
    rows = [
        row(number, ("yes", "no")[number % 2], level, interaction, paired=True, group_id=str(number // 2))
        for number, (level, interaction, _) in enumerate(product(("L1", "L2"), ("H2H", "H2O"), range(2)))
    ] + [row(99, "yes", "L3")]
    found = scores(grade(rows, [f"{constant.title()}, it is so."] * len(rows)))
    for name, score in found.items():
        if name.startswith(f"always_{constant}"):
            assert found[name.replace(f"always_{constant}", "verdict_accuracy")] == score
    assert (found["balanced_accuracy"], found["pair_accuracy"], found["pairs_scored"]) == (50, 0, 4)


def test_our_own_rules_are_counted_apart() -> None:
    rows = [row(1, "no", rule="adjacent_linked"), row(2, "yes", rule="adjacent_unlinked"), row(3, "yes")]
    found = scores(grade(rows, ["no", "no", "yes"]))
    assert found["verdict_accuracy"] == pytest.approx(200 / 3) and found["verdict_accuracy_paper_rules"] == 50


def test_what_was_not_asked_or_has_no_key_is_unscored() -> None:
    absent, keyless = grade([row(1, "yes", asked=False), row(2, None)], ["yes", "yes"])
    assert (absent.unscored_reason, keyless.unscored_reason) == (UnscoredReason.NO_CLIP, UnscoredReason.NO_KEY)
    (unread,) = grade([row(3, "yes")], [None])
    assert (unread.outcome, unread.answered) == (Outcome.UNPARSED, None)


def test_the_annotated_task_adds_the_timed_actions_to_the_prompt() -> None:
    plain, annotated = (task_state(name) for name in ("countervqa", "countervqa_annotated"))
    asked = row(1, "yes", clip_present=True)
    assert "Had {it} not?" in plain.doc_to_text(asked) and "hits" not in plain.doc_to_text(asked)
    assert "00:05 hits {it}\n" in annotated.doc_to_text(asked)
    assert "Had {it} not?" in annotated.doc_to_text(asked)


def test_the_report_has_the_papers_table_and_its_figures() -> None:
    run = RunRecords("1", "model", [grade([row(1, "yes"), row(2, "no", "L2", "H2O")], ["yes", "yes"])])
    titles = [panel.title for panel in report.panels("countervqa", [run])]
    assert titles[:2] == ["Verdicts by interaction and level", "Floors of a constant answer"]
    table = report.panels("countervqa", [run])[0].all_figures[0].table()
    assert table.headings == ("", "L1", "L2", "L3", "Avg")
    assert {"H2H", "H2O", "Total"} <= {row[0] for row in table.rows}
    first, *_ = report.references("countervqa", 2)
    assert {model.model: model.value for model in first.published}["Qwen-3-VL 8B + SFT + RL"] == 72.6
    assert len(first.published) == 9
    (other,) = report.references("countervqa_annotated", 2)[0].published
    assert other.value == 46.7

"""The detection probe: two answers in one response, read apart."""

from __future__ import annotations

from typing import Any

import pytest
from countervqa_rows import row
from task_states import task_state

from lmms_eval_tasks.countervqa import hooks, report
from lmms_eval_tasks.countervqa.card import PROBE_METRICS
from lmms_eval_tasks.countervqa.hooks import split_response
from lmms_eval_tasks.utils.reporting.columns import RunRecords
from lmms_eval_tasks.utils.scoring.record import Record

TASK = "countervqa_probe"
_DOUBTS = "Answer: yes maybe\nHappened: no I guess"


def grade(rows: list[dict[str, Any]], responses: list[Any]) -> list[Record]:
    state = task_state(TASK)
    return [hooks.grade_probe(one, said, state).record for one, said in zip(rows, responses, strict=True)]


@pytest.mark.parametrize(
    ("action_first", "response", "action", "verdict"),
    [
        (True, "Happened: no\nAnswer: yes, it would.", "no", "yes, it would."),
        (False, "Happened: no\nAnswer: yes, it would.", "no", "yes, it would."),
        (True, "Answer: yes\nHappened: no", "no", "yes"),
        (False, "Answer: yes, as\nit would.\nHappened: no", "no", "yes, as\nit would."),
        (True, "**Happened:** Yes\n**Answer:** No", "** Yes\n", "** No"),
        (True, "1. First: no\n2. Second: yes", "no", "yes"),
        (False, "1. First: no\n2. Second: yes", "yes", "no"),
        (True, "No.\nYes, it would still happen.", "No.", "Yes, it would still happen."),
        (False, "Yes, it would still happen.\nNo.", "No.", "Yes, it would still happen."),
        (True, "Yes", "Yes", ""),
        (False, "Yes", "", "Yes"),
        (True, None, "", ""),
        (False, f"[THINK]\n{_DOUBTS}[/THINK]\nAnswer: No, it would not.\nHappened: Yes", "Yes", "No, it would not."),
        (True, f"<think>\n{_DOUBTS}</think>\nAnswer: No, it would not.\nHappened: Yes", "Yes", "No, it would not."),
        (True, f"<think>{_DOUBTS}</think>Yes\nNo", "Yes", "No"),
        (True, '{"Answer": "no", "Happened": "yes"}', '"yes"}', '"no"'),
        (False, '```json\n{\n  "Happened": true,\n  "Answer": false\n}\n```', "true", "false\n}"),
        (False, "\n" * 50_000, "", ""),
    ],
)
def test_a_response_has_two_parts(action_first: bool, response: object, action: str, verdict: str) -> None:
    assert [part.strip() for part in split_response(response, action_first)] == [action.strip(), verdict.strip()]


def test_detection_and_the_verdicts_given_it() -> None:
    rows = [
        row(1, "no", "L1"),
        row(2, "yes", "L2"),
        row(3, "yes", "L3"),
        row(4, "yes", "L3"),
        row(5, "no", asked=False),
    ]
    said = "Happened: {}\nAnswer: {}".format
    thought = f"<think>\n{said('no', 'yes')}</think>\n{said('yes', 'no')}"
    records = grade(rows, [thought, said("no", "yes"), '{"Answer": "no", "Happened": "no"}', said("yes", "yes"), ""])
    assert [record.fields["detected"] for record in records] == [True, False, True, False, None]
    scores = {metric.name: metric.score_records(records) for metric in PROBE_METRICS}
    assert scores["detection_accuracy"] == scores["detection_accuracy_absent"] == scores["detection_balanced"] == 50
    assert scores["verdict_accuracy"] == 75 and scores["verdict_accuracy_given_detection"] == 50
    assert scores["verdict_accuracy_given_detection_absent"] == 0
    panel = report.probe_panels(TASK, [RunRecords("1", "model", [records])])[0]
    named = dict(zip(panel.all_figures[0].table().headings, panel.all_figures[0].table().rows[0], strict=True))
    assert all(named[name] for name in ("both right", "verdict alone", "detection alone", "unscored"))
    assert report.probe_references(TASK, 4)[0].published[0].value == 98.2


def test_the_prompt_asks_for_the_action_after_the_question_unless_the_other_is_chosen() -> None:
    asked = {**row(1, "yes", "L3"), "action": "sneezes {twice}"}
    text = task_state(TASK).doc_to_text(asked)
    assert 0 < text.index(asked["question"]) < text.index("sneezes {twice}") < text.index("Happened:")
    state = task_state(TASK, kwargs={"prompt": "countervqa_probe_before"})
    text = state.doc_to_text(asked)
    assert 0 < text.index("sneezes {twice}") < text.index(asked["question"]) < text.index("Happened:")
    assert hooks.grade_probe(asked, "No.\nYes, it would.", state).record.fields["detected"] is True


@pytest.mark.parametrize("constant", ["Happened: no\nAnswer: yes", "Happened: yes\nAnswer: yes"])
def test_a_constant_detects_half_where_both_kinds_are_asked(constant: str) -> None:
    records = grade([row(number, "yes", f"L{1 + 2 * (number % 2)}") for number in range(6)], [constant] * 6)
    scores = {metric.name: metric.score_records(records) for metric in PROBE_METRICS}
    assert scores["detection_balanced"] == 50

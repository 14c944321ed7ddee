"""What scoring needs to know of a finished run, from its log."""

from __future__ import annotations

from typing import Any

import pytest
from cast_bench import row
from task_states import task_state

from lmms_eval_tasks.cast_bench.open_ended import DIMENSIONS, OpenEndedScores, OpenQuestion, grade_answer
from lmms_eval_tasks.cast_bench.open_task import read_open_question
from lmms_eval_tasks.cast_bench.restore import NOT_JUDGED, logged_settings, logged_verdicts
from lmms_eval_tasks.host.state import Evaluation
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.evidence.boxes import Convention
from lmms_eval_tasks.utils.judge.client import Case, Verdict
from lmms_eval_tasks.utils.scoring.records import UnscoredReason

SIZES = ((640, 480), (320, 240), (640, 480))


def docs() -> list[dict[str, Any]]:
    return [{"item_id": str(index), "width": width, "height": height} for index, (width, height) in enumerate(SIZES)]


def logged(*boxes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"record": {"fields": {"boxes": one}}} for one in boxes]


def test_boxes_are_read_as_the_log_says() -> None:
    resized = {"convention": "xyxy_resized"}
    lines = logged({**resized, "seen": [616, 476]}, {**resized, "seen": None}, {**resized, "seen": [616, 476]})
    found = logged_settings({"boxes": "xyxy_px"}, docs(), lines, {})
    assert found.convention is Convention.XYXY_RESIZED
    assert [found.seen(frame, lambda: None) for frame in (*SIZES[:2], (1, 1), None)] == [(616, 476), None, None, None]


def test_the_settings_of_hits_are_todays() -> None:
    lines = logged(*[{"convention": "xyxy_px", "seen": None}] * 3)
    assert logged_settings({"tau_st": 0.25}, docs(), lines, {}).hits.tau_st == 0.25


@pytest.mark.parametrize(
    "lines", [logged({}, {}, {}), logged(*({"convention": name} for name in ("xyxy_px", "xywh", "")))]
)
def test_a_log_that_does_not_say_leaves_it_to_the_task(lines: list[dict[str, Any]]) -> None:
    assert logged_settings({"boxes": "yxyx_n1000"}, docs(), lines, {}).convention is Convention.YXYX_N1000


def test_questions_were_asked_as_the_log_says() -> None:
    def named(prompt: str) -> list[dict[str, Any]]:
        return [{"record": {"fields": {"prompt": prompt}}}] * 3

    asked = {"prompt": "another"}
    assert logged_settings(asked, docs(), named("cast_bench_evidence:0"), {}).prompt.prompt_id == "cast_bench_evidence"
    with pytest.raises(InputError, match="'gone'"):
        logged_settings({}, docs(), named("gone:0123"), {})


def test_the_environment_wins() -> None:
    lines = logged(*[{"convention": "xyxy_px", "seen": None}] * 3)
    environment = {"LMMS_EVAL_TASKS_BOXES": "yxyx_n1000"}
    assert logged_settings({}, docs(), lines, environment).convention is Convention.YXYX_N1000
    with pytest.raises(InputError, match="Expected boxes to be one of"):
        logged_settings({}, docs(), lines, {"LMMS_EVAL_TASKS_BOXES": "other"})


class Scores:
    """A judge whose scores fall from case to case, and who cannot read the third."""

    def __init__(self) -> None:
        self.asked = 0

    def judge(self, case: Case) -> Verdict[OpenEndedScores]:
        self.asked += 1
        if self.asked == 3:
            return Verdict(None, "unreadable reply: no", "served", case.prompt.signature)
        given = dict.fromkeys(DIMENSIONS, 10.0 / self.asked)
        return Verdict(OpenEndedScores(explanation=f"No. {self.asked}.", **given), None, "served", "an older prompt:0")


def question(index: int) -> tuple[dict[str, Any], OpenQuestion]:
    released = row()
    doc = {
        "item_id": str(index), "clip": "videos/a.mp4", "question": "Why?", "options": ["It fell.", "It rose."],
        "answer": "A", "evidence": "[]", "category": released.get("question_type", "causal_explanation"),
    }  # fmt: skip
    return doc, read_open_question(doc)


def test_every_answer_gets_its_own_verdict_again() -> None:
    judge = Scores()
    # The first two are word for word the same, and were judged otherwise.
    said = ["It fell.", "It fell.", "Hm.", "  It was pushed. \n", ""]
    asked = [question(index) for index in range(len(said))]
    records = [grade_answer(one, text, judge) for (_, one), text in zip(asked, said, strict=True)]
    lines = [{"record": record.to_json()} for record in records]
    state = task_state("cast_bench_open", Evaluation(clips_needed=False, judge_needed=False))
    assert state.kind.restore is not None
    state.kind.restore(state, [doc for doc, _ in asked], lines)
    again = state.judge(OpenEndedScores)
    assert judge.asked == 4
    assert [grade_answer(one, text, again) for (_, one), text in zip(asked, said, strict=True)] == records
    new = grade_answer(asked[0][1], "Something else.", again)
    assert (new.outcome.value, new.unscored_reason, new.detail) == ("unscored", UnscoredReason.JUDGE_FAILED, NOT_JUDGED)


def test_where_nothing_was_judged_there_is_no_judge() -> None:
    doc, one = question(0)
    record = grade_answer(one, "It fell.", None)
    assert logged_verdicts([doc], [{"record": record.to_json()}]) is None

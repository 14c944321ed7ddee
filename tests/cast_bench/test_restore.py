"""What scoring needs to know of a finished run, from its log."""

from __future__ import annotations

from typing import Any

import pytest
from open_judge import score_reply
from pydantic import BaseModel
from task_states import BoundState, task_state

from lmms_eval_tasks.cast_bench.card import DIMENSIONS
from lmms_eval_tasks.cast_bench.open_ended import grade
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.utils.answers.evidence_boxes import BoxConvention
from lmms_eval_tasks.utils.answers.evidence_settings import EvidenceSettings
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.judge.client import NOT_JUDGED, Verdict
from lmms_eval_tasks.utils.judge.replies import Case
from lmms_eval_tasks.utils.scoring.record import UnscoredReason

SIZES = ((640, 480), (320, 240), (640, 480))


def docs() -> list[dict[str, Any]]:
    return [{"item_id": str(index), "width": width, "height": height} for index, (width, height) in enumerate(SIZES)]


def logged(*boxes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"record": {"fields": {"boxes": one}}} for one in boxes]


def restored(kwargs: dict[str, Any], lines: list[dict[str, Any]]) -> EvidenceSettings:
    state = task_state("cast_bench", kwargs=kwargs)
    assert state.kind.restore is not None
    state.kind.restore(state, docs(), lines)
    settings: EvidenceSettings = state.settings
    return settings


def test_boxes_are_read_as_the_log_says() -> None:
    resized = {"convention": "xyxy_resized"}
    lines = logged({**resized, "seen": [616, 476]}, {**resized, "seen": None}, {**resized, "seen": [616, 476]})
    settings = restored({"boxes": "xyxy_px"}, lines)
    assert settings.convention is BoxConvention.XYXY_RESIZED
    assert [settings.seen(frame, None) for frame in (*SIZES[:2], (1, 1), None)] == [(616, 476), None, None, None]


def test_the_settings_of_hits_are_todays(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = logged(*[{"convention": "xyxy_px", "seen": None}] * 3)
    assert restored({"tau_st": 0.25}, lines).hits.tau_st == 0.25
    monkeypatch.setenv("LMMS_EVAL_TASKS_MATCHING", "supplement")
    assert restored({"eps_overlap": 2, "coverage_aware": False}, lines).hits.rule == "supplement"


@pytest.mark.parametrize(
    "lines", [logged({}, {}, {}), logged(*({"convention": name} for name in ("xyxy_px", "xywh", "")))]
)
def test_a_log_that_does_not_say_leaves_it_to_the_task(lines: list[dict[str, Any]]) -> None:
    assert restored({"boxes": "yxyx_n1000"}, lines).convention is BoxConvention.YXYX_N1000


def test_questions_were_asked_as_the_log_says() -> None:
    def named(prompt: str) -> list[dict[str, Any]]:
        return [{"record": {"fields": {"prompt": prompt}}}] * 3

    assert restored({}, named("mcq_letter:0")).prompt.prompt_id == "mcq_letter"
    with pytest.raises(InputError, match="'gone'"):
        restored({}, named("gone:0123"))


def test_the_environment_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = logged(*[{"convention": "xyxy_px", "seen": None}] * 3)
    monkeypatch.setenv("LMMS_EVAL_TASKS_BOXES", "yxyx_n1000")
    assert restored({}, lines).convention is BoxConvention.YXYX_N1000
    monkeypatch.setenv("LMMS_EVAL_TASKS_BOXES", "other")
    with pytest.raises(InputError, match="Expected boxes to be one of"):
        restored({}, lines)


class Scores:
    """A judge whose scores fall from case to case, and that fails on the fifth: the first form of the third."""

    def __init__(self) -> None:
        self.asked = 0

    def judge(self, case: Case) -> Verdict[BaseModel]:
        self.asked += 1
        if self.asked == 5:
            return Verdict(None, "unreadable reply: no", "served", case.prompt.signature)
        scores = [10.0 / self.asked] * len(DIMENSIONS)
        return Verdict(score_reply(case.text, scores), None, "served", f"an older prompt:{self.asked % 2}")


def question(index: int) -> dict[str, Any]:
    return {
        "item_id": str(index), "clip": "videos/a.mp4", "question": "Why?", "options": ["It fell.", "It rose."],
        "answer": "A", "evidence": "[]", "category": "causal_explanation", "subtype": "why", "asked": True,
    }  # fmt: skip


def open_state() -> BoundState:
    return task_state("cast_bench_open", Evaluation(clips_needed=False, judge_needed=False))


def test_every_answer_gets_its_own_verdict_again() -> None:
    judge = Scores()
    # The first two are word for word the same, and were judged otherwise.
    responses = ["It fell.", "It fell.", "Hm.", "  It was pushed. \n", ""]
    asked = [question(index) for index in range(len(responses))]
    judged = open_state()
    judged.verdicts = judge
    records = [grade(row, text, judged).record for row, text in zip(asked, responses, strict=True)]
    state = open_state()
    assert state.kind.restore is not None
    state.kind.restore(state, asked, [{"record": record.to_json()} for record in records])
    assert [grade(row, text, state).record for row, text in zip(asked, responses, strict=True)] == records
    assert judge.asked == 8
    new = grade(asked[0], "Something else.", state).record
    assert (new.outcome.value, new.unscored_reason, new.detail) == ("unscored", UnscoredReason.JUDGE_FAILED, NOT_JUDGED)


def test_where_nothing_was_judged_there_is_no_judge() -> None:
    state = open_state()
    record = grade(question(0), "", state).record
    assert state.kind.restore is not None
    state.kind.restore(state, [question(0)], [{"record": record.to_json()}])
    assert state.verdicts is None

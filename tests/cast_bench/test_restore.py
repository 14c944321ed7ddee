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
PIXELS = {"boxes": {"convention": "xyxy_px", "seen": None}}


def restored(kwargs: dict[str, Any], *fields: dict[str, Any]) -> EvidenceSettings:
    """The settings of a task after its log, with the fields of one record for all items or of each."""
    state = task_state("cast_bench", kwargs=kwargs)
    docs = [{"item_id": str(index), "width": width, "height": height} for index, (width, height) in enumerate(SIZES)]
    assert state.kind.restore is not None
    state.kind.restore(
        state, docs, [{"record": {"fields": one}} for one in (fields if len(fields) == 3 else fields * 3)]
    )
    settings: EvidenceSettings = state.settings
    return settings


def test_boxes_are_read_as_the_log_says() -> None:
    seen = ([616, 476], None, [616, 476])
    settings = restored({"boxes": "xyxy_px"}, *({"boxes": {"convention": "xyxy_resized", "seen": one}} for one in seen))
    assert settings.convention is BoxConvention.XYXY_RESIZED
    assert [settings.seen(frame, None) for frame in (*SIZES[:2], (1, 1), None)] == [(616, 476), None, None, None]
    # A log that does not say, or says several, leaves it to the task.
    several = [{"boxes": {"convention": name}} for name in ("xyxy_px", "xywh", "")]
    for fields in ([{"boxes": {}}], several):
        assert restored({"boxes": "yxyx_n1000"}, *fields).convention is BoxConvention.YXYX_N1000


def test_the_settings_of_hits_are_todays_and_the_environment_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    assert restored({"tau_st": 0.25}, PIXELS).hits.tau_st == 0.25
    monkeypatch.setenv("LMMS_EVAL_TASKS_MATCHING", "supplement")
    assert restored({"eps_overlap": 2, "coverage_aware": False}, PIXELS).hits.rule == "supplement"
    monkeypatch.setenv("LMMS_EVAL_TASKS_BOXES", "yxyx_n1000")
    assert restored({}, PIXELS).convention is BoxConvention.YXYX_N1000
    monkeypatch.setenv("LMMS_EVAL_TASKS_BOXES", "other")
    with pytest.raises(InputError, match="Expected boxes to be one of"):
        restored({}, PIXELS)


def test_questions_were_asked_as_the_log_says() -> None:
    assert restored({}, {"prompt": "mcq_letter:0"}).prompt.prompt_id == "mcq_letter"
    with pytest.raises(InputError, match="'gone'"):
        restored({}, {"prompt": "gone:0123"})


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
    # The first two are word for word the same, and were judged otherwise.
    responses = ["It fell.", "It fell.", "Hm.", "  It was pushed. \n", ""]
    asked = [question(index) for index in range(len(responses))]
    judged, state, unjudged = open_state(), open_state(), open_state()
    judge = judged.verdicts = Scores()
    records = [grade(row, text, judged).record for row, text in zip(asked, responses, strict=True)]
    assert state.kind.restore is not None
    state.kind.restore(state, asked, [{"record": record.to_json()} for record in records])
    assert [grade(row, text, state).record for row, text in zip(asked, responses, strict=True)] == records
    assert judge.asked == 8
    new = grade(asked[0], "Something else.", state).record
    assert (new.outcome.value, new.unscored_reason, new.detail) == ("unscored", UnscoredReason.JUDGE_FAILED, NOT_JUDGED)
    # Where nothing was judged there is no judge.
    state.kind.restore(unjudged, asked[-1:], [{"record": records[-1].to_json()}])
    assert unjudged.verdicts is None

"""The judged score: where the verdict is right, whether the explanation agrees with the reference, by a judge."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from lmms_eval_tasks.api import Record, Row, TaskContext, read_prompt
from lmms_eval_tasks.api.judge import Case, Verdict
from lmms_eval_tasks.api.runs import RestoredContext

JUDGE_PROMPT = "countervqa_judge"
AGREES_FROM = 7.0
"""An explanation agrees from this on: small deviations that do no harm, in the scale's words."""
NOT_JUDGED = "not judged in the run whose responses these are"


class Agreement(BaseModel):
    """A judge's reply: how far an explanation agrees with the reference."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agreement: Annotated[float, Field(ge=0.0, le=10.0, allow_inf_nan=False)]


def with_agreement(record: Record, row: Row, response: object, context: TaskContext) -> Record:
    """The record of an answer, its explanation judged; raises nothing."""
    judge = context.judge(Agreement)
    if judge is None or record.correct is None:
        return record.with_fields(judged=None, agreement=None, judge=None)
    if not record.correct:
        return record.with_fields(judged=False, agreement=None, judge=None)
    verdict = judge.judge(agreement_case(row, response))
    asked = {"model": verdict.model, "prompt": verdict.prompt, "reason": verdict.reason}
    agreement = None if verdict.reply is None else float(verdict.reply.agreement)
    judged = None if agreement is None else agreement >= AGREES_FROM
    return record.with_fields(judged=judged, agreement=agreement, judge=asked)


def agreement_case(row: Row, response: object) -> Case:
    """Return the case for the judge; texts are JSON strings, so that none can end its own quotation."""
    # A lone surrogate, which no file and no request can hold, becomes a question mark.
    given = str(response).encode("utf-8", "replace").decode("utf-8").strip()
    material = {"question": row["question"], "true_answer_and_reason": row["explanation"], "given": given}
    prompt = read_prompt(JUDGE_PROMPT)
    return Case(prompt.render(case=json.dumps(material, ensure_ascii=False, indent=1)), prompt)


class LoggedAgreement:
    """Gives the verdicts of a finished run again, by what was judged."""

    def __init__(self, verdicts: Mapping[str, Verdict[Any]]) -> None:
        self._verdicts = verdicts

    def judge(self, case: Case) -> Verdict[Any]:
        """The verdict on a case; without one it is not judged."""
        return self._verdicts.get(case.text) or Verdict(None, NOT_JUDGED, "none", case.prompt.signature)


def restore_agreement(context: RestoredContext, rows: Sequence[Row], lines: Sequence[Mapping[str, Any]]) -> None:
    """Take the verdicts in the log of a finished run, if a judge was asked in it."""
    verdicts: dict[str, Verdict[Any]] = {}
    judged = False
    for row, line in zip(rows, lines, strict=True):
        fields = Record.from_json(line["record"]).fields
        judged = judged or fields.get("judged") is not None
        if asked := fields.get("judge"):
            reply = None if fields["agreement"] is None else Agreement(agreement=fields["agreement"])
            verdict = Verdict(reply, asked["reason"], asked["model"], asked["prompt"])
            verdicts[agreement_case(row, line["filtered_resps"]).text] = verdict
    context.verdicts = LoggedAgreement(verdicts) if judged or verdicts else None

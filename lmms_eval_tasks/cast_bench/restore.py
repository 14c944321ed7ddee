"""What scoring needs to know of a run that is over: how boxes were read, and the judge's verdicts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_eval_tasks.api import Record, Row
from lmms_eval_tasks.api.judge import Case, LoggedVerdicts, Verdict
from lmms_eval_tasks.api.runs import RestoredContext
from lmms_eval_tasks.cast_bench.open_ended import (
    AgreementScores,
    ConsistencyScore,
    agreement_case,
    consistency_case,
)
from lmms_eval_tasks.cast_bench.prompt import read_settings


def restore_settings(context: RestoredContext, rows: Sequence[Row], lines: Sequence[Mapping[str, Any]]) -> None:
    """Read boxes and ask questions as the log of a finished run says they were; the rest is today's configuration."""
    fields = [line["record"]["fields"] for line in lines]
    prompts = {str(one.get("prompt") or "").partition(":")[0] for one in fields} - {""}
    asked = {"prompt": prompts.pop()} if len(prompts) == 1 else {}
    logged = [one.get("boxes") or {} for one in fields]
    settings = read_settings({**context.kwargs, **asked}, os.environ)
    context.settings = settings.as_logged(
        ((row["width"], row["height"]), boxes) for row, boxes in zip(rows, logged, strict=True)
    )


def restore_verdicts(context: RestoredContext, rows: Sequence[Row], lines: Sequence[Mapping[str, Any]]) -> None:
    """Take the verdicts in the log of a finished run, if there are any; arguments as for `restore_settings`."""
    verdicts: list[tuple[Case, Verdict[Any]]] = []
    for row, line in zip(rows, lines, strict=True):
        record = Record.from_json(line["record"])
        asked_judge, scores = record.fields.get("judge"), record.fields.get("scores")
        if not asked_judge:
            continue
        # What was judged is what the record has as the answer: the response as its grading left it.
        text, detail = record.answered or "", record.detail
        for case, schema, prompt in (
            (agreement_case(row, text), AgreementScores, "prompt"),
            (consistency_case(row, text), ConsistencyScore, "consistency_prompt"),
        ):
            signed = asked_judge["model"], asked_judge.get(prompt, "")
            if scores is not None:
                reply = schema.model_validate({name: scores[name] for name in schema.model_fields})
                verdicts.append((case, Verdict(reply, None, *signed)))
            else:
                verdicts.append((case, Verdict(None, detail, *signed)))
    context.verdicts = LoggedVerdicts(verdicts) if verdicts else None

"""Open-ended CaST-Bench: a free answer with its reasoning, graded by a judge in four dimensions from 0 to 10.

Source: CaST-Bench (arXiv 2605.23216), supplement, Prompt 8: the four dimensions, what each looks at, and the bands of
the scale. The wording is ours. The consistency of the causal chain is to be graded without the true answer, so it is
asked in a request of its own that does not hold it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from string import ascii_uppercase
from typing import Annotated, Any

from pydantic import Field

from lmms_eval_tasks.api import (
    GradedItem,
    Outcome,
    Record,
    Reply,
    Row,
    RowForm,
    RunningTask,
    UnscoredReason,
    read_prompt,
)
from lmms_eval_tasks.api.evidence import read_truth
from lmms_eval_tasks.api.judge import Case, Verdict
from lmms_eval_tasks.api.release import clock
from lmms_eval_tasks.api.runs import LogForm, Restored, log_line
from lmms_eval_tasks.cast_bench.card import DIMENSIONS

JUDGE_PROMPT, CONSISTENCY_PROMPT = "cast_bench_judge", "cast_bench_judge_consistency"
IGNORANT = "Answer: It cannot be told.\nReasoning: Nothing of the video was seen."
"""What somebody answers who saw nothing: no list has the answers to a free question."""

RIGHT_FROM = 7.0
"""An answer is right where its correctness is at least this: small deviations that do no harm, in the scale's words.

Ours: it gives the record an outcome, and no metric uses it.
"""

Score = Annotated[float, Field(ge=0.0, le=10.0, allow_inf_nan=False)]


class AgreementScores(RowForm):
    """A judge's reply about an answer beside the true one."""

    answer_conclusion_correctness: Score
    evidence_coverage_completeness: Score
    evidence_conclusion_overall_justification: Score


class ConsistencyScore(RowForm):
    """A judge's reply about an answer by itself."""

    causal_chain_logical_consistency: Score


# Only characters of one line: from each of many empty lines, `\s` would look at all that follow.
_LABEL = re.compile(r"^[ \t*_#>-]*(answer|reasoning)[ \t*_]*:[ \t*_]*", re.IGNORECASE | re.MULTILINE)


class JudgeForm(LogForm):
    model: str
    prompt: str
    consistency_prompt: str


class Scores(AgreementScores, ConsistencyScore):
    pass


class OpenFields(LogForm):
    scores: Scores | None
    judge: JudgeForm | None = None
    prompt: str | None = None


OpenLine = log_line(OpenFields)


def grade(row: Row, reply: Reply, context: RunningTask) -> GradedItem:
    """Have the judge grade a free answer; raises nothing, and threads may call it at the same time."""
    # A lone surrogate, which no file and no request can hold, becomes a question mark.
    text = reply.text.encode("utf-8", "replace").decode("utf-8").strip()
    judges = [context.judge(schema) for schema in (AgreementScores, ConsistencyScore)]
    scores: dict[str, float] | None = None
    asked_judge: dict[str, str] | None = None
    outcome, detail = Outcome.UNSCORED, ""
    reason = reply.missing or (None if row["answer"] else UnscoredReason.NO_KEY)
    if not reason and None in judges:
        reason = UnscoredReason.NO_JUDGE
    elif not reason and not text:
        outcome, detail = Outcome.UNPARSED, "no text"
        scores = dict.fromkeys(DIMENSIONS, 0.0)
    elif not reason:
        cases = agreement_case(row, text), consistency_case(row, text)
        agreement, consistency = verdicts = [
            judge.judge(case) for judge, case in zip(judges, cases, strict=True) if judge is not None
        ]
        signed = {"prompt": agreement.prompt, "consistency_prompt": consistency.prompt}
        asked_judge = {"model": agreement.model, **signed}
        if agreement.reply is None or consistency.reply is None:
            reason, detail = UnscoredReason.JUDGE_FAILED, next(one.reason for one in verdicts if one.reason)
        else:
            replies = {**agreement.reply.model_dump(), **consistency.reply.model_dump()}
            scores = {name: float(replies[name]) for name in DIMENSIONS}
            right = scores["answer_conclusion_correctness"] >= RIGHT_FROM
            outcome = Outcome.CORRECT if right else Outcome.WRONG
    record = Record(
        item_id=row["item_id"],
        group_id=PurePosixPath(row["clip"]).stem,
        stratum={name: row[name] for name in ("category", "subtype")},
        expected=right_option(row),
        answered=text or None,
        outcome=outcome,
        unscored_reason=reason,
        detail=detail,
        fields={"scores": scores, "judge": asked_judge, "prompt": context.settings.signature},
    )
    return GradedItem(record)


def agreement_case(row: Row, text: str) -> Case:
    """Return the case that asks the judge to compare an answer with the true one."""
    truth = {
        "true_answer": right_option(row),
        "true_reasoning": [
            {
                "start": _clock(entry.get("evidence_start_time"), evidence.start),
                "end": _clock(entry.get("evidence_end_time"), evidence.end),
                "instance": instance.name,
                "rationale": str(entry.get("evidence_rationale") or ""),
            }
            for entry in json.loads(row["evidence"])
            for instance in read_truth([entry])
            for evidence in instance.evidences
        ],
    }
    return Case.of(read_prompt(JUDGE_PROMPT), {"question": row["question"], **truth, **given_parts(text)})


def consistency_case(row: Row, text: str) -> Case:
    """Return the case that asks the judge about an answer by itself, without anything of the truth."""
    return Case.of(read_prompt(CONSISTENCY_PROMPT), {"question": row["question"], **given_parts(text)})


def given_parts(text: str) -> dict[str, str]:
    """An answer and its reasoning, by the labels that our prompt asks for, in either order."""
    starts: dict[str, int] = {}
    ends: dict[str, int] = {}
    open_part = ""
    for label in _LABEL.finditer(text):
        if open_part:
            ends[open_part] = label.start()
        name = label[1].lower()
        open_part = "" if name in starts else name
        starts.setdefault(name, label.end())
    if len(starts) == 2:
        parts = {name: text[start : ends.get(name)].strip() for name, start in starts.items()}
        if parts["answer"]:
            return {"given_answer": parts["answer"], "given_reasoning": parts["reasoning"]}
    return {"given_answer": text, "given_reasoning": ""}


def right_option(row: Row) -> str | None:
    """Text of the right option, None where the key is withheld."""
    return row["options"][ascii_uppercase.index(row["answer"])] if row["answer"] else None


def _clock(time: object, seconds: int) -> str:
    """A released time as the judge sees it: a text as it is, anything else as the seconds that it is read as."""
    return time if isinstance(time, str) else clock(seconds)


def restore_verdicts(context: RunningTask, rows: Sequence[Row], lines: Sequence[Mapping[str, Any]]) -> Restored:
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
            replied = {name: scores[name] for name in schema.model_fields} if scores is not None else None
            reply = None if replied is None else schema.model_validate(replied)
            verdicts.append((case, Verdict(reply, detail if reply is None else None, *signed)))
    return Restored(verdicts=verdicts or None)

"""Open-ended CaST-Bench: a free answer with its reasoning, graded by a judge in four dimensions from 0 to 10.

Source: CaST-Bench (arXiv 2605.23216), supplement, Prompt 8, which asks a judge for four scores from 0 to 10. No code of
it is released, and the names of its four dimensions could not be found in public text outside the paper itself, so the
four below and the wording of the prompt are ours: they follow what the benchmark grades (the answer, the causal chain,
its times, its evidence), and their scores are comparable between runs of this package only.
"""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from string import ascii_uppercase
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from lmms_eval_tasks.utils.benchmark.benchmark import Row, TaskContext, TaskSettings
from lmms_eval_tasks.utils.evidence.timestamps import official_seconds
from lmms_eval_tasks.utils.judge.client import Case
from lmms_eval_tasks.utils.prompting.prompts import read_prompt
from lmms_eval_tasks.utils.prompting.questions import prompt_reader, without_clip
from lmms_eval_tasks.utils.scoring.records import NOT_ASKED, GradedItem, Outcome, Record, UnscoredReason

PROMPT = "cast_bench_open"
JUDGE_PROMPT = "cast_bench_judge"

DIMENSIONS = ("answer_correctness", "causal_reasoning", "temporal_grounding", "evidence_faithfulness")
"""What is graded, each from 0 to 10."""

CORRECT_ABOVE = 5.0
"""An answer is right where its correctness is above this: more than partly right, in the words of the prompt.

Ours: it gives the record an outcome, and no metric uses it.
"""

Score = Annotated[float, Field(ge=0.0, le=10.0, allow_inf_nan=False)]


class OpenEndedScores(BaseModel):
    """A judge's reply about one answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    explanation: str
    answer_correctness: Score
    causal_reasoning: Score
    temporal_grounding: Score
    evidence_faithfulness: Score


def ask(row: Row, settings: TaskSettings) -> str:
    """The prompt: the question without its options, and what an answer has to hold."""
    assert settings.prompt is not None
    return without_clip(settings.prompt.render(question=row["question"]), row["asked"])


read_settings = prompt_reader(fields=frozenset({"question"}), default=PROMPT)


def grade(row: Row, response: object, context: TaskContext) -> GradedItem:
    """Have the judge grade a free answer; raises nothing, and threads may call it at the same time.

    The record's fields: ``scores`` (dimension to 0-10, None where unscored), ``explanation`` (the judge's), ``judge``
    (``model`` and ``prompt``, None where no judge was asked) and ``prompt``. A response without text is *unparsed*,
    gets 0 in every dimension and is not sent to the judge.
    """
    asked = row["asked"] and response != NOT_ASKED
    # A lone surrogate, which no file and no request can hold, becomes a question mark.
    text = response.encode("utf-8", "replace").decode("utf-8").strip() if asked and isinstance(response, str) else ""
    judge = context.judge(OpenEndedScores)
    scores: dict[str, float] | None = None
    explanation: str | None = None
    asked_judge: dict[str, str] | None = None
    outcome, reason, detail = Outcome.UNSCORED, None, ""
    if not asked:
        reason = UnscoredReason.NO_CLIP
    elif not row["answer"]:
        reason = UnscoredReason.NO_KEY
    elif judge is None:
        reason = UnscoredReason.NO_JUDGE
    elif not text:
        outcome, detail = Outcome.UNPARSED, "no text"
        scores = dict.fromkeys(DIMENSIONS, 0.0)
    else:
        verdict = judge.judge(judge_case(row, text))
        asked_judge = {"model": verdict.model, "prompt": verdict.prompt}
        if verdict.reply is None:
            reason, detail = UnscoredReason.JUDGE_FAILED, verdict.reason or ""
        else:
            scores = {name: float(getattr(verdict.reply, name)) for name in DIMENSIONS}
            explanation = verdict.reply.explanation
            outcome = Outcome.CORRECT if scores["answer_correctness"] > CORRECT_ABOVE else Outcome.WRONG
    record = Record(
        item_id=row["item_id"],
        group_id=PurePosixPath(row["clip"]).stem,
        stratum={"category": row["category"]},
        expected=right_option(row),
        answered=text or None,
        outcome=outcome,
        unscored_reason=reason,
        detail=detail,
        fields={
            "scores": scores,
            "explanation": explanation,
            "judge": asked_judge,
            "prompt": context.settings.signature,
        },
    )
    return GradedItem(record)


def judge_case(row: Row, text: str) -> Case:
    """What the judge is asked about an answer: all texts as JSON strings, so that none can end its own quotation."""
    prompt = read_prompt(JUDGE_PROMPT)
    material = {
        "question": row["question"],
        "right_answer": right_option(row),
        "evidence": [
            {
                "start": _clock(entry.get("evidence_start_time")),
                "end": _clock(entry.get("evidence_end_time")),
                "instance": str(entry.get("evidence_instance_id") or entry.get("instance_id") or ""),
                "rationale": str(entry.get("evidence_rationale") or ""),
            }
            for entry in json.loads(row["evidence"])
        ],
        "answer_to_grade": text,
    }
    return Case(prompt.render(case=json.dumps(material, ensure_ascii=False, indent=1)), prompt)


def right_option(row: Row) -> str | None:
    """Text of the right option, None where the key is withheld."""
    return row["options"][ascii_uppercase.index(row["answer"])] if row["answer"] else None


def _clock(time: object) -> str:
    """A released time as the judge sees it: a text as it is, anything else as the official code reads it."""
    seconds = official_seconds(time)
    return time if isinstance(time, str) else f"{seconds // 60:02d}:{seconds % 60:02d}"

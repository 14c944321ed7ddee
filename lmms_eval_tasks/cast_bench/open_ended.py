"""Open-ended CaST-Bench: a free answer with its reasoning, graded by a judge in four dimensions from 0 to 10.

Source: CaST-Bench (arXiv 2605.23216), supplement, Prompt 8, which asks a judge for four scores from 0 to 10. No code of
it is released, and the names of its four dimensions could not be found in public text outside the paper itself, so the
four below and the wording of the prompt are ours: they follow what the benchmark grades (the answer, the causal chain,
its times, its evidence), and their scores are comparable between runs of this package only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from lmms_eval_tasks.utils.benchmark.benchmark import Grader
from lmms_eval_tasks.utils.judge.client import Case
from lmms_eval_tasks.utils.prompting.prompts import read_prompt
from lmms_eval_tasks.utils.scoring.records import Outcome, Record, UnscoredReason

PROMPT_ID = "cast_bench_judge"

DIMENSIONS = ("answer_correctness", "causal_reasoning", "temporal_grounding", "evidence_faithfulness")
"""What is graded, each from 0 to 10."""

METRICS = ("judge_score", *DIMENSIONS)
"""Every metric of `question_scores`, from 0 to 10: the mean over the four dimensions, then each of them."""

CORRECT_ABOVE = 5.0
"""An answer is right where its correctness is above this: more than partly right, in the words of the prompt.

Ours: it gives the record an outcome, and no metric here is made from it.
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


@dataclass(frozen=True)
class ReferenceEvidence:
    """One piece of the reference evidence.

    Attributes:
        start: Beginning, ``mm:ss``.
        end: End, ``mm:ss``.
        instance: Id of the person or thing.
        rationale: What it shows.
    """

    start: str
    end: str
    instance: str
    rationale: str


@dataclass(frozen=True)
class OpenQuestion:
    """One question, as the judge needs it.

    Attributes:
        item_id: Stable id.
        group_id: Clip that the question is about.
        question: Text of the question.
        answer: Text of the right option; None where the key is withheld.
        evidence: Reference evidence, in the release's order.
        stratum: Values by which scores are broken down.
        asked: Whether the model was shown the clip.
    """

    item_id: str
    group_id: str
    question: str
    answer: str | None
    evidence: tuple[ReferenceEvidence, ...]
    stratum: Mapping[str, str] = field(default_factory=dict)
    asked: bool = True


def judge_case(question: OpenQuestion, response: str) -> Case:
    """What the judge is asked about a response: all texts as JSON strings, so that none can end its own quotation."""
    prompt = read_prompt(PROMPT_ID)
    material = {
        "question": question.question,
        "right_answer": question.answer,
        "evidence": [asdict(piece) for piece in question.evidence],
        "answer_to_grade": response,
    }
    return Case(prompt.render(case=json.dumps(material, ensure_ascii=False, indent=1)), prompt)


def grade_answer(question: OpenQuestion, response: object, judge: Grader | None) -> Record:
    """Grade one response; raises nothing, and threads may call it at the same time.

    It asks the judge, so it is to be called where an item is scored (lmms-eval's ``process_results``), and not in an
    aggregation: the sample log then holds what the judge said.

    Args:
        question: What was asked, with the reference.
        response: What the model returned: its answer and reasoning, as they came.
        judge: Who grades; None leaves the item unscored.

    Returns:
        The record. Its fields: ``scores`` (dimension to 0-10, None where unscored), ``explanation`` (the judge's) and
        ``judge`` (``model`` and ``prompt``, None where no judge was asked). A response without text is *unparsed*, gets
        0 in every dimension and is not sent to the judge.
    """
    # A lone surrogate, which no file and no request can hold, becomes a question mark.
    said = response.encode("utf-8", "replace").decode("utf-8").strip() if isinstance(response, str) else ""
    scores: dict[str, float] | None = None
    explanation: str | None = None
    asked_judge: dict[str, str] | None = None
    outcome, detail = Outcome.UNSCORED, ""
    reason = _not_gradable(question, judge)
    if reason is None and not said:
        outcome, detail = Outcome.UNPARSED, "no text"
        scores = dict.fromkeys(DIMENSIONS, 0.0)
    elif reason is None and judge is not None:
        verdict = judge.judge(judge_case(question, said))
        if verdict.reply is None:
            reason, detail = UnscoredReason.JUDGE_FAILED, verdict.reason or ""
        asked_judge = {"model": verdict.model, "prompt": verdict.prompt}
        if verdict.reply is not None:
            scores = {name: float(getattr(verdict.reply, name)) for name in DIMENSIONS}
            explanation = verdict.reply.explanation
            right = scores["answer_correctness"] > CORRECT_ABOVE
            outcome = Outcome.CORRECT if right else Outcome.WRONG
    return Record(
        item_id=question.item_id,
        group_id=question.group_id,
        stratum=dict(question.stratum),
        expected=question.answer,
        answered=said or None,
        outcome=outcome,
        unscored_reason=reason,
        detail=detail,
        fields={"scores": scores, "explanation": explanation, "judge": asked_judge},
    )


def _not_gradable(question: OpenQuestion, judge: Grader | None) -> UnscoredReason | None:
    if not question.asked:
        return UnscoredReason.NO_CLIP
    if not question.answer:
        return UnscoredReason.NO_KEY
    return UnscoredReason.NO_JUDGE if judge is None else None


def question_scores(record: Record) -> dict[str, float | None]:
    """What one question contributes to each of `METRICS`, from 0 to 10; None where it is unscored."""
    scores: Mapping[str, float] | None = record.fields["scores"]
    if scores is None:
        return dict.fromkeys(METRICS)
    return {
        "judge_score": sum(scores[name] for name in DIMENSIONS) / len(DIMENSIONS),
        **{name: scores[name] for name in DIMENSIONS},
    }

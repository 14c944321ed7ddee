"""The hooks of CounterVQA's tasks: how a question is asked and graded."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from lmms_eval_tasks.api import GradedItem, Record, Row, RunningTask, TaskContext, hook, read_prompt
from lmms_eval_tasks.api.answers import NO, UNCLEAR, YES, content, read_verdict, verdict_grader
from lmms_eval_tasks.api.judge import Case, Verdict
from lmms_eval_tasks.api.prompts import Prompt, TaskSettings, prompt_reader
from lmms_eval_tasks.api.runs import LogForm, RestoredContext, log_line
from lmms_eval_tasks.countervqa.card import ABSENT_LEVEL
from lmms_eval_tasks.countervqa.release import ClipGraph

PROBE_PROMPT = "countervqa_probe"

# Only characters of one line: from each of many empty lines, `\s` would look at all that follow.
_LABEL = re.compile(
    r"(?:^[ \t*_#>\d.)-]{0,12}|[{,][ \t\n]{0,12}\")(happened|first|answer|second)[ \t*_\"]{0,4}:",
    re.IGNORECASE | re.MULTILINE,
)

read_probe_settings = prompt_reader(fields=frozenset({"question", "action"}), default=PROBE_PROMPT)


def probe_guesses(row: Row) -> list[str]:
    """Every pair of answers."""
    return [f"Answer: {first}\nHappened: {second}" for first in ("Yes", "No") for second in ("Yes", "No")]


def asks_of_action_first(prompt: Prompt | None) -> bool:
    """Whether a prompt asks whether the action happened before it asks the question."""
    return prompt is not None and 0 <= prompt.text.find("{action}") < prompt.text.find("{question}")


def split_response(response: object, action_first: bool) -> tuple[str, str]:
    """Split a response into its text about the action and its answer to the question."""
    if not isinstance(response, str):
        return "", ""
    response = content(response)
    of_action = {"happened": True, "answer": False, "first": action_first, "second": not action_first}
    places = {of_action[label[1].lower()]: label for label in reversed(list(_LABEL.finditer(response)))}
    if len(places) == 2:
        (first, start), (second, end) = sorted(places.items(), key=lambda place: place[1].start())
        said = {first: response[start.end() : end.start()], second: response[end.end() :]}
        return said[True], said[False]
    if action_first:
        line, _, rest = response.partition("\n")
        return line, rest
    rest, several, line = response.rpartition("\n")
    return (line, rest) if several else ("", line)


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


STRATUM = ("interaction", "level", "rule")
"""The cell of the paper's table, and the rule that made the question."""


class AgreementForm(LogForm):
    """Judge of an explanation, and the reason if it could not be judged."""

    model: str
    prompt: str
    reason: str | None


class VerdictFields(LogForm):
    """Of a question, whose explanation may have been judged."""

    judged: bool | None
    agreement: Annotated[float, Field(ge=0, le=10)] | None
    judge: AgreementForm | None


class ProbeFields(LogForm):
    """Of a question before which it was asked whether the action happened."""

    detection: str | None
    detected: bool | None


VerdictLine = log_line(VerdictFields, STRATUM)
"""The line of a question."""
ProbeLine = log_line(ProbeFields, STRATUM)
"""The line of a question with such a probe."""

__all__ = ["annotated_doc_to_text", "doc_to_text", "probe_doc_to_text", "probe_process_results", "process_results"]

PROMPT = "countervqa"
ANNOTATED_PROMPT = "countervqa_annotated"

read_settings = prompt_reader(fields=frozenset({"question"}), default=PROMPT)
read_annotated_settings = prompt_reader(fields=frozenset({"question", "actions"}), default=ANNOTATED_PROMPT)


def strata(row: Row) -> dict[str, str]:
    """Level, interaction and rule of a row."""
    return {"interaction": row["interaction"], "level": row["level"], "rule": row["rule"] or "none"}


grade = verdict_grader(strata, fields=("paired",))
"""Grades the verdict of a free answer; a record's field ``paired`` says whether a partner has the opposite verdict."""


@hook
def doc_to_text(task: RunningTask, doc: Row, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The prompt: the question alone."""
    return task.put(doc, lmms_eval_specific_kwargs, ask)


@hook
def process_results(task: RunningTask, doc: Row, results: Sequence[Any]) -> dict[str, Any]:
    """The record of a verdict and its judged explanation, and what it contributes to each score."""
    return task.grade_first(doc, results, grade_and_judge)


@hook
def annotated_doc_to_text(
    task: RunningTask, doc: Row, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None
) -> str:
    """The prompt with the clip's timed actions."""
    return task.put(doc, lmms_eval_specific_kwargs, ask_annotated)


@hook
def probe_doc_to_text(task: RunningTask, doc: Row, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The prompt: the question, and whether the action happened at all."""
    return task.put(doc, lmms_eval_specific_kwargs, ask_probe)


@hook
def probe_process_results(task: RunningTask, doc: Row, results: Sequence[Any]) -> dict[str, Any]:
    """The record of both answers, and what it contributes to each score."""
    return task.grade_first(doc, results, grade_probe)


def ask(row: Row, settings: TaskSettings) -> str:
    """The prompt: the question alone."""
    assert settings.prompt is not None
    return settings.prompt.render(question=row["question"])


def ask_annotated(row: Row, settings: TaskSettings) -> str:
    """The prompt with the clip's timed actions."""
    assert settings.prompt is not None
    actions = timed_actions(row["graph"])
    return settings.prompt.render(question=row["question"], actions=actions)


def ask_probe(row: Row, settings: TaskSettings) -> str:
    """The prompt: the question, and the action that is left out."""
    assert settings.prompt is not None
    return settings.prompt.render(question=row["question"], action=" ".join(str(row["action"]).split()))


@lru_cache(maxsize=16)
def timed_actions(text: str) -> str:
    """A clip's actions, one per line in order of time: "00:03-00:05 C opens the fridge"."""
    graph = ClipGraph.model_validate_json(text)
    lines = []
    for action in graph.actions:
        end = "" if action.end is None else f"-{clock(action.end)}"
        who = f"{action.subject}: " if action.subject else ""
        lines.append(f"{clock(action.start)}{end} {who}{' '.join(action.text.split())}")
    return "\n".join(lines)


def clock(seconds: float) -> str:
    """A time as minutes and whole seconds, `MM:SS`."""
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"


def grade_and_judge(row: Row, response: object, context: TaskContext) -> GradedItem:
    """Grade the verdict, and have the explanation judged where the run has a judge; raises nothing."""
    return GradedItem(with_agreement(grade(row, response, context).record, row, response, context))


def grade_probe(row: Row, response: object, context: TaskContext) -> GradedItem:
    """Grade both answers; raises nothing."""
    detected, verdict = split_response(response, asks_of_action_first(context.settings.prompt))
    graded = grade(row, verdict if isinstance(response, str) and response.strip() != verdict else response, context)
    record = graded.record
    happened = NO if row["level"] == ABSENT_LEVEL else YES
    detection = read_verdict(detected, cut_off=row.get("cut_off", False))
    return GradedItem(
        record.with_fields(
            detection=None if detection == UNCLEAR else detection,
            detected=None if record.correct is None else detection == happened,
        )
    )

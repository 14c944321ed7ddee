"""Asking of CounterVQA's questions; grading and judging of verdicts, also again from a log."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from lmms_eval_tasks.api import GradedItem, Record, Reply, Row, RowForm, RunningTask, read_prompt
from lmms_eval_tasks.api.answers import NO, UNCLEAR, YES, content, read_verdict, verdict_grader
from lmms_eval_tasks.api.judge import Case, Verdict
from lmms_eval_tasks.api.prompts import Prompt, TaskSettings
from lmms_eval_tasks.api.release import clock
from lmms_eval_tasks.api.runs import LogForm, Restored, log_line
from lmms_eval_tasks.countervqa.card import ABSENT_LEVEL
from lmms_eval_tasks.countervqa.release import read_graph

PROMPT, JUDGE_PROMPT = "countervqa", "countervqa_judge"
AGREES_FROM = 7.0
"""An explanation agrees from this on: small deviations that do no harm, in the scale's words."""


def ask(row: Row, settings: TaskSettings) -> str:
    """The prompt: the question, and as it has fields for them the clip's timed actions, their causal links, and the
    action left out."""
    prompt = settings.prompt
    assert prompt is not None
    actions = timed_actions(row["graph"]) if "actions" in prompt.fields else ""
    links = timed_links(row["graph"]) if "links" in prompt.fields else ""
    action = " ".join(str(row["action"]).split()) if "action" in prompt.fields else ""
    return prompt.render(question=row["question"], actions=actions, links=links, action=action)


def timed_actions(text: str) -> str:
    """A clip's actions, one per line in order of time: "00:03-00:05 C opens the fridge"."""
    lines = []
    for action in read_graph(text).actions:
        end = "" if action.end is None else f"-{clock(action.end)}"
        who = f"{action.subject}: " if action.subject else ""
        lines.append(f"{clock(action.start)}{end} {who}{' '.join(action.text.split())}")
    return "\n".join(lines)


NO_LINKS = "(none is known)"


def timed_links(text: str) -> str:
    """A clip's causal links, one per line in order of time: "00:03 C opens the fridge -> 00:05 C takes the milk"."""
    graph = read_graph(text)
    named = {one.id: f"{clock(one.start)} {' '.join(one.text.split())}" for one in graph.actions}
    places = {name: place for place, name in enumerate(named)}
    links = sorted(graph.links, key=lambda link: (places[link.cause], places[link.effect]))
    return "\n".join(f"{named[link.cause]} -> {named[link.effect]}" for link in links) or NO_LINKS


# The verdict, and the judged score.


class Agreement(RowForm):
    agreement: Annotated[float, Field(ge=0.0, le=10.0, allow_inf_nan=False)]


class AgreementForm(LogForm):
    model: str
    prompt: str
    reason: str | None


class VerdictFields(LogForm):
    judged: bool | None
    agreement: Annotated[float, Field(ge=0, le=10)] | None
    judge: AgreementForm | None


class ProbeFields(LogForm):
    detection: str | None
    detected: bool | None


STRATUM = ("interaction", "level", "rule")
"""The cell of the paper's table, and the rule that made the question."""
VerdictLine, ProbeLine = log_line(VerdictFields, STRATUM), log_line(ProbeFields, STRATUM)

grade_verdict = verdict_grader(
    lambda row: {"interaction": row["interaction"], "level": row["level"], "rule": row["rule"] or "none"},
    fields=("paired",),
)
"""A record's field ``paired`` says whether a partner has the opposite verdict."""


def grade(row: Row, reply: Reply, context: RunningTask) -> GradedItem:
    """Grade the verdict, and have the explanation of a right one judged where the run has a judge; raises nothing."""
    record, judge = grade_verdict(row, reply, context).record, context.judge(Agreement)
    judged, agreement, asked = None, None, None
    if judge is not None and record.correct:
        verdict = judge.judge(agreement_case(row, reply.text))
        asked = {"model": verdict.model, "prompt": verdict.prompt, "reason": verdict.reason}
        if verdict.reply is not None:
            agreement = float(verdict.reply.agreement)
            judged = agreement >= AGREES_FROM
    elif judge is not None:
        judged = record.correct  # a wrong verdict is wrong whatever its explanation
    return GradedItem(record.with_fields(judged=judged, agreement=agreement, judge=asked))


def agreement_case(row: Row, response: object) -> Case:
    """Ask how far an explanation agrees with the reference."""
    material = {
        "question": row["question"],
        "true_answer_and_reason": row["explanation"],
        "given": str(response).strip(),
    }
    return Case.of(read_prompt(JUDGE_PROMPT), material)


def restore_agreement(context: RunningTask, rows: Sequence[Row], lines: Sequence[Mapping[str, Any]]) -> Restored:
    """Take the verdicts in the log of a finished run, if a judge was asked in it."""
    verdicts: list[tuple[Case, Verdict[Any]]] = []
    logged = [Record.from_json(line["record"]).fields for line in lines]
    for row, line, fields in zip(rows, lines, logged, strict=True):
        if asked := fields.get("judge"):
            reply = None if fields["agreement"] is None else Agreement(agreement=fields["agreement"])
            verdict = Verdict(reply, asked["reason"], asked["model"], asked["prompt"])
            verdicts.append((agreement_case(row, line["filtered_resps"]), verdict))
    judged = any(fields.get("judged") is not None for fields in logged)
    return Restored(verdicts=verdicts if judged or verdicts else None)


# The probe: did the action happen at all? Asked after the question, as in the paper's appendix B.2.

# Only characters of one line: from each of many empty lines, `\s` would look at all that follow.
_LABEL = re.compile(
    r"(?:^[ \t*_#>\d.)-]{0,12}|[{,][ \t\n]{0,12}\")(happened|first|answer|second)[ \t*_\"]{0,4}:",
    re.IGNORECASE | re.MULTILINE,
)


def probe_guesses(row: Row) -> list[str]:
    return [f"Answer: {first}\nHappened: {second}" for first in ("Yes", "No") for second in ("Yes", "No")]


def grade_probe(row: Row, reply: Reply, context: RunningTask) -> GradedItem:
    """Grade both answers; raises nothing."""
    prompt: Prompt | None = context.settings.prompt
    action_first = prompt is not None and 0 <= prompt.text.find("{action}") < prompt.text.find("{question}")
    detected, verdict = (replace(reply, text=text) for text in split_response(reply.text, action_first))
    record = grade_verdict(row, reply if reply.text.strip() == verdict.text else verdict, context).record
    detection = read_verdict(detected)
    happened = NO if row["level"] == ABSENT_LEVEL else YES
    return GradedItem(
        record.with_fields(
            detection=None if detection == UNCLEAR else detection,
            detected=None if record.correct is None else detection == happened,
        )
    )


def split_response(response: str, action_first: bool) -> tuple[str, str]:
    """Split a response into its text about the action and its answer to the question."""
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

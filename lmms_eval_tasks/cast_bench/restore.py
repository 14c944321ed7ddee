"""What scoring needs to know of a run that is over: how boxes were read, and what the judge said."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lmms_eval_tasks.cast_bench.open_ended import DIMENSIONS, OpenEndedScores, judge_case
from lmms_eval_tasks.cast_bench.open_task import read_open_question
from lmms_eval_tasks.cast_bench.settings import BOXES, EvidenceSettings, read_settings
from lmms_eval_tasks.utils.benchmark.benchmark import RestoredContext, Row
from lmms_eval_tasks.utils.evidence.boxes import Convention, Frame
from lmms_eval_tasks.utils.judge.client import Case, Verdict
from lmms_eval_tasks.utils.scoring.records import Record

NOT_JUDGED = "not judged in the run whose responses these are"


def restore_settings(context: RestoredContext, rows: Sequence[Row], lines: Sequence[Mapping[str, Any]]) -> None:
    """Read boxes and ask questions as a finished run did.

    Args:
        context: The task's, whose settings are replaced.
        rows: The row of each logged item.
        lines: The logged items, in the same order.

    Raises:
        InputError: as `logged_settings`.
    """
    context.settings = logged_settings(context.kwargs, rows, lines, os.environ)


def restore_verdicts(context: RestoredContext, rows: Sequence[Row], lines: Sequence[Mapping[str, Any]]) -> None:
    """Take the verdicts of a finished run's judge; arguments as for `restore_settings`."""
    context.verdicts = logged_verdicts(rows, lines)


@dataclass(frozen=True)
class LoggedSettings(EvidenceSettings):
    """A configuration with the sizes of the frames shown as they were logged.

    Attributes:
        shown: A clip's width and height to those of its frames.
    """

    shown: Mapping[Frame, Frame] = field(default_factory=dict)

    def seen(self, frame: Frame | None, model_limits: object) -> Frame | None:
        """Size of the frame that the model was shown of a clip, None where it is not known or does not matter."""
        return None if frame is None else self.shown.get(frame)


def logged_settings(
    kwargs: Mapping[str, Any] | None,
    docs: Sequence[Mapping[str, Any]],
    lines: Sequence[Mapping[str, Any]],
    environment: Mapping[str, str],
) -> EvidenceSettings:
    """Today's configuration of a task, with boxes read and questions asked as the log says they were.

    The environment's choice of a convention wins, so that a run whose boxes were misread is scored anew.

    Raises:
        InputError: where the environment's choice cannot be used, or the run's prompt is not here: the file for the
            leaderboard repeats it.
    """
    prompts = {str(line["record"]["fields"].get("prompt") or "").partition(":")[0] for line in lines} - {""}
    asked = {"prompt": prompts.pop()} if len(prompts) == 1 else {}
    today = read_settings({**(kwargs or {}), **asked}, environment)
    logged = [line["record"]["fields"].get("boxes") or {} for line in lines]
    conventions = {boxes.get("convention") for boxes in logged} - {None}
    if environment.get(BOXES) or len(conventions) != 1:
        return today
    shown = {
        (doc["width"], doc["height"]): (boxes["seen"][0], boxes["seen"][1])
        for doc, boxes in zip(docs, logged, strict=True)
        if boxes.get("seen")
    }
    return LoggedSettings(today.prompt, Convention(conventions.pop()), today.limits, today.hits, shown)


class LoggedVerdicts:
    """Gives the verdicts of a run again, by what was judged.

    Args:
        verdicts: Text of each case to the verdicts on it, in the order of the log.
    """

    def __init__(self, verdicts: Mapping[str, Sequence[Verdict[OpenEndedScores]]]) -> None:
        self._waiting = {text: list(found) for text, found in verdicts.items()}

    def judge(self, case: Case) -> Verdict[OpenEndedScores]:
        """The verdict on a case; without one it is unscored."""
        waiting = self._waiting.get(case.text, [])
        if not waiting:
            return Verdict(None, NOT_JUDGED, "none", case.prompt.signature)
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]


def logged_verdicts(docs: Sequence[Mapping[str, Any]], lines: Sequence[Mapping[str, Any]]) -> LoggedVerdicts | None:
    """The verdicts of a log; None where nothing in it was judged.

    Args:
        docs: The row of each logged item.
        lines: The logged items, in the same order.
    """
    verdicts: defaultdict[str, list[Verdict[OpenEndedScores]]] = defaultdict(list)
    for doc, line in zip(docs, lines, strict=True):
        record = Record.from_json(line["record"])
        fields = record.fields
        asked_judge, scores = fields.get("judge"), fields.get("scores")
        if not asked_judge:
            continue
        reply = None
        if scores:
            named = {name: scores[name] for name in DIMENSIONS}
            reply = OpenEndedScores(explanation=fields.get("explanation") or "", **named)
        # What is judged is what the record says was answered: the response as its grading left it.
        text = judge_case(read_open_question(doc), record.answered or "").text
        detail = record.detail or None
        verdicts[text].append(Verdict(reply, detail, asked_judge["model"], asked_judge["prompt"]))
    return LoggedVerdicts(verdicts) if verdicts else None

"""How a question of CounterVQA is asked and graded."""

from __future__ import annotations

from functools import lru_cache

from lmms_eval_tasks.countervqa.agreement import with_agreement
from lmms_eval_tasks.countervqa.released import ClipGraph
from lmms_eval_tasks.countervqa.verdicts import UNCLEAR, read_verdict
from lmms_eval_tasks.utils.benchmark.benchmark import Row, TaskContext, TaskSettings
from lmms_eval_tasks.utils.prompting.questions import prompt_reader, without_clip
from lmms_eval_tasks.utils.scoring.records import NOT_ASKED, GradedItem, Outcome, Record, UnscoredReason

PROMPT = "countervqa"
ANNOTATED_PROMPT = "countervqa_annotated"

read_settings = prompt_reader(fields=frozenset({"question"}), default=PROMPT)
read_annotated_settings = prompt_reader(fields=frozenset({"question", "actions"}), default=ANNOTATED_PROMPT)


def ask(row: Row, settings: TaskSettings) -> str:
    """The prompt: the question alone."""
    assert settings.prompt is not None
    return without_clip(settings.prompt.render(question=row["question"]), row["asked"])


def ask_annotated(row: Row, settings: TaskSettings) -> str:
    """The prompt with the clip's timed actions."""
    assert settings.prompt is not None
    actions = timed_actions(row["graph"])
    return without_clip(settings.prompt.render(question=row["question"], actions=actions), row["asked"])


@lru_cache(maxsize=16)
def timed_actions(text: str) -> str:
    """A clip's actions, one per line in order of time: "00:03-00:05 C opens the fridge".

    The questions about a clip follow each other, and its graph is read once for them.

    Args:
        text: The graph of the clip, a `ClipGraph` as JSON.
    """
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


def grade(row: Row, response: object, context: TaskContext) -> GradedItem:
    """Grade the verdict of a free answer; raises nothing.

    The record's strata are level, interaction and rule; its fields are ``paired`` (whether a partner has the opposite
    verdict) and ``prompt``.
    """
    asked = row["asked"] and response != NOT_ASKED
    verdict = read_verdict(response, row["question"]) if asked else UNCLEAR
    answered = None if verdict == UNCLEAR else verdict
    reason = UnscoredReason.NO_CLIP if not asked else None if row["answer"] else UnscoredReason.NO_KEY
    if reason:
        outcome = Outcome.UNSCORED
    elif answered is None:
        outcome = Outcome.UNPARSED
    else:
        outcome = Outcome.CORRECT if answered == row["answer"] else Outcome.WRONG
    record = Record(
        item_id=row["item_id"],
        group_id=row["group_id"],
        stratum={"interaction": row["interaction"], "level": row["level"], "rule": row["rule"] or "none"},
        expected=row["answer"],
        answered=answered,
        outcome=outcome,
        unscored_reason=reason,
        fields={"paired": row["paired"], "prompt": context.settings.signature},
    )
    return GradedItem(record)


def grade_and_judge(row: Row, response: object, context: TaskContext) -> GradedItem:
    """Grade the verdict, and have the explanation judged where the run has a judge; raises nothing."""
    return GradedItem(with_agreement(grade(row, response, context).record, row, response, context))

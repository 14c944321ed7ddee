"""Chains of thought by a teacher: a model that sees the clip and, unless that is ablated, its timed annotations."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lmms_eval_tasks.countervqa.hooks import timed_actions
from lmms_eval_tasks.countervqa.release import CounterfactualQuestion
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.train.countervqa.training_set import QuestionSet, ReasoningRow, TaughtReply, reasoned
from lmms_eval_tasks.train.rewards.answer_form import format_reward, verdict_of
from lmms_eval_tasks.train.stages.stage import MEDIA_TAGS
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.core.text import clock
from lmms_eval_tasks.utils.core.work import Progress, no_progress
from lmms_eval_tasks.utils.data.made import clip_frames
from lmms_eval_tasks.utils.data.release import UnreadableClip
from lmms_eval_tasks.utils.judge.client import Judge, Verdict
from lmms_eval_tasks.utils.judge.replies import Case

PROMPT = "countervqa_teacher"
ROWS, FACTS, REPLIES = "cot.jsonl", "cot.json", "replies"
KEPT, WRONG, NO_VERDICT, NO_REASONING = "kept", "wrong verdict", "no verdict", "no reasoning"
NOT_IN_THE_FORM, TAGGED = "not in the form of the rewards", "tags of ms-swift in it"


@dataclass(frozen=True)
class Teaching:
    rows: Sequence[ReasoningRow]
    outcomes: Mapping[str, int]

    @property
    def share(self) -> float:
        return len(self.rows) / sum(self.outcomes.values())


def teach(
    questions: QuestionSet, judge: Judge[TaughtReply], frames: int, annotations: bool, progress: Progress = no_progress
) -> Teaching:
    asked = questions.questions
    verdicts = judge.judge_all([_asking(questions, one, judge, frames, annotations) for one in asked], progress)
    outcomes: Counter[str] = Counter()
    rows = []
    for question, verdict in zip(asked, verdicts, strict=True):
        outcome = _outcome(question, verdict)
        outcomes[outcome] += 1
        if outcome == KEPT and verdict.reply is not None:
            texts = verdict.reply.model_dump()
            rows.append(ReasoningRow(id=question.id, clip=question.clip, question=question.question, **texts))
    return Teaching(rows, dict(outcomes.most_common()))


def _outcome(question: CounterfactualQuestion, verdict: Verdict[TaughtReply]) -> str:
    reply = verdict.reply
    if reply is None:
        return str(verdict.reason)
    if not any(map(str.isalnum, reply.reasoning)):
        return NO_REASONING
    said = verdict_of(reply.answer)
    if said != question.verdict:
        return NO_VERDICT if said is None else WRONG
    response = reasoned(reply)
    if not format_reward(response):
        return NOT_IN_THE_FORM
    # ms-swift takes a media tag for a clip.
    return TAGGED if any(tag in response for tag in MEDIA_TAGS) else KEPT


def _asking(
    questions: QuestionSet, question: CounterfactualQuestion, judge: Judge[Any], frames: int, annotations: bool
) -> Callable[[], Case | Verdict[TaughtReply]]:
    """Makes the case when its turn comes, so that the frames of all clips are never in memory at once."""

    def make() -> Case | Verdict[TaughtReply]:
        prompt = read_prompt(PROMPT)
        try:
            images, seconds = clip_frames(questions.clip(question), frames)
        except UnreadableClip:
            return Verdict(None, "the clip cannot be read", judge.sampling.model, prompt.signature)
        material: dict[str, Any] = {"question": question.question, "frames": [clock(second) for second in seconds]}
        if annotations:
            graph = questions.graphs[question.clip].model_dump_json()
            material["actions"] = timed_actions(graph).splitlines()
        return Case.of(prompt, material, images)

    return make


def write_teaching(folder: Path, teaching: Teaching, judge: Judge[Any], frames: int, annotations: bool) -> Path:
    """Write what was kept, and beside it how it came about; returns the file of rows."""
    facts = {
        "teacher": asdict(judge.sampling),
        "prompt": read_prompt(PROMPT).signature,
        "frames": frames,
        "annotations": annotations,
        "share_kept": teaching.share,
        "outcomes": dict(teaching.outcomes),
    }
    path = folder / ROWS
    write_file(path, as_lines(row.model_dump() for row in teaching.rows))
    write_file(folder / FACTS, json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
    return path

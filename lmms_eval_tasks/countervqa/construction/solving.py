"""Leaves out what simpler models solve from frames of the clip.

Source: CounterVQA (arXiv 2511.19923), appendix D: questions that simpler vision-language models solve are dropped.
Which models, how many, and what they see of a clip is not said there; here a question goes where all that are named are
right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

from lmms_eval_tasks.countervqa.clip_frames import clip_frames
from lmms_eval_tasks.countervqa.construction.annotations import Take
from lmms_eval_tasks.countervqa.construction.steps import OpenModel, Steps, make_case
from lmms_eval_tasks.countervqa.construction.verification import VerifyingAnswer
from lmms_eval_tasks.countervqa.hooks import clock
from lmms_eval_tasks.countervqa.released import CounterfactualQuestion
from lmms_eval_tasks.utils.data.release import UnreadableClip
from lmms_eval_tasks.utils.judge.client import Case, Verdict
from lmms_eval_tasks.utils.prompting.prompts import read_prompt

FRAMES = 8
"""Of a clip, evenly spread. Ours."""
SOLVED = "simpler models solve it"
NO_CLIP = "the clip cannot be read"
PROMPT = "countervqa_solving"
CLIPS_AT_ONCE = 8
"""Whose frames are in memory: the questions about a clip follow each other."""

ReadFrames = Callable[[Path, int], tuple[tuple[bytes, ...], list[float]]]


def find_solved(
    questions: Mapping[str, Sequence[CounterfactualQuestion]],
    takes: Mapping[str, Take],
    clips: Path,
    frames: int,
    models: Sequence[tuple[str, OpenModel]],
    steps: Steps,
) -> dict[str, str]:
    """Have models answer every question from frames; each is asked what all before it answered rightly.

    Args:
        questions: Take to its questions.
        takes: Name to take.
        clips: Folder with the takes' videos. What has none that can be read is solved by nobody.
        frames: Of a clip, evenly spread.
        models: Name of each model, and what asks it.
        steps: Keeps a row of every step.

    Returns:
        Id of each question that all of them answer rightly to the reason; nothing where there is no model.
    """
    read: ReadFrames = lru_cache(maxsize=CLIPS_AT_ONCE)(clip_frames)
    solved = [(takes[uid], question) for uid, here in questions.items() for question in here]
    for name, open_model in models:
        model = open_model(VerifyingAnswer)
        cases = [partial(_make_case, read, clips / take.clip, question, frames, name) for take, question in solved]
        about = [(take, question.id) for take, question in solved]
        verdicts = steps.ask(f"solving model {name}", model, about, cases)
        solved = [
            one
            for one, verdict in zip(solved, verdicts, strict=True)
            if verdict.reply is not None and verdict.reply.answer == one[1].verdict
        ]
    return {question.id: SOLVED for _, question in solved} if models else {}


def _make_case(
    read: ReadFrames, clip: Path, question: CounterfactualQuestion, frames: int, name: str
) -> Case | Verdict[VerifyingAnswer]:
    try:
        images, seconds = read(clip, frames)
    except (OSError, UnreadableClip):
        return Verdict(None, NO_CLIP, name, read_prompt(PROMPT).signature)
    times = [clock(second) for second in seconds]
    return replace(make_case(PROMPT, None, question=question.question, frames=times), images=images)

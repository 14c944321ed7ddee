"""Judged rewards: a language model behind a server of OpenAI's protocol grades reasoning in free text."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from lmms_eval_tasks.train.rewards.answer_form import WRONG_END, answered_verdict, expected_verdict
from lmms_eval_tasks.train.rewards.functions import JUDGED_CAUSAL, JUDGED_VISUAL
from lmms_eval_tasks.train.rewards.reward_sample import RewardSample
from lmms_eval_tasks.utils.answers.hooks import Prompt
from lmms_eval_tasks.utils.answers.opening import shorten
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import (
    REWARD_JUDGE_FRAMES,
    REWARD_JUDGE_MODEL,
    REWARD_JUDGE_REPLIES,
    REWARD_JUDGE_URL,
)
from lmms_eval_tasks.utils.judge.client import UNREADABLE, Judge, UnreadableReply
from lmms_eval_tasks.utils.judge.replies import Case, JudgeSettings, ReplyCache
from lmms_eval_tasks.utils.judge.server import OPENAI_KEY, open_sender

PROMPTS: Mapping[str, Prompt] = {
    name: Prompt(name, Path(__file__).with_name(f"{name}.txt").read_text(encoding="utf-8").rstrip("\n"))
    for name in (JUDGED_CAUSAL, JUDGED_VISUAL)
}
NEVER = 1 << 30
"""Failures in a row before a judge is given up: a training outlasts an outage."""
_REPLY = re.compile(r"\s*(?:```(?:json)?\s*)?(\{[^{}]*\})\s*(?:```)?\s*")
_TEN = 10.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RewardJudge:
    judge: Judge[float]
    frames: int = 0

    @classmethod
    def from_environment(cls) -> RewardJudge:
        """The judge that the environment's variables name; it has replied once."""
        needed = REWARD_JUDGE_URL, REWARD_JUDGE_MODEL
        if missing := [name for name in needed if not os.environ.get(name)]:
            raise RuntimeError(f"Expected {' and '.join(missing)} to name a judge, but got nothing.")
        frames, folder = os.environ.get(REWARD_JUDGE_FRAMES) or "0", os.environ.get(REWARD_JUDGE_REPLIES)
        if not frames.isdecimal():
            raise RuntimeError(f"Expected {REWARD_JUDGE_FRAMES} to be a number of frames, but got {frames!r}.")
        url, model = (os.environ[name] for name in needed)
        settings = JudgeSettings(
            model=model, url=url, provider="openai" if os.environ.get(OPENAI_KEY, "").strip() else "local",
            timeout=60.0, concurrent=16, requests=3, give_up_after=NEVER,
        )  # fmt: skip
        try:
            cache = ReplyCache(Path(folder) if folder else None)
            judge = Judge(open_sender(settings), settings.sampling, read_grade, cache, settings)
        except InputError as error:
            raise RuntimeError(f"The judge {model} cannot be asked: {error}") from None
        reason = judge.judge(_case(JUDGED_VISUAL, "Nothing happens.", RewardSample(), 0)).reason
        if reason and not reason.startswith(UNREADABLE):
            raise RuntimeError(
                f"Expected the judge {model} at {settings.server} to reply, but got: {reason}.\nRemedy: set "
                f"{REWARD_JUDGE_URL} (up to /v1), {REWARD_JUDGE_MODEL} and, where it wants one, {OPENAI_KEY}."
            )
        return cls(judge, int(frames))

    def reward(self, name: str, response: str, sample: RewardSample) -> float | None:
        """The judge's grade of an answer over ten, in [0, 1]; raises nothing."""
        expected = expected_verdict(sample)
        if not sample.actions or (name == JUDGED_CAUSAL and expected is None):
            return None
        if not response.strip():
            return 0.0
        try:
            verdict = self.judge.judge(_case(name, response, sample, self.frames))
        except Exception as error:  # whatever a decoder of clips raises
            logger.warning("%s does not count for an answer: %s: %s", name, type(error).__name__, error)
            return None
        ends_wrongly = name == JUDGED_CAUSAL and answered_verdict(response) != expected
        return min(verdict.reply, WRONG_END) if ends_wrongly and verdict.reply is not None else verdict.reply


def _case(name: str, response: str, sample: RewardSample, frames: int) -> Case:
    """Return the case in which a judge assesses an answer; the answer's text is one JSON string in it."""
    facts: dict[str, object] = {"actions": list(sample.actions), "question": sample.question}
    if name == JUDGED_CAUSAL:
        facts["links"] = [[sample.actions[end] for end in link] for link in sorted(sample.links)]
        facts["right answer"] = expected_verdict(sample)
    facts["text"] = shorten(response)
    text = PROMPTS[name].render(case=json.dumps(facts, ensure_ascii=True))
    return Case(text, PROMPTS[name], _frames(sample.clip, frames))


@lru_cache(maxsize=8)
def _frames(clip: str, number: int) -> tuple[bytes, ...]:
    if not clip or not number:
        return ()
    # Only here: it needs what decodes clips.
    from lmms_eval_tasks.utils.data.made import clip_frames

    return clip_frames(Path(clip), number)[0]


def read_grade(text: str) -> float:
    """The grade of a judge's reply over ten, in [0, 1]."""
    whole = _REPLY.fullmatch(text)
    try:
        content = json.loads(whole[1]) if whole else None
    except ValueError:
        content = None
    grade = content.get("grade") if isinstance(content, dict) and len(content) == 1 else None
    if isinstance(grade, bool) or not isinstance(grade, (int, float)) or not 0 <= grade <= _TEN:
        raise UnreadableReply('expected one object {"grade": …} with a number from 0 to 10')
    return grade / _TEN

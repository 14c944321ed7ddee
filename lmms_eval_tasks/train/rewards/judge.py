"""Judged rewards: a language model behind a server of OpenAI's protocol grades reasoning in free text.

The exact rewards read claims in a form; these are for answers without it, and are only as good as their judge. What a
judge is given is in `judge_causal.txt` and `judge_visual.txt`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import count
from pathlib import Path

from lmms_eval_tasks.train.rewards.conclusion import WRONG_END, expected_verdict
from lmms_eval_tasks.train.rewards.sample import RewardSample
from lmms_eval_tasks.utils.answers.text import shorten
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.redaction import hide_secrets
from lmms_eval_tasks.utils.core.variables import (
    REWARD_JUDGE_FRAMES,
    REWARD_JUDGE_MODEL,
    REWARD_JUDGE_REPLIES,
    REWARD_JUDGE_URL,
)
from lmms_eval_tasks.utils.judge.cache import Reply, ReplyCache
from lmms_eval_tasks.utils.servers.address import ServerAddress, header_value, parse_address
from lmms_eval_tasks.utils.servers.chat import OPENAI_KEY, PATH, chat_content, chat_request, read_chat
from lmms_eval_tasks.utils.servers.client import ServerClient
from lmms_eval_tasks.utils.servers.errors import ServerError
from lmms_eval_tasks.utils.verdicts import read_verdict

Images = tuple[bytes, ...]
"""JPEG files."""
Ask = Callable[[str, Images], Awaitable[str]]
"""From a prompt and pictures to the judge's reply; raises what it wants where there is none."""
CAUSAL, VISUAL = "judged_causal", "judged_visual"
PROMPTS: Mapping[str, str] = {
    name: Path(__file__).with_name(f"{name.replace('judged', 'judge')}.txt").read_text(encoding="utf-8")
    for name in (CAUSAL, VISUAL)
}
FIRST_WAIT = 1.0
"""Seconds before a failed request is tried again; twice as many each further time."""
_REPLY = re.compile(r"\s*(?:```(?:json)?\s*)?(\{[^{}]*\})\s*(?:```)?\s*")
_TEN = 10.0

logger = logging.getLogger(__name__)


async def judged_reward(name: str, response: object, sample: RewardSample, ask: Ask, frames: int = 0) -> float | None:
    """A judge's grade of an answer in free text over ten, in [0, 1]; raises nothing.

    Args:
        name: `CAUSAL`, where an answer whose verdict is not the key earns at most `WRONG_END`, or `VISUAL`.
        response: What the model said; anything but text earns 0.
        sample: The question.
        ask: Asks the judge.
        frames: How many frames of the clip the judge is shown.

    Returns:
        The reward; None where it does not apply, or the judge gives no grade: nothing is made up in its place.
    """
    expected = expected_verdict(sample)
    if not sample.actions or (name == CAUSAL and expected is None):
        return None
    if not isinstance(response, str) or not response.strip():
        return 0.0
    try:
        grade = read_grade(await ask(judge_prompt(name, response, sample), _frames(sample.clip, frames)))
        problem = "" if grade is not None else "its reply has no grade"
    except Exception as error:  # whatever a server, a network, a decoder or an event loop raises
        grade, problem = None, hide_secrets(f"{type(error).__name__}: {error}", os.environ)
    if grade is None:
        logger.warning("The judge gave no grade, and %s does not count for this answer (%s).", name, problem)
        return None
    ends_wrongly = name == CAUSAL and read_verdict(response, sample.question) != expected
    return min(grade, WRONG_END) if ends_wrongly else grade


def judge_prompt(name: str, response: str, sample: RewardSample) -> str:
    """What a judge is asked about an answer, whose text is one JSON string in it."""
    case: dict[str, object] = {"actions": list(sample.actions), "question": sample.question}
    if name == CAUSAL:
        case["links"] = [[sample.actions[end] for end in link] for link in sorted(sample.links)]
        case["right answer"] = expected_verdict(sample)
    case["text"] = shorten(response)
    return PROMPTS[name].format(case=json.dumps(case, ensure_ascii=True))


def read_grade(reply: object) -> float | None:
    """The grade of a judge's reply over ten; None where the reply is anything but one object with that number."""
    whole = _REPLY.fullmatch(reply) if isinstance(reply, str) else None
    try:
        content = json.loads(whole[1]) if whole else None
    except ValueError:
        return None
    grade = content.get("grade") if isinstance(content, dict) and len(content) == 1 else None
    if isinstance(grade, bool) or not isinstance(grade, (int, float)):
        return None
    return grade / _TEN if 0 <= grade <= _TEN else None


@lru_cache(maxsize=8)
def _frames(clip: str, number: int) -> Images:
    if not clip or not number:
        return ()
    # Only here: it needs what decodes clips.
    from lmms_eval_tasks.utils.data.clip_frames import clip_frames

    return clip_frames(Path(clip), number)[0]


@dataclass(frozen=True)
class JudgeServer:
    """A server of OpenAI's protocol.

    Attributes:
        url: Up to and including `/v1`.
        model: The model's name there.
        key: Sent as the bearer's token; empty for none.
        timeout: Seconds that one request may take.
        attempts: How often a case is asked before it is given up.
        together: Requests under way at a time.
        frames: How many frames of a clip it is shown.
        replies: Keeps its replies, so that no case is paid for twice; None for none.
    """

    url: str = field(repr=False)
    model: str
    key: str = field(default="", repr=False)
    timeout: float = 60.0
    attempts: int = 3
    together: int = 16
    frames: int = 0
    replies: ReplyCache | None = None

    @classmethod
    def from_environment(cls) -> JudgeServer:
        """The server that the environment's variables name.

        Raises:
            RuntimeError: its address or model is not set, or the number of frames is none.
        """
        needed = REWARD_JUDGE_URL, REWARD_JUDGE_MODEL
        if missing := [name for name in needed if not os.environ.get(name)]:
            raise RuntimeError(f"Expected {' and '.join(missing)} to name a judge, but got nothing.")
        frames = os.environ.get(REWARD_JUDGE_FRAMES) or "0"
        if not frames.isdecimal():
            raise RuntimeError(f"Expected {REWARD_JUDGE_FRAMES} to be a number of frames, but got {frames!r}.")
        folder = os.environ.get(REWARD_JUDGE_REPLIES)
        return cls(
            *(os.environ[name] for name in needed),
            key=os.environ.get(OPENAI_KEY, ""),
            frames=int(frames),
            replies=ReplyCache(Path(folder)) if folder else None,
        )

    @cached_property
    def _address(self) -> ServerAddress:
        return parse_address(self.url, REWARD_JUDGE_URL)

    @cached_property
    def _client(self) -> ServerClient:
        headers = {"Authorization": f"Bearer {header_value(self.key, OPENAI_KEY)}"} if self.key.strip() else {}
        url = self._address.endpoint(PATH)
        return ServerClient(self._address, url, headers, self.timeout, self.together)

    def check(self) -> None:
        """Ask it one thing, so that a wrong address or key ends a training before its first step.

        Raises:
            RuntimeError: it is not reached, or refuses; the message says what to look at.
        """
        try:
            self._client  # noqa: B018, opened here so that what is wrong with it is said as it is
        except InputError as error:
            raise RuntimeError(f"The judge {self.model} cannot be asked: {error}") from None
        for attempt in range(self.attempts):
            try:
                self._post(judge_prompt(VISUAL, "Nothing happens.", RewardSample()), ())
                return
            except ServerError as error:
                if not self._is_tried_again(attempt, error):
                    raise RuntimeError(
                        f"Expected the judge {self.model} at {self._address.shown} to reply, but got: {error.reason}.\n"
                        f"Remedy: set {REWARD_JUDGE_URL} (up to /v1), {REWARD_JUDGE_MODEL} and, where it wants one, "
                        f"{OPENAI_KEY}."
                    ) from None
                time.sleep(self._wait(attempt, error))

    def asking(self) -> Ask:
        """What asks it, for one batch; a failed request is tried again, waiting longer each time.

        One that the server refuses for good, such as for a wrong key, is not. Replies with a grade are kept.
        """
        free = asyncio.Semaphore(self.together)

        async def ask(prompt: str, images: Images) -> str:
            key = self._key(prompt, images)
            kept = self.replies.find(key) if self.replies else None
            if kept is not None:
                return kept.text
            async with free:
                for attempt in count():
                    try:
                        reply = await asyncio.to_thread(self._post, prompt, images)
                    except ServerError as error:
                        if not self._is_tried_again(attempt, error):
                            raise
                        await asyncio.sleep(self._wait(attempt, error))
                    else:
                        if self.replies and read_grade(reply) is not None:
                            self.replies.store(key, Reply(reply, self.model))
                        return reply
            raise AssertionError

        return ask

    def _key(self, prompt: str, images: Images) -> str:
        parts = (self._address.shown, self.model, prompt, *(hashlib.sha256(image).hexdigest() for image in images))
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _is_tried_again(self, attempt: int, error: ServerError) -> bool:
        """Whether a request that failed so is sent again: not for the last time, nor where it would fail again."""
        return error.again and attempt + 1 < self.attempts and (error.wait or 0.0) <= self.timeout

    def _wait(self, attempt: int, error: ServerError) -> float:
        """Seconds until then."""
        return max(FIRST_WAIT * 2.0**attempt, error.wait or 0.0)

    def _post(self, prompt: str, images: Images) -> str:
        return read_chat(self._client.post(chat_request(self.model, chat_content(prompt, images)))).text

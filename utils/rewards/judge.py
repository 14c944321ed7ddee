"""A judge for the visual reward: a language model behind a server that speaks OpenAI's protocol.

It is asked with the standard library, as nothing else is sure to be there.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from lmms_eval_tasks.utils.answers.text import shorten
from lmms_eval_tasks.utils.core.variables import REWARD_JUDGE_MODEL, REWARD_JUDGE_URL
from lmms_eval_tasks.utils.rewards.sample import RewardSample
from lmms_eval_tasks.utils.rewards.visual import visual_reward

Ask = Callable[[str], Awaitable[str]]
"""From a prompt to the judge's reply; raises what it wants where there is none."""
PROMPT = Path(__file__).with_name("judge_prompt.txt").read_text(encoding="utf-8")
URL, MODEL, KEY = REWARD_JUDGE_URL, REWARD_JUDGE_MODEL, "OPENAI_API_KEY"
UNSUPPORTED = 0.5
"""The most that a judge can give beyond half of what the rules give: one that is talked into a ten gives no more."""
FIRST_WAIT = 1.0
"""Seconds before a failed request is tried again; twice as many each further time."""
_REPLY = re.compile(r"\s*(?:```(?:json)?\s*)?(\{[^{}]*\})\s*(?:```)?\s*")
_TEN = 10.0
_LATER = (408, 409, 425, 429)
"""HTTP's client errors that may be gone when the request is sent again."""

logger = logging.getLogger(__name__)


async def judged_visual_reward(response: object, sample: RewardSample, ask: Ask) -> float | None:
    """The visual reward of an answer by a judge, in [0, 1]; raises nothing.

    The lesser of the judge's number over ten and 0.5 + half of `visual_reward`. Where the judge gives no number, it is
    `visual_reward`.

    Returns:
        The reward; None where the actions of the clip are not known.
    """
    by_rules = visual_reward(response, sample)
    if by_rules is None or not isinstance(response, str) or not response.strip():
        return by_rules
    try:
        grounded = read_grade(await ask(judge_prompt(response, sample)))
        problem = "" if grounded is not None else "its reply has no number"
    except Exception as error:  # whatever a server, a network or an event loop raises
        grounded, problem = None, f"{type(error).__name__}: {error}"
    if problem:
        logger.warning("The judge gave no grade, and the rules alone count for this answer (%s).", problem)
    return by_rules if grounded is None else min(grounded, UNSUPPORTED + (1 - UNSUPPORTED) * by_rules)


def judge_prompt(response: str, sample: RewardSample) -> str:
    """What a judge is asked about an answer, whose text is one JSON string in it."""
    case = {"actions": list(sample.actions), "question": sample.question, "text": shorten(response)}
    return PROMPT.format(case=json.dumps(case, ensure_ascii=True))


def read_grade(reply: object) -> float | None:
    """The grade of a judge's reply over ten; None where the reply is anything but one object with that number."""
    whole = _REPLY.fullmatch(reply) if isinstance(reply, str) else None
    try:
        content = json.loads(whole[1]) if whole else None
    except ValueError:
        return None
    grade = content.get("grounded") if isinstance(content, dict) and len(content) == 1 else None
    if isinstance(grade, bool) or not isinstance(grade, (int, float)):
        return None
    return grade / _TEN if 0 <= grade <= _TEN else None


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
    """

    url: str
    model: str
    key: str = ""
    timeout: float = 60.0
    attempts: int = 3
    together: int = 16

    @classmethod
    def from_environment(cls) -> JudgeServer:
        """The server that the variables `URL` and `MODEL` name.

        Raises:
            RuntimeError: one of them is not set.
        """
        if missing := [name for name in (URL, MODEL) if not os.environ.get(name)]:
            raise RuntimeError(f"Expected {' and '.join(missing)} to name a judge, but got nothing.")
        return cls(os.environ[URL], os.environ[MODEL], os.environ.get(KEY, ""))

    def check(self) -> None:
        """Ask it one thing, so that a wrong address or key ends a training before its first step.

        Raises:
            RuntimeError: it is not reached, or refuses; the message says what to look at.
        """
        for attempt in range(self.attempts):
            try:
                self._post(judge_prompt("Nothing happens.", RewardSample()))
                return
            except (OSError, ValueError, LookupError, TypeError) as error:
                if not self._is_tried_again(attempt, error):
                    raise RuntimeError(
                        f"Expected the judge {self.model} at {self.url} to reply, but got {_problem(error)}.\n"
                        f"Remedy: set {URL} (up to /v1), {MODEL} and, where it wants one, {KEY}."
                    ) from error
            time.sleep(FIRST_WAIT * 2.0**attempt)

    def asking(self) -> Ask:
        """What asks it, for one batch; a failed request is tried again, waiting longer each time.

        One that the server refuses for good, such as for a wrong key, is not.
        """
        free = asyncio.Semaphore(self.together)

        async def ask(prompt: str) -> str:
            async with free:
                for attempt in range(self.attempts):
                    try:
                        return await asyncio.to_thread(self._post, prompt)
                    except OSError as error:
                        if not self._is_tried_again(attempt, error):
                            raise
                        await asyncio.sleep(FIRST_WAIT * 2.0**attempt)
            raise OSError("no attempt was made")

        return ask

    def _is_tried_again(self, attempt: int, error: Exception) -> bool:
        """Whether a request that failed so is sent again: not for the last time, nor where it would fail again."""
        is_refused = isinstance(error, urllib.error.HTTPError) and 400 <= error.code < 500 and error.code not in _LATER
        return isinstance(error, OSError) and not is_refused and attempt + 1 < self.attempts

    def _post(self, prompt: str) -> str:
        body = {"model": self.model, "messages": [{"role": "user", "content": prompt}], "temperature": 0.0}
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        request = urllib.request.Request(
            f"{self.url.rstrip('/')}/chat/completions", json.dumps(body).encode(), headers, method="POST"
        )
        with urllib.request.urlopen(request, timeout=self.timeout) as reply:
            return str(json.load(reply)["choices"][0]["message"]["content"])


def _problem(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code} ({error.reason})"
    return f"{type(error).__name__}: {error}" if isinstance(error, OSError) else "a reply of another form"

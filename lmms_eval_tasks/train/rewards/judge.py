"""A judge for the visual reward: a language model behind a server that speaks OpenAI's protocol."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path

from lmms_eval_tasks.train.rewards.sample import RewardSample
from lmms_eval_tasks.train.rewards.visual import visual_reward
from lmms_eval_tasks.utils.answers.text import shorten
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.redaction import hide_secrets
from lmms_eval_tasks.utils.core.variables import REWARD_JUDGE_MODEL, REWARD_JUDGE_URL
from lmms_eval_tasks.utils.servers.address import ServerAddress, header_value, parse_address
from lmms_eval_tasks.utils.servers.chat import OPENAI_KEY, PATH, chat_request, read_chat
from lmms_eval_tasks.utils.servers.client import ServerClient
from lmms_eval_tasks.utils.servers.errors import ServerError

Ask = Callable[[str], Awaitable[str]]
"""From a prompt to the judge's reply; raises what it wants where there is none."""
PROMPT = Path(__file__).with_name("judge_prompt.txt").read_text(encoding="utf-8")
URL, MODEL = REWARD_JUDGE_URL, REWARD_JUDGE_MODEL
UNSUPPORTED = 0.5
"""The most that a judge can give beyond half of what the rules give: one that is talked into a ten gives no more."""
FIRST_WAIT = 1.0
"""Seconds before a failed request is tried again; twice as many each further time."""
_REPLY = re.compile(r"\s*(?:```(?:json)?\s*)?(\{[^{}]*\})\s*(?:```)?\s*")
_TEN = 10.0

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
        grounded, problem = None, hide_secrets(f"{type(error).__name__}: {error}", os.environ)
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

    url: str = field(repr=False)
    model: str
    key: str = field(default="", repr=False)
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
        return cls(os.environ[URL], os.environ[MODEL], os.environ.get(OPENAI_KEY, ""))

    @cached_property
    def _address(self) -> ServerAddress:
        return parse_address(self.url, URL)

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
                self._post(judge_prompt("Nothing happens.", RewardSample()))
                return
            except ServerError as error:
                if not self._is_tried_again(attempt, error):
                    raise RuntimeError(
                        f"Expected the judge {self.model} at {self._address.shown} to reply, but got: {error.reason}.\n"
                        f"Remedy: set {URL} (up to /v1), {MODEL} and, where it wants one, {OPENAI_KEY}."
                    ) from None
                time.sleep(self._wait(attempt, error))

    def asking(self) -> Ask:
        """What asks it, for one batch; a failed request is tried again, waiting longer each time.

        One that the server refuses for good, such as for a wrong key, is not.
        """
        free = asyncio.Semaphore(self.together)

        async def ask(prompt: str) -> str:
            async with free:
                for attempt in count():
                    try:
                        return await asyncio.to_thread(self._post, prompt)
                    except ServerError as error:
                        if not self._is_tried_again(attempt, error):
                            raise
                        await asyncio.sleep(self._wait(attempt, error))
            raise AssertionError

        return ask

    def _is_tried_again(self, attempt: int, error: ServerError) -> bool:
        """Whether a request that failed so is sent again: not for the last time, nor where it would fail again."""
        return error.again and attempt + 1 < self.attempts and (error.wait or 0.0) <= self.timeout

    def _wait(self, attempt: int, error: ServerError) -> float:
        """Seconds until then."""
        return max(FIRST_WAIT * 2.0**attempt, error.wait or 0.0)

    def _post(self, prompt: str) -> str:
        return read_chat(self._client.post(chat_request(self.model, prompt))).text

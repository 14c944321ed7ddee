"""`constant_answer` and `random_answer`: the floors of responders that look at nothing."""

from __future__ import annotations

import hashlib
import random
from typing import Any

from lmms_eval_tasks.host.ranks import stop_if_any
from lmms_eval_tasks.models.base import Request, RequestModel
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm


class ConstantAnswer(RequestModel):
    """Gives one response to every request: a given one, or the first answer that a task's form has, such as the first
    option."""

    answer_forms = frozenset(AnswerForm)

    def __init__(self, response: str | None = None, **host: Any) -> None:
        super().__init__(**host)
        self.response = None if response is None else str(response)

    def answer(self, request: Request) -> str:
        """The constant."""
        return request.guesses[0] if self.response is None else self.response


class RandomAnswer(RequestModel):
    """Gives a random answer in the form that the task asks for, such as the letter of an option; the same answer for
    the same item and seed, on any rank and in any order."""

    answer_forms = frozenset({AnswerForm.WORDS, AnswerForm.CLIP_LOSSES})

    def __init__(self, seed: int = 0, **host: Any) -> None:
        super().__init__(**host)
        is_whole = isinstance(seed, (int, float)) and float(seed).is_integer()
        stop_if_any(None if is_whole else f"Expected seed to be a whole number, but got {seed!r}.")
        self.seed = int(seed)

    def answer(self, request: Request) -> str:
        """One of the answers that somebody could give who saw nothing, each as likely as any other."""
        key = f"{self.seed}\0{request.task}\0{request.doc['item_id']}".encode()
        guess = random.Random(hashlib.sha256(key).digest())
        return guess.choice(request.guesses)

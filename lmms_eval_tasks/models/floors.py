"""`constant_answer` and `random_answer`: the floors of responders that look at nothing."""

from __future__ import annotations

import hashlib
import random
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.host.ranks import stop_if_any
from lmms_eval_tasks.models.base import Request, RequestModel
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm


class ConstantAnswer(RequestModel):
    """Gives one response to every request.

    Args:
        response: The response, ``A`` by default.
        **host: What lmms-eval passes to every model.
    """

    answer_forms = frozenset(AnswerForm)

    def __init__(self, response: str = "A", **host: Any) -> None:
        super().__init__(**host)
        self.response = str(response)

    def answer(self, request: Request) -> str:
        """The constant."""
        return self.response


class RandomAnswer(RequestModel):
    """Gives the letter of a random option, or Yes or No where an item has no options; the same answer for the same item
    and seed, on any rank and in any order.

    Args:
        seed: Seed of all guesses.
        **host: What lmms-eval passes to every model.
    """

    def __init__(self, seed: int = 0, **host: Any) -> None:
        super().__init__(**host)
        is_whole = isinstance(seed, (int, float)) and float(seed).is_integer()
        stop_if_any(None if is_whole else f"Expected seed to be a whole number, but got {seed!r}.")
        self.seed = int(seed)

    def answer(self, request: Request) -> str:
        """A letter, uniform over the item's options; Yes or No where it has none."""
        key = f"{self.seed}\0{request.task}\0{request.doc['item_id']}".encode()
        guess = random.Random(hashlib.sha256(key).digest())
        return guess.choice(ascii_uppercase[: len(request.doc["options"])] or ("Yes", "No"))

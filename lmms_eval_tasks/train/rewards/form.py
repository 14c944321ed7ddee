"""The reward of the form: reasoning first, then the answer."""

from __future__ import annotations

import re

_FORM = re.compile(r"\s*<think>(?P<thought>[^<]*(?:<(?!/?think>|/?answer>)[^<]*)*)</think>\s*"
                   r"<answer>(?P<answer>[^<]*(?:<(?!/?think>|/?answer>)[^<]*)*)</answer>\s*")  # fmt: skip
_WORD = re.compile(r"\w")


def format_reward(response: object) -> float:
    """1 where a response is `<think>…</think><answer>…</answer>`, each once and neither empty, else 0.

    Anything but text earns 0. The time taken is linear in the length of the response.
    """
    form = _FORM.fullmatch(response) if isinstance(response, str) else None
    return float(form is not None and all(_WORD.search(form[part]) for part in ("thought", "answer")))

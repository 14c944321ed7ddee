"""Whether an answer ends rightly: its conclusion and its answer say the same, and it is the key."""

from __future__ import annotations

from lmms_eval_tasks.train.rewards.form import FormedAnswer, opening_verdict
from lmms_eval_tasks.train.rewards.sample import RewardSample
from lmms_eval_tasks.utils.answers.verdict import NO, YES, read_verdict, stated_verdicts

WRONG_END = 0.1
"""The most that an answer earns which does not end rightly."""


def ends_rightly(answer: FormedAnswer, sample: RewardSample) -> bool:
    """Whether the one conclusion and the answer are the key; false where either says anything else as well."""
    if len(answer.conclusions) != 1:
        return False
    said = {stated_verdict(text, sample.question) for text in (*answer.conclusions, answer.answer)}
    expected = expected_verdict(sample)
    return said == {expected} if expected else said in ({YES}, {NO})


def expected_verdict(sample: RewardSample) -> str | None:
    """The key where it is yes or no, else what follows from the graph; None where neither is known."""
    key = (sample.key or "").strip().casefold()
    if key in (YES, NO):
        return key
    if sample.queried is None:
        return None
    return NO if sample.asks_for_a_chain else YES


def stated_verdict(text: str, question: str = "") -> str | None:
    """The verdict with which a text opens; None where it has none, or states another."""
    opening = opening_verdict(text)
    is_whole = read_verdict(text, question) == opening and stated_verdicts(text, question) == {opening}
    return opening if is_whole else None

"""The reward of the ablation: whether the answer is right, and nothing of how it was reached."""

from __future__ import annotations

from collections.abc import Callable

from lmms_eval_tasks.train.rewards.sample import RewardSample
from lmms_eval_tasks.utils.answers.choice import read_choice

_OPTIONS = range(2, 27)


def correctness_reward(
    response: object, sample: RewardSample, read: Callable[[str, RewardSample], str | None]
) -> float | None:
    """1 where the answer that is read from a response is the key, else 0; raises nothing that `read` does not."""
    if sample.key is None:
        return None
    answered = read(response, sample) if isinstance(response, str) else None
    return float(answered is not None and answered.casefold() == sample.key.casefold())


def choice_reward(response: object, sample: RewardSample) -> float | None:
    """Correctness of the option letter, which is read by the rules of the multiple-choice benchmarks
    (`read_choice`)."""
    if len(sample.options) not in _OPTIONS:
        return None
    return correctness_reward(response, sample, lambda text, asked: read_choice(text, asked.options))

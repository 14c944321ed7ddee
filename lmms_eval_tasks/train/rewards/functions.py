"""Rewards by the names that trainers call them by: alone, combined, as one number for any trainer, and for ms-swift."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from lmms_eval_tasks.train.rewards.answer_form import format_reward, read_answer
from lmms_eval_tasks.train.rewards.graph_rewards import causal_reward, ceiling, visual_reward
from lmms_eval_tasks.train.rewards.reward_sample import RewardSample, read_sample
from lmms_eval_tasks.utils.answers.choice import read_choice

if TYPE_CHECKING:
    from lmms_eval_tasks.train.rewards.judged import RewardJudge

ALPHA = BETA = 0.5


def weighted_mean(rewards: tuple[float | None, ...], weights: tuple[float, ...]) -> float | None:
    """Mean of those rewards that apply, by their weights, so that rows remain comparable; None where none does."""
    if len(rewards) != len(weights) or any(weight < 0 for weight in weights):
        raise ValueError(f"Expected {len(rewards)} weights of 0 or more, but got {weights}.")
    given = [(reward, weight) for reward, weight in zip(rewards, weights, strict=True) if reward is not None and weight]
    total = sum(weight for _, weight in given)
    return sum(reward * weight for reward, weight in given) / total if given else None


def graph_reward(response: object, sample: RewardSample, alpha: float = ALPHA, beta: float = BETA) -> float | None:
    """R = alpha * causal + beta * visual over alpha + beta: with the paper's 0.5 and 0.5 its formula as it stands."""
    reward = weighted_mean((causal_reward(response, sample), visual_reward(response, sample)), (alpha, beta))
    answer = read_answer(response)
    return reward if reward is None or answer is None else min(reward, ceiling(answer, sample))


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
    """Correctness of the option letter, read as the multiple-choice benchmarks read it."""
    if len(sample.options) not in _OPTIONS:
        return None
    return correctness_reward(response, sample, lambda text, asked: read_choice(text, asked.options))


RewardFunction = Callable[[object, RewardSample], float | None]
"""From what a model said and the question to a reward in [0, 1], or None where it does not apply."""

JUDGED_CAUSAL, JUDGED_VISUAL = "judged_causal", "judged_visual"
"""The rewards that a judge gives, by `RewardJudge`."""


REWARDS: Mapping[str, RewardFunction] = {
    "causal": causal_reward,
    "visual": visual_reward,
    "graph": graph_reward,
    "choice": choice_reward,
    "format": format_reward,
}


def score_answer(
    response: object,
    ground_truth: object,
    weights: Mapping[str, float],
    rewards: Mapping[str, RewardFunction] = REWARDS,
) -> dict[str, float]:
    """Return the rewards of one answer and, as ``score``, their mean by some weights; for EasyR1, verl and others.

    Args:
        response: What the model said; anything but a text earns nothing.
        ground_truth: The columns of the training row (docs/training.md), as a mapping or as one JSON text; any other
            text is the key.
        weights: Names of rewards to their weights, of which the mean is made; those of the others are 0.
        rewards: The rewards, by name.

    Returns:
        ``score`` from 0 to 1, 0 where no reward with a weight applies, and every reward: NaN where it does not apply.

    Raises:
        KeyError: a weight is of no reward.
    """
    sample = read_sample(_columns(ground_truth))
    given = {name: reward(response, sample) for name, reward in rewards.items()}
    mean = weighted_mean(tuple(given[name] for name in weights), tuple(weights.values()))
    return {"score": mean or 0.0, **{name: float("nan") if one is None else one for name, one in given.items()}}


def _columns(ground_truth: object) -> Mapping[str, Any]:
    if isinstance(ground_truth, str):
        try:
            ground_truth = json.loads(ground_truth)
        except (ValueError, RecursionError):
            return {"answer": ground_truth}
    return ground_truth if isinstance(ground_truth, Mapping) else {"answer": ground_truth}


# ---- for ms-swift, from the completions and columns of a batch -----------------------------------------------------

COLUMNS = (
    "graph", "action", "absent_action", "outcome", "answer", "verdict", "solution", "options", "question", "clip",
)  # fmt: skip
"""The columns that a sample is read from; others are left alone."""


def batch_samples(number: int, columns: Mapping[str, Any]) -> list[RewardSample]:
    """The samples of a batch; the completions of one question, which follow each other, share theirs."""
    used = {name: _values(name, columns[name], number) for name in COLUMNS if columns.get(name) is not None}
    samples, last_row = list[RewardSample](), None
    for at in range(number):
        row = {name: values[at] for name, values in used.items()}
        samples.append(samples[-1] if row == last_row else read_sample(row))
        last_row = row
    return samples


def _values(name: str, values: Any, number: int) -> Sequence[Any]:
    # Arrays of other libraries.
    as_list = getattr(values, "tolist", None)
    listed: Any = as_list() if callable(as_list) else values
    if not isinstance(listed, Sequence) or isinstance(listed, (str, bytes)):
        got = f"a {type(values).__name__}"
    elif len(listed) != number:
        got = str(len(listed))
    else:
        return listed
    raise ValueError(f"Expected the column {name} to hold a value for each of {number} answers, but got {got}.")


def orm_class(base: type, name: str, reward: RewardFunction) -> type:
    def call(self: object, completions: Sequence[object], **columns: Any) -> list[float | None]:
        return list(map(reward, completions, batch_samples(len(completions), columns)))

    return type(_class_name(name), (base,), {"__call__": call, "__doc__": reward.__doc__})


def judged_orm_class(base: type, name: str, judge: Callable[[], RewardJudge]) -> type:
    """A class of ms-swift's for a judged reward, whose judge is asked about all completions at once."""

    def begin(self: Any, *arguments: Any, **named: Any) -> None:
        base.__init__(self, *arguments, **named)  # type: ignore[misc]
        self.judge = judge()

    async def call(self: Any, completions: Sequence[object], **columns: Any) -> list[float | None]:
        samples = batch_samples(len(completions), columns)
        rewards = map(partial(asyncio.to_thread, self.judge.reward, name), completions, samples)
        return list(await asyncio.gather(*rewards))

    members = {"__init__": begin, "__call__": call, "__doc__": "A judge's grade of each answer."}
    return type(_class_name(name), (base,), members)


def register(orms: MutableMapping[str, Any], base: type, rewards: Mapping[str, RewardFunction]) -> None:
    """Add rewards to ms-swift's table, so that `--reward_funcs` finds them; its own of the same name stay."""
    for name, reward in rewards.items():
        orms.setdefault(name, orm_class(base, name, reward))


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_")) + "Reward"

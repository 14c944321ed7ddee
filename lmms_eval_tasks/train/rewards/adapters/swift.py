"""Rewards for ms-swift."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

from lmms_eval_tasks.train.rewards.adapters.batches import batch_rewards, batch_samples
from lmms_eval_tasks.train.rewards.functions import RewardFunction

if TYPE_CHECKING:
    from lmms_eval_tasks.train.rewards.judge import RewardJudge


def orm_class(base: type, name: str, reward: RewardFunction) -> type:
    """A class of ms-swift's for a reward."""

    def call(self: object, completions: Sequence[object], **columns: Any) -> list[float | None]:
        return batch_rewards(reward, completions, columns)

    return type(_class_name(name), (base,), {"__call__": call, "__doc__": reward.__doc__})


def judged_orm_class(base: type, name: str, judge: Callable[[], RewardJudge]) -> type:
    """A class of ms-swift's for a judged reward, whose judge is asked about all completions at once."""

    def begin(self: Any, *arguments: Any, **named: Any) -> None:
        base.__init__(self, *arguments, **named)  # type: ignore[misc]
        self.judge = judge()

    async def call(self: Any, completions: Sequence[object], **columns: Any) -> list[float | None]:
        pairs = zip(completions, batch_samples(len(completions), columns), strict=True)
        rewards = (asyncio.to_thread(self.judge.reward, name, *pair) for pair in pairs)
        return list(await asyncio.gather(*rewards))

    members = {"__init__": begin, "__call__": call, "__doc__": "A judge's grade of each answer."}
    return type(_class_name(name), (base,), members)


def register(orms: MutableMapping[str, Any], base: type, rewards: Mapping[str, RewardFunction]) -> None:
    """Add rewards to ms-swift's table, so that `--reward_funcs` finds them; its own of the same name stay."""
    for name, reward in rewards.items():
        orms.setdefault(name, orm_class(base, name, reward))


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_")) + "Reward"

"""Rewards as ms-swift calls them: a class each, from the completions and the columns of a batch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import partial
from typing import Any, Protocol

from lmms_eval_tasks.train.rewards.answer_form import answer_text
from lmms_eval_tasks.train.rewards.functions import RewardFunction
from lmms_eval_tasks.train.rewards.reward_sample import RewardSample, read_sample

COLUMNS = (
    "graph", "action", "absent_action", "outcome", "answer", "verdict", "solution", "options", "question", "clip",
)  # fmt: skip
"""The columns that a sample is read from; others are left alone."""


def batch_texts(completions: Sequence[object]) -> list[str]:
    """The text of each answer of a batch, which is a text or a list of messages."""
    if isinstance(completions, (str, bytes, Mapping)):
        raise TypeError(f"Expected a list of answers, but got {type(completions).__name__}: {repr(completions)[:200]}")
    return list(map(answer_text, completions))


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
        texts = batch_texts(completions)
        return list(map(reward, texts, batch_samples(len(texts), columns)))

    return type(_class_name(name), (base,), {"__call__": call, "__doc__": reward.__doc__})


class Judging(Protocol):
    """A judge that grades the answer to a question, by the name of a judged reward."""

    def reward(self, name: str, response: str, sample: RewardSample) -> float | None: ...


def judged_orm_class(base: type, name: str, judge: Callable[[], Judging]) -> type:
    """A class of ms-swift's for a judged reward, whose judge is asked about all completions at once."""

    def begin(self: Any, *arguments: Any, **named: Any) -> None:
        base.__init__(self, *arguments, **named)  # type: ignore[misc]
        self.judge = judge()

    async def call(self: Any, completions: Sequence[object], **columns: Any) -> list[float | None]:
        texts = batch_texts(completions)
        samples = batch_samples(len(texts), columns)
        rewards = map(partial(asyncio.to_thread, self.judge.reward, name), texts, samples)
        return list(await asyncio.gather(*rewards))

    members = {"__init__": begin, "__call__": call, "__doc__": "A judge's grade of each answer."}
    return type(_class_name(name), (base,), members)


def register(orms: MutableMapping[str, Any], base: type, rewards: Mapping[str, RewardFunction]) -> None:
    """Add rewards to ms-swift's table, so that `--reward_funcs` finds them; its own of the same name stay."""
    for name, reward in rewards.items():
        orms.setdefault(name, orm_class(base, name, reward))


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_")) + "Reward"

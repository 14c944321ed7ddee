"""What ms-swift passes to a reward: completions, and columns of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lmms_eval_tasks.train.rewards.functions import RewardFunction
from lmms_eval_tasks.train.rewards.sample import RewardSample, read_sample

COLUMNS = (
    "graph", "action", "absent_action", "outcome", "answer", "verdict", "solution", "options", "question", "clip",
)  # fmt: skip
"""The columns that a sample is read from; others are left alone."""


def batch_rewards(
    reward: RewardFunction, completions: Sequence[object], columns: Mapping[str, Any]
) -> list[float | None]:
    """The reward of each completion."""
    samples = batch_samples(len(completions), columns)
    return [reward(completion, sample) for completion, sample in zip(completions, samples, strict=True)]


def batch_samples(number: int, columns: Mapping[str, Any]) -> Iterator[RewardSample]:
    """The samples of a batch; the completions of one question, which follow each other, share theirs."""
    used = {name: _values(name, columns[name], number) for name in COLUMNS if columns.get(name) is not None}
    return _samples(number, used)


def _samples(number: int, used: Mapping[str, Sequence[Any]]) -> Iterator[RewardSample]:
    last_row: dict[str, Any] | None = None
    sample = RewardSample()
    for at in range(number):
        row = {name: values[at] for name, values in used.items()}
        if row != last_row:
            sample, last_row = read_sample(row), row
        yield sample


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

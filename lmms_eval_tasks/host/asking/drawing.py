"""The groups that a run asks of each of its tasks, where it asks a sample of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmms_eval_tasks.host.tasks.running import Evaluation, TaskState
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.home import read_table
from lmms_eval_tasks.utils.data.sampling import Drawn, SampleChoice, Sampled, draw, half_width
from lmms_eval_tasks.utils.scoring.metrics import group_noun


@dataclass(frozen=True)
class SampleOfPool:
    """The groups that are asked of a task, or of the tasks of a group of tasks together."""

    pool: str
    drawn: Mapping[str, Mapping[str, Drawn]]
    """Task to how its groups were drawn that are asked."""
    items: Mapping[str, Mapping[str, Drawn]]
    """The same by item."""
    sampled: Sampled

    def describe(self) -> str:
        together = f" of its {len(self.drawn)} tasks together" if len(self.drawn) > 1 else ""
        return (
            f"{self.pool}: a sample, {self.sampled.asked:,} of {self.sampled.groups:,} {self.sampled.unit}{together}; "
            f"at 50% the half-width of a score's interval is {half_width(self.drawn):.1f}."
        )


def draw_samples(
    choice: SampleChoice | None, task_dict: Mapping[Any, Any], tasks: Mapping[TaskState, Any]
) -> tuple[tuple[SampleOfPool, ...], str | None]:
    """Return the sample of each task or group of tasks that is not asked whole, and why they cannot be drawn."""
    if choice is None:
        return (), None
    samples: list[SampleOfPool] = []
    reasons: list[str] = []
    for pool, states in pools_of(task_dict, tasks).items():
        groups = {state.name: groups_of_items(state, tasks[state].eval_docs["item_id"]) for state in states}
        try:
            sample = draw_pool(choice, pool, groups, states)
        except InputError as error:
            reasons.append(str(error))
            continue
        if sample:
            samples.append(sample)
    return tuple(samples), "\n".join(reasons) or None


def items_drawn(samples: Sequence[SampleOfPool]) -> dict[str, Mapping[str, Drawn]]:
    """Return task to how the groups of its items were drawn, of the tasks of which a sample is asked."""
    return {task: items for sample in samples for task, items in sample.items.items()}


def draw_pool(
    choice: SampleChoice, pool: str, groups: Mapping[str, GroupsOfItems], states: Sequence[TaskState]
) -> SampleOfPool | None:
    values = {task: dict(of_task.values()) for task, of_task in groups.items()}
    drawn = draw(pool, values, choice)
    unit = group_noun(metric for state in states for metric in state.kind.metrics)
    sampled = Sampled(choice.groups, sum(map(len, values.values())), unit)
    if drawn is None:
        return None
    items = {
        task: {item: one for item, (group, _) in of_task.items() if (one := drawn[task].get(group))}
        for task, of_task in groups.items()
    }
    return SampleOfPool(pool, drawn, items, sampled)


def describe_sample(name: str, choice: SampleChoice) -> str:
    """Return what a sample of a task or a group of tasks would be, without a run."""
    evaluation = Evaluation(clips_needed=False, judge_needed=False, splits=False)
    members = registry().find_members(name)
    states = [TaskState(task.name, task.pointer, task.metrics, evaluation) for task in members]
    groups = {one.name: groups_of_items(one, evaluation.open_items(one.pointer)["item_id"]) for one in states}
    sample = draw_pool(choice, name, groups, states)
    return sample.describe() if sample else f"{name}: all groups are asked; it has no more than {choice.groups:,}."


GroupsOfItems = Mapping[str, tuple[str, tuple[str, ...]]]
"""Item to its group, and to the group's values of the columns by which samples are drawn."""


def groups_of_items(state: TaskState, ids: Sequence[str]) -> GroupsOfItems:
    card, kind = state.benchmark.card, state.kind
    table, _ = read_table(card, state.pointer["split"])
    names = table.column("item_id").to_pylist()
    group_of = dict(zip(names, map(str, table.column(kind.group_column).to_pylist()), strict=True))
    columns = [table.column(name).to_pylist() for name in card.strata_columns]
    values = dict(zip(names, zip(*columns, strict=True) if columns else [()] * len(names), strict=True))
    held: dict[str, list[set[str]]] = {}
    rows = {item: kind.row_id(state.view.row_id(item)) for item in ids}
    for row in rows.values():
        for of_column, value in zip(held.setdefault(group_of[row], [set() for _ in columns]), values[row], strict=True):
            of_column.add(str(value))
    joined = {group: tuple(" and ".join(sorted(of_column)) for of_column in found) for group, found in held.items()}
    return {item: (group_of[row], joined[group_of[row]]) for item, row in rows.items()}


def pools_of(task_dict: Mapping[Any, Any], tasks: Mapping[TaskState, Any]) -> dict[str, list[TaskState]]:
    """Return what samples are drawn from: each task or group of tasks that a command names."""
    state_of = {id(task): state for state, task in tasks.items()}

    def within(value: Any) -> Iterator[TaskState]:
        if isinstance(value, Mapping):
            for member in value.values():
                yield from within(member)
        elif id(value) in state_of:
            yield state_of[id(value)]

    pools = {str(getattr(key, "group", key)): list(within(value)) for key, value in task_dict.items()}
    return {pool: states for pool, states in pools.items() if states}

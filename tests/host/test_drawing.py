"""What a sample of groups is drawn from: the tasks and groups of tasks that a command names."""

from __future__ import annotations

from typing import Any

from task_states import task_state

from lmms_eval_tasks.host.asking.drawing import pools_of
from lmms_eval_tasks.host.tasks.running import TaskState


class Group:
    """lmms-eval's key of a group of tasks."""

    group = "mvp_mini"


def test_a_pool_is_what_a_command_names_with_all_of_its_tasks_of_ours() -> None:
    named = ("mvp_mini_intuitive_physics", "mvp_mini_temporal_reasoning", "causalvqa_paired")
    states: list[TaskState] = [task_state(name) for name in named]
    first, second, alone, other = (object() for _ in range(4))
    tasks = dict(zip(states, (first, second, alone), strict=True))
    group: Any = Group()
    named_by_command = {group: {"a": first, "inner": {"b": second}}, "causalvqa_paired": alone, "somebody_elses": other}
    pools = pools_of(named_by_command, tasks)
    assert pools == {"mvp_mini": states[:2], "causalvqa_paired": states[2:]}

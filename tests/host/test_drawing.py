"""What a sample of groups is drawn from, the tasks and groups of tasks that a command names, and what is drawn."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from task_states import task_state

from lmms_eval_tasks.host.asking import drawing
from lmms_eval_tasks.host.asking.drawing import describe_sample, draw_samples, groups_of_items, items_drawn, pools_of
from lmms_eval_tasks.host.tasks.running import Evaluation, TaskState
from lmms_eval_tasks.utils.data.sampling import Drawn, SampleChoice


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


PAIRED, PARTS = "causalvqa_paired", ("mvp_mini_intuitive_physics", "mvp_mini_temporal_reasoning")


@pytest.fixture
def items(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The items of a prepared split: 40 pairs of two types, each of two difficulties."""
    rows = []
    for group in range(40):
        kind = ("motion", "order")[group % 2]
        for one in ("hard", "easy"):
            row = {"item_id": f"{group}_{one}", "group_id": group, "type": kind, "difficulty": one, "subset": kind}
            rows.append(row)
    monkeypatch.setattr(drawing, "read_table", lambda card, split: (pa.Table.from_pylist(rows), None))
    return [str(row["item_id"]) for row in rows]


def asking_for(items: list[str], *names: str) -> dict[Any, Any]:
    """The states of tasks, with what lmms-eval has loaded for each."""
    return {task_state(name): SimpleNamespace(eval_docs={"item_id": items}) for name in names}


def test_a_group_has_the_values_of_all_its_items_that_are_asked(items: list[str]) -> None:
    found = groups_of_items(task_state(PAIRED), ["0_hard", "1_hard", "0_easy"])
    both = ("0", ("motion", "easy and hard"))
    assert found == {"0_hard": both, "0_easy": both, "1_hard": ("1", ("order", "hard"))}


def test_a_sample_has_whole_groups_of_all_strata_and_says_how_many(
    items: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = asking_for(items, PAIRED)
    named = dict(zip([PAIRED], tasks.values(), strict=True))
    (sample,), why = draw_samples(SampleChoice(10, 1), named, tasks)
    asked = items_drawn([sample])[PAIRED]
    groups = {item.partition("_")[0] for item in asked}
    assert why is None and len(groups) == 10 and asked.keys() == {one for one in items if one.split("_")[0] in groups}
    strata = [Drawn(stratum=f"{kind}, easy and hard", asked=5, groups=20) for kind in ("motion", "order")]
    assert all(one == strata[int(item.partition("_")[0]) % 2] for item, one in asked.items())
    # Of 10 in 40 pairs: 1.96 times the root of 0.25 / 10, and of the share of pairs that are not asked.
    said = f"{PAIRED}: a sample, 10 of 40 pairs; at 50% the half-width of a score's interval is 26.8."
    assert sample.describe() == said
    monkeypatch.setattr(Evaluation, "open_items", lambda self, pointer: {"item_id": items})
    assert describe_sample(PAIRED, SampleChoice(10, 1)) == said
    assert describe_sample(PAIRED, SampleChoice(40)) == f"{PAIRED}: all groups are asked; it has no more than 40."
    for choice, reason in ((None, None), (SampleChoice(40), None), (SampleChoice(1), "to be at least 2 for")):
        samples, why = draw_samples(choice, named, tasks)
        assert samples == () and (why is None if reason is None else reason in (why or ""))


def test_tasks_of_a_group_share_a_sample_and_each_pool_that_is_too_small_is_named(items: list[str]) -> None:
    tasks = asking_for(items, *PARTS)
    (sample,), _ = draw_samples(SampleChoice(20), {Group(): dict(zip("ab", tasks.values(), strict=True))}, tasks)
    assert [len(groups) for groups in sample.drawn.values()] == [10, 10]
    assert sample.describe().startswith("mvp_mini: a sample, 20 of 80 pairs of its 2 tasks together; ")
    first, second = tasks.values()
    samples, why = draw_samples(SampleChoice(1), {"one": first, "two": second}, tasks)
    assert samples == () and [line.split(" for ")[1][:4] for line in (why or "").splitlines()] == ["one,", "two,"]

"""From a set's files to a prepared table, and every fault of them in one message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from expected import Expected
from releases import write_clip

from lmms_eval_tasks.countervqa.benchmark import prepare
from lmms_eval_tasks.countervqa.hooks import timed_actions
from lmms_eval_tasks.registry import load_table, read_card
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.home import read_manifest

GRAPH: dict[str, Any] = {
    "clip": "kitchen/one.mp4",
    "task": "making tea",
    "actions": [
        {"id": "a1", "start": 2, "end": 4.5, "text": "opens the fridge", "subject": "C"},
        {"id": "a2", "start": 61.9, "text": "takes out\nthe milk"},
        {"id": "a3", "start": 70, "text": "boils water"},
    ],
    "links": [{"cause": "a1", "effect": "a2"}],
}
LINKED: dict[str, Any] = {
    "id": "q1",
    "clip": "kitchen/one.mp4",
    "level": 1,
    "interaction": "H2O",
    "question": "Had C not opened the fridge, would the milk still have been taken out?",
    "verdict": "no",
    "explanation": "No, the milk is in the fridge.",
    "action": "a1",
    "outcome": "a2",
    "partner": "q3",
    "rule": "adjacent_linked",
}
ABSENT: dict[str, Any] = {
    **LINKED, "id": "q2", "level": 3, "verdict": "yes", "action": None, "absent_action": "sneezes", "outcome": "a3",
    "partner": None, "rule": "absent",
}  # fmt: skip
OF_GOAL: dict[str, Any] = {**ABSENT, "id": "q4", "outcome": None, "goal": "a cup of tea", "rule": "absent_goal"}
UNLINKED: dict[str, Any] = {
    **LINKED, "id": "q3", "verdict": "yes", "action": "a2", "outcome": "a3", "partner": "q1",
    "rule": "adjacent_unlinked",
}  # fmt: skip


def write_set(folder: Path, questions: list[Any], graphs: list[Any], clip: bool = True) -> Path:
    """Write a set; a line may be given as text."""
    if clip:
        write_clip(folder / "clips" / GRAPH["clip"])
    folder.mkdir(exist_ok=True)
    for name, rows in (("questions", questions), ("graphs", graphs)):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


@pytest.mark.parametrize("source", [".", "questions.jsonl"])
def test_a_set_becomes_a_table_with_partners_side_by_side(home: Path, tmp_path: Path, source: str) -> None:
    folder = write_set(tmp_path / "set", [LINKED, ABSENT, UNLINKED], [GRAPH])
    prepare(folder / source)
    table = load_table("countervqa", "test")
    assert table["item_id"] == ["q1", "q3", "q2"] and table["group_id"] == ["q1", "q1", "q2"]
    assert table["clip"] == ["test/kitchen/one.mp4"] * 3 and table["clip_present"] == [True] * 3
    assert (table["level"], table["rule"]) == (["L1", "L1", "L3"], ["adjacent_linked", "adjacent_unlinked", "absent"])
    assert table["action"] == ["opens the fridge", "takes out\nthe milk", "sneezes"]
    assert table["outcome"] == ["takes out\nthe milk", "boils water", "boils water"]
    assert (table["answer"], table["paired"]) == (["no", "yes", "yes"], [True, True, False])
    actions = timed_actions(table["graph"][0])
    assert actions == "00:02-00:04 C: opens the fridge\n01:01 takes out the milk\n01:10 boils water"


def test_a_question_may_ask_of_the_main_goal_that_it_or_the_graph_names(home: Path, tmp_path: Path) -> None:
    of_graph = {name: value for name, value in OF_GOAL.items() if name not in ("goal", "outcome")}
    graph = {**GRAPH, "goal": "tea for two", "unlinked": [{"cause": "a2", "effect": "a3"}]}
    prepare(write_set(tmp_path / "set", [ABSENT, OF_GOAL, {**of_graph, "id": "q5"}], [graph]))
    table = load_table("countervqa", "test")
    assert table["outcome"] == ["boils water", "a cup of tea", "tea for two"]
    assert (table["action"], table["level"]) == (["sneezes"] * 3, ["L3"] * 3)
    # What is for the makers of a set alone is not in the table: an earlier set's is what it was.
    assert all(set(json.loads(row)) == {"clip", "task", "actions", "links"} for row in table["graph"])


def test_clips_may_lie_elsewhere(home: Path, tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set", [ABSENT], [GRAPH], clip=False)
    prepare(folder)
    assert [missing.clip for missing in read_manifest(read_card("countervqa")).splits["test"].missing] == [
        "test/kitchen/one.mp4"
    ]
    write_clip(tmp_path / "elsewhere" / GRAPH["clip"])
    prepare(folder, tmp_path / "elsewhere")
    assert read_manifest(read_card("countervqa")).splits["test"].missing == ()


def test_refusals(home: Path, tmp_path: Path, expected: Expected) -> None:
    messages = []

    def refuse(questions: list[Any], graphs: list[Any]) -> None:
        with pytest.raises(InputError) as caught:
            prepare(write_set(tmp_path / "set", questions, graphs, clip=False))
        messages.append(str(caught.value))

    first, second = GRAPH["actions"][:2]
    refuse(
        [
            {**LINKED, "partner": "q1", "rule": "path"},
            {**LINKED, "partner": None, "clip": "none.mp4", "explanation": " "},
            {**ABSENT, "id": "q4", "action": "a1", "absent_action": None, "outcome": "a9"},
            {**LINKED, "id": "q5", "action": None, "absent_action": "sneezes", "partner": None},
            {**LINKED, "id": "q6", "outcome": "a1", "partner": "q7"},
        ],
        [
            {**GRAPH, "clip": "../one.mp4"},
            GRAPH,
            {**GRAPH, "actions": [second, first, {**first, "start": 99, "end": 1}]},
            {**GRAPH, "clip": "two.mp4", "links": [{"cause": "a1", "effect": "a9"}, {"cause": "a1", "effect": "a1"}]},
            {**GRAPH, "clip": "three.mp4", "links": GRAPH["links"] * 2},
            "{",
        ],
    )
    refuse(
        [
            {**LINKED, "id": "q7", "clip": "two.mp4", "partner": "q8"},
            {**LINKED, "id": "q8", "level": 4, "verdict": "maybe", "more": 1},
            {**LINKED, "id": "q9", "level": True, "outcome": 3},
        ],
        [GRAPH, {**GRAPH, "clip": "two.mp4"}],
    )
    # Of goals, and of pairs without a link.
    pair = {"cause": "a1", "effect": "a2"}
    refuse(
        [
            {**OF_GOAL, "goal": None},
            {**OF_GOAL, "id": "q5", "goal": " "},
            {**OF_GOAL, "id": "q6", "outcome": "a1"},
            {**LINKED, "id": "q7", "partner": None, "goal": "tea"},
            {**LINKED, "id": "q8", "partner": None, "outcome": None},
            {**LINKED, "id": "q9", "partner": None, "rule": "absent_goal"},
        ],
        [{**GRAPH, "unlinked": [pair, {"cause": "a1", "effect": "a9"}, {"cause": "a3", "effect": "a3"}]}],
    )
    for lost in ("graphs.jsonl", "questions.jsonl"):
        (tmp_path / "set" / lost).unlink()
        with pytest.raises(InputError) as caught:
            prepare(tmp_path / "set")
        messages.append(str(caught.value))
    expected("\n".join(messages))

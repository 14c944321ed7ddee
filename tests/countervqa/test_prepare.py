"""From a set's files to a prepared table, and every fault of them in one message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from expected import Expected
from refusals import refusal
from releases import write_clip

from lmms_eval_tasks.countervqa.benchmark import prepare
from lmms_eval_tasks.countervqa.hooks import timed_actions
from lmms_eval_tasks.countervqa.release import read_release
from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.utils.data.prepare import Preparation


def read_set(name: str) -> list[dict[str, Any]]:
    text = (Path(__file__).parent / "set" / f"{name}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


(GRAPH,) = read_set("graphs")
LINKED, ABSENT, UNLINKED, OF_GOAL = read_set("questions")


def write_set(folder: Path, questions: list[Any], graphs: list[Any], clip: bool = True) -> Path:
    """Write a set; a line may be given as text."""
    if clip:
        write_clip(folder / "clips" / GRAPH["clip"])
    folder.mkdir(exist_ok=True)
    for name, rows in (("questions", questions), ("graphs", graphs)):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def test_a_set_becomes_a_table_with_partners_side_by_side(home: Path, tmp_path: Path, expected: Expected) -> None:
    folder = write_set(tmp_path / "set", [LINKED, ABSENT, UNLINKED], [GRAPH])
    prepare(Preparation(), folder / "questions.jsonl")
    table = load_table("countervqa", "test")
    rows = table.remove_columns(["graph", "question", "explanation"]).to_list()
    expected("\n".join(map(json.dumps, rows)))
    actions = timed_actions(table["graph"][0])
    assert actions == "00:02-00:04 C: opens the fridge\n01:01 takes out the milk\n01:10 boils water"


def test_a_question_may_ask_of_the_main_goal_that_it_or_the_graph_names(home: Path, tmp_path: Path) -> None:
    of_graph = {name: value for name, value in OF_GOAL.items() if name not in ("goal", "outcome")}
    graph = {**GRAPH, "goal": "tea for two", "unlinked": [{"cause": "a2", "effect": "a3"}]}
    folder = write_set(tmp_path / "set", [ABSENT, OF_GOAL, {**of_graph, "id": "q5"}], [graph], clip=False)
    assert [missing.clip for missing in prepare(Preparation(), folder)["test"].missing] == ["test/kitchen/one.mp4"]
    # Clips may lie elsewhere.
    write_clip(tmp_path / "elsewhere" / GRAPH["clip"])
    assert prepare(Preparation(), folder, tmp_path / "elsewhere")["test"].missing == ()
    table = load_table("countervqa", "test")
    assert table["outcome"] == ["boils water", "a cup of tea", "tea for two"]
    assert (table["action"], table["level"]) == (["sneezes"] * 3, ["L3"] * 3)
    # What is for the makers of a set alone is not in the table: an earlier set's is what it was.
    assert all(set(json.loads(row)) == {"clip", "task", "actions", "links"} for row in table["graph"])


def test_files_may_have_what_other_programs_add_to_their_lines(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set", [LINKED, ABSENT, UNLINKED], [GRAPH], clip=False)
    files = folder / "questions.jsonl", folder / "graphs.jsonl"
    questions, graphs, _ = read_release(*files)
    assert [one.id for one in questions] == [LINKED["id"], ABSENT["id"], UNLINKED["id"]]
    for file in files:
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n") + b"\r\n")
    *again, problems = read_release(*files)
    assert (again, len(problems)) == ([questions, graphs], 0)


def test_a_folder_of_clips_and_both_files_have_to_be_there(home: Path, tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set", [LINKED], [GRAPH])
    begin, none = "CounterVQA cannot be prepared: there is no", tmp_path / "none"
    said = refusal(prepare, Preparation(), folder, videos=none)
    assert said == f"{begin} folder {none} to take the videos from."
    (folder / "graphs.jsonl").unlink()
    assert refusal(prepare, Preparation(), folder) == f"{begin} {folder / 'graphs.jsonl'}."
    assert refusal(prepare, Preparation(), none) == f"{begin} {none}."


def test_refusals(home: Path, tmp_path: Path, expected: Expected) -> None:
    messages = []

    def refuse(questions: list[Any], graphs: list[Any]) -> None:
        messages.append(refusal(prepare, Preparation(), write_set(tmp_path / "set", questions, graphs, clip=False)))

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
        [
            GRAPH,
            {**GRAPH, "clip": "two.mp4"},
            {**GRAPH, "clip": "four.mp4", "links": [{"cause": "a1", "effect": "a2"}, {"cause": "a2", "effect": "a1"}]},
            {
                **GRAPH,
                "clip": "five.mp4",
                "links": [{"cause": f"a{number}", "effect": f"a{number % 3 + 1}"} for number in (1, 2, 3)],
            },
        ],
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
        messages.append(refusal(prepare, Preparation(), tmp_path / "set"))
    expected("\n".join(messages))

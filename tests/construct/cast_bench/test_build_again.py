"""A build of CaST-Bench's kind once more, with people's edits and revisions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cast_bench_player import cast_bench_player, role_of
from cast_bench_world import BuildWorld, planted_world
from judge_server import JudgeServer
from shared import made_once
from stub_server import material_of
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.construct.annotate.answer_files import EditedEntry, plan_digest
from lmms_eval_tasks.construct.annotate.plan import read_plan
from lmms_eval_tasks.construct.cast_bench import build
from lmms_eval_tasks.registry import load_table

CLIP = "sav_000003"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> BuildWorld:
    root = made_once(tmp_path_factory, "cast_bench_world", lambda root: planted_world(root / "world"))
    return BuildWorld.load(root / "world").only(CLIP, tmp_path_factory.mktemp("clip"))


@pytest.mark.slow
def test_what_people_edited_is_what_questions_are_written_from(world: BuildWorld, tmp_path: Path) -> None:
    entry = EditedEntry(name="red_ball", start="00:01", end="00:02", text="It hums a tune.")
    line = {"item_id": f"{CLIP}_1", "annotator": "a001", "entries": [entry.model_dump()]}
    (tmp_path / "edited.jsonl").write_text(json.dumps(line) + "\n")
    with JudgeServer(picture_script=cast_bench_player(world)) as server:
        config = world.config(server.url, tmp_path, descriptions="edited.jsonl")
        built = build(config, tmp_path / "out")
    (asked,) = [prompt for prompt in server.asked if role_of(prompt) == "questions"]
    (edited,) = [one for one in material_of(asked)["instances"] if one["description"] == "A red ball."]
    assert edited["does"] == ["[00:01]-[00:02] It hums a tune."]
    described = {material_of(prompt)["description"] for prompt in server.asked if role_of(prompt) == "dynamic"}
    assert len(described) == len(world.names[CLIP]) - 1 and "A red ball." not in described
    assert built.folder is not None and len((built.folder / "castbench_hf.jsonl").read_text().splitlines()) == 1


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result.output


def revise(folder: Path, out: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Path:
    """What a reviewer of the built set leaves of its one question."""
    run("prepare", "cast_bench", "--source", out / "release")
    run("annotate", "plan", "cast_bench", "--mode", "revise", "--out", folder / "plan.csv")
    plan = read_plan(folder / "plan.csv")
    (row,), (planned,) = load_table("cast_bench", "test").to_list(), plan.rows
    names = {"name": "instance_id", "start": "start_time", "end": "end_time", "text": "rationale"}
    entries = [
        {name: piece[f"evidence_{field}"] for name, field in names.items()} for piece in json.loads(row["evidence"])
    ]
    given = {"question": row["question"], "options": row["options"], "entries": entries, "discarded": False}
    answer = {"place": planned.place, "seconds": 1.0, **change(given)}
    file = {"plan": plan_digest(plan), "annotator": "a001", "mode": "revise", "answers": [answer]}
    (folder / "a001.json").write_text(json.dumps(file))
    run("annotate", "collect", folder / "plan.csv", folder / "a001.json", "--out", folder / "revised.jsonl")
    return folder / "revised.jsonl"


@pytest.mark.slow
def test_what_people_revise_last_is_what_is_released(world: BuildWorld, home: Path, tmp_path: Path) -> None:
    """10.6: questions, options and evidence; then nothing is asked of a model again."""
    out = tmp_path / "out"
    with JudgeServer(picture_script=cast_bench_player(world)) as server:
        build(world.config(server.url, tmp_path), out)
        (before,) = map(json.loads, (out / "release" / "castbench_hf.jsonl").read_text().splitlines())
        asked = server.asked.total()

        def change(given: dict[str, Any]) -> dict[str, Any]:
            first = {**given["entries"][0], "start": "00:00", "end": "00:01", "text": "It begins."}
            options = [f"After all, {text}" for text in given["options"]]
            return {**given, "question": "What then?", "options": options, "entries": [first], "comment": "Shorter."}

        revised = revise(tmp_path, out, change)
        build(world.config(server.url, tmp_path, revisions=str(revised)), out)
        assert server.asked.total() == asked
        (after,) = map(json.loads, (out / "release" / "castbench_hf.jsonl").read_text().splitlines())
        assert (after["question"], after["answer"]) == ("What then?", before["answer"])
        assert after["options"] == {letter: f"After all, {text}" for letter, text in before["options"].items()}
        (piece,) = json.loads(after["evidence"])
        assert (piece["evidence_end_time"], piece["evidence_rationale"]) == ("00:01", "It begins.")
        assert list(piece["bboxes_in_range"]) == ["0", "1"]

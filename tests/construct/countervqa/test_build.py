"""`build` from given links: a whole set, checked against its graphs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from annotated_takes import draw_takes, write_takes
from countervqa_builds import build
from releases import write_clip
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.construct.countervqa.checks import check_set
from lmms_eval_tasks.registry import read_card
from lmms_eval_tasks.sample.writers.countervqa import draw_clip
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.home import read_manifest
from lmms_eval_tasks.utils.data.identity import BUILT_MARK, find_marks
from lmms_eval_tasks.utils.data.manifest import read_attrition


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    return write_takes(tmp_path_factory.mktemp("sources"), draw_takes(30))


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_set_of_thirty_takes_follows_from_its_links(sources: tuple[Path, Path, Path], tmp_path: Path) -> None:
    annotations, links, takes = sources
    built = build(tmp_path / "set", [annotations], links, takes)
    facts = json.loads((tmp_path / "set" / "build.json").read_text(encoding="utf-8"))
    by_rule = check_set(tmp_path / "set")
    questions = rows(tmp_path / "set" / "questions.jsonl")
    counts = facts["counts"]
    assert counts["annotated"] == counts["linked"] == 30
    removed = sum(counts["removed"].values())
    assert 0 < removed < 30
    assert counts["clips"] == len(rows(tmp_path / "set" / "graphs.jsonl")) == 30 - removed
    assert counts["kept"] == counts["candidates"] == len(questions) == sum(by_rule.values())
    assert set(by_rule) == {"adjacent_unlinked", "adjacent_linked", "path", "disconnected", "absent", "absent_goal"}
    levels = Counter((question["clip"], question["level"]) for question in questions)
    assert max(levels.values()) == 10
    # What the filters say of a take is what its row says.
    for take in rows(tmp_path / "set" / "takes.jsonl"):
        assert ("depth" in take["removed_by"]) == (take["depth"] < 3)
        assert ("ANCD" in take["removed_by"]) == (take["ancd"] < 0.2)
    assert built.summary.startswith(f"{len(questions):,} questions about {30 - removed} clips in ")
    table = {name.strip(): (here, paper) for name, here, paper in built.tables[0].rows}
    assert table["annotated clips"] == ("30", "1,200")
    assert table["clips that pass the filters"] == (str(30 - removed), "712")
    assert table["candidate questions"][1] == "21,360"
    assert table["questions kept"] == (f"{len(questions):,}", "3,987")
    assert table["questions removed"] == ("0.0%", "81.3%")
    statistics = {name.strip(): (number, paper) for name, number, _, paper in built.tables[1].rows}
    of_level = Counter(question["level"] for question in questions)
    assert statistics["level 3"] == (str(of_level[3]), "34.6%")
    goals = [question for question in questions if question["rule"] == "absent_goal"]
    assert statistics["that ask of the main goal"] == (str(len(goals)), "")
    assert {question["goal"] for question in goals} == {"task 0", "task 1", "task 2"}
    assert statistics["clips decided by the wording of their actions alone"] == (str(30 - removed), "")
    # What a clip is, its questions are.
    kinds = {(question["clip"], question["interaction"]) for question in questions}
    assert len(kinds) == 30 - removed == facts["statistics"]["interaction decided by"]["wording"]
    assert statistics["clips that are H2H"] == (str(sum(kind == "H2H" for _, kind in kinds)), "39.3%")


def test_the_same_sources_give_the_same_bytes(sources: tuple[Path, Path, Path], tmp_path: Path) -> None:
    annotations, links, takes = sources
    for name, seed in (("one", 0), ("two", 0), ("three", 1)):
        build(tmp_path / name, [annotations], links, takes, seed=seed)
    names = ("questions.jsonl", "graphs.jsonl", "takes.jsonl", "build.json")
    one, two, three = ([(tmp_path / name / file).read_bytes() for file in names] for name in ("one", "two", "three"))
    assert one == two
    assert one[0] != three[0]
    assert one[1:3] == three[1:3]


def test_a_set_is_written_over_and_can_be_a_source_of_links(sources: tuple[Path, Path, Path], tmp_path: Path) -> None:
    annotations, links, takes = sources
    build(tmp_path / "set", [annotations], links, takes, min_depth=0, min_ancd=0.0)
    before = (tmp_path / "set" / "questions.jsonl").read_bytes()
    build(tmp_path / "set", [annotations], tmp_path / "set" / "graphs.jsonl", takes, min_depth=0, min_ancd=0.0)
    assert (tmp_path / "set" / "questions.jsonl").read_bytes() == before
    assert [path.name for path in (tmp_path / "set").glob(".*")] == [".set.lock"]


def test_clips_are_linked_to_and_the_missing_counted(sources: tuple[Path, Path, Path], tmp_path: Path) -> None:
    annotations, links, takes = sources
    (tmp_path / "videos").mkdir()
    for number in range(29):
        (tmp_path / "videos" / f"take-{number:03d}.mp4").write_bytes(b"x")
    built = build(tmp_path / "set", [annotations], links, takes, tmp_path / "videos", min_depth=0, min_ancd=0.0)
    assert len(list((tmp_path / "set" / "clips").iterdir())) == 29
    assert f"1 of 30 clips are not in {tmp_path / 'videos'}." in built.warnings


def test_the_lengths_of_clips_are_among_the_statistics(sources: tuple[Path, Path, Path], tmp_path: Path) -> None:
    annotations, links, takes = sources
    for number in range(10):
        write_clip(tmp_path / "videos" / f"take-{number:03d}.mp4", frames=8 * (number + 1))
    built = build(tmp_path / "set", [annotations], links, takes, tmp_path / "videos", min_depth=0, min_ancd=0.0)
    statistics = {name.strip(): (number, paper) for name, number, _, paper in built.tables[1].rows}
    assert statistics["mean length of clips"] == ("5.5 s", "199.7 s")
    assert statistics["90% are no longer than"] == ("9.0 s", "456.0 s")
    assert statistics["95% are no longer than"] == ("10.0 s", "720.0 s")
    facts = json.loads((tmp_path / "set" / "build.json").read_text(encoding="utf-8"))
    assert facts["statistics"]["seconds"]["clips"] == 10


def test_without_tasks_there_is_no_third_level(sources: tuple[Path, Path, Path], tmp_path: Path) -> None:
    annotations, links, _ = sources
    build(tmp_path / "set", [annotations], links)
    assert {question["level"] for question in rows(tmp_path / "set" / "questions.jsonl")} == {1, 2}


def test_nothing_is_written_where_nothing_is_kept(sources: tuple[Path, Path, Path], tmp_path: Path) -> None:
    annotations, links, takes = sources
    with pytest.raises(InputError) as error:
        build(tmp_path / "set", [annotations], links, takes, min_depth=99)
    assert str(error.value).splitlines()[1] == (
        "Clips: 30 annotated, 30 with causal links, 0 that pass the filters; 0 candidate questions."
    )
    with pytest.raises(InputError, match=r"^Expected links, the file"):
        build(tmp_path / "set", [annotations])
    assert sorted(path.name for path in (tmp_path / "set").iterdir()) == [".set.lock", "failed"]


def test_a_changed_set_is_found_out(sources: tuple[Path, Path, Path], tmp_path: Path) -> None:
    annotations, links, takes = sources
    build(tmp_path / "set", [annotations], links, takes)
    file = tmp_path / "set" / "questions.jsonl"
    questions = rows(file)
    questions[3]["verdict"] = "no" if questions[3]["verdict"] == "yes" else "yes"
    file.write_text("".join(json.dumps(question) + "\n" for question in questions))
    with pytest.raises(InputError, match="line 4") as error:
        check_set(tmp_path / "set")
    assert "Expected a question that follows from its graph, but by the rule" in str(error.value)


@pytest.mark.slow
def test_thirty_clips_of_the_sample_world_make_a_set(tmp_path: Path) -> None:
    drawn = [draw_clip(0, number)[1] for number in range(1, 31)]
    takes = [
        {
            "take_uid": graph["clip"].removesuffix(".mp4"),
            "clip": graph["clip"],
            "task": graph["task"],
            "atomic_descriptions": [{**action, "timestamp": action["start"]} for action in graph["actions"]],
        }
        for graph in drawn
    ]
    (tmp_path / "annotations.json").write_text(json.dumps(takes))
    (tmp_path / "graphs.jsonl").write_text("".join(json.dumps(graph) + "\n" for graph in drawn))
    built = build(tmp_path / "set", [tmp_path / "annotations.json"], tmp_path / "graphs.jsonl", min_depth=2)
    assert set(check_set(tmp_path / "set")) == {
        "adjacent_unlinked",
        "adjacent_linked",
        "path",
        "disconnected",
        "absent",
        "absent_goal",
    }
    for question in rows(tmp_path / "set" / "questions.jsonl"):
        # An absent hit is one that the clip does not have, in any words.
        graph = next(graph for graph in drawn if graph["clip"] == question["clip"])
        assert question["absent_action"] not in [action["text"] for action in graph["actions"]]
    assert len(rows(tmp_path / "set" / "graphs.jsonl")) > 1
    assert built.folder == tmp_path / "set"


def test_former_options_set_keys_and_warn(sources: tuple[Path, Path, Path], tmp_path: Path) -> None:
    annotations, links, takes = sources
    words = ["--annotations", annotations, "--links", links, "--takes", takes, "--min-depth", 2, "--paper-rules"]
    command = ["build", "countervqa", *map(str, words), "--out", str(tmp_path / "former")]
    ran = CliRunner().invoke(app, command)
    assert ran.exit_code == 0, ran.output
    warned = [line for line in ran.stderr.splitlines() if "is taken for the last time" in line]
    assert [line.split()[1] for line in warned] == [
        "--annotations", "--links", "--takes", "--min-depth", "--paper-rules",
    ]  # fmt: skip
    assert warned[-1].endswith("; write `own_rules: false` into the file of --config, or give --set own_rules=false.")
    build(tmp_path / "keys", [annotations], links, takes, min_depth=2, own_rules=False)
    for name in ("questions.jsonl", "graphs.jsonl", "takes.jsonl", "build.json"):
        assert (tmp_path / "former" / name).read_bytes() == (tmp_path / "keys" / name).read_bytes()
    shown = CliRunner().invoke(app, ["build", "countervqa", "--help"], terminal_width=200).output
    assert "--set" in shown and "--min-depth" not in shown


def test_the_commands(sources: tuple[Path, Path, Path], tmp_path: Path, home: Path) -> None:
    annotations, links, takes = sources
    command = ["build", "countervqa", "--annotations", annotations, "--links", links, "--takes", takes]
    built = CliRunner().invoke(app, [*map(str, command), "--out", str(tmp_path / "set"), "--candidates", "3"])
    assert built.exit_code == 0, built.output
    assert "clips that pass the filters" in built.stdout
    assert BUILT_MARK in find_marks(tmp_path / "set")
    assert built.stdout.splitlines()[-1] == (f"Next:  lmms-eval-tasks prepare countervqa --source {tmp_path / 'set'}")
    prepared = CliRunner().invoke(app, ["prepare", "countervqa", "--source", str(tmp_path / "set")])
    assert (prepared.exit_code, prepared.stdout.splitlines()[-1]) == (0, f"Prepared in {home / 'countervqa'}")
    attrition = read_manifest(read_card("countervqa")).splits["test"].attrition
    assert attrition is not None and attrition == read_attrition(tmp_path / "set")
    assert attrition.steps[-1].left == len(rows(tmp_path / "set" / "questions.jsonl"))
    for step in attrition.steps:
        assert not step.removed or step.came - sum(step.removed.values()) == step.left
    checked = CliRunner().invoke(app, ["countervqa", "check-questions", str(tmp_path / "set")])
    assert checked.stdout.splitlines()[-1].endswith("questions; none disagrees with its graph.")
    compared = CliRunner().invoke(
        app, ["countervqa", "graph-quality", str(links), str(tmp_path / "set" / "graphs.jsonl"), "--takes", "1"]
    )
    lines = [line.split() for line in compared.stdout.splitlines()]
    assert ["all", "links", "1.0000", "1.0000", "1.0000", "1.0000"] in [line[:6] for line in lines]
    assert any(line[:4] == ["warning:", "Takes", "not", "in"] for line in lines)
    failed = CliRunner().invoke(app, [*map(str, command[:4]), "--out", str(tmp_path / "x")])
    assert (failed.exit_code, failed.stderr.splitlines()[1][:15]) == (1, "Expected links,")

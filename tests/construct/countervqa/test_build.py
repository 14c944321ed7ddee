"""`build` from given links: a whole set, checked against its graphs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from annotated_takes import draw_takes, write_takes
from countervqa_builds import build, facts_of, rows
from expected import Expected
from refusals import refusal
from releases import write_clip
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.construct.countervqa.checks import check_set, compare_graphs
from lmms_eval_tasks.registry import read_card
from lmms_eval_tasks.sample.writers.countervqa import draw_clip
from lmms_eval_tasks.utils.data.home import read_manifest
from lmms_eval_tasks.utils.data.identity import BUILT_MARK, find_marks
from lmms_eval_tasks.utils.data.manifest import read_attrition
from lmms_eval_tasks.utils.people.baseline import LinkCounts

RULES = {"adjacent_unlinked", "adjacent_linked", "path", "disconnected", "absent", "absent_goal"}
ALL = {"min_depth": 0, "min_ancd": 0.0}
Sources = tuple[Path, Path, Path]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    """Annotations, links and tasks of thirty takes."""
    return write_takes(tmp_path_factory.mktemp("sources"), draw_takes(30))


def test_a_set_of_thirty_takes_follows_from_its_links(sources: Sources, tmp_path: Path, expected: Expected) -> None:
    annotations, links, takes = sources
    for number in range(10):
        write_clip(tmp_path / "videos" / f"take-{number:03d}.mp4", frames=8 * (number + 1))
    built = build(tmp_path / "set", [annotations], links, takes, tmp_path / "videos")
    # The clips that are there last 1 to 10 seconds.
    tables = ["\n".join(map(" | ".join, table.rows)) for table in built.tables]
    expected("\n\n".join([*tables, "\n".join([built.summary, *built.warnings])]))
    counts, by_rule = facts_of(tmp_path / "set")["counts"], check_set(tmp_path / "set")
    questions = rows(tmp_path / "set" / "questions.jsonl")
    removed = sum(counts["removed"].values())
    assert counts["annotated"] == counts["linked"] == 30 and 0 < removed < 30 and set(by_rule) == RULES
    assert counts["clips"] == len(rows(tmp_path / "set" / "graphs.jsonl")) == 30 - removed
    assert counts["kept"] == counts["candidates"] == len(questions) == sum(by_rule.values())
    assert max(Counter((question["clip"], question["level"]) for question in questions).values()) == 10
    # What the filters say of a take is what its row says.
    for take in rows(tmp_path / "set" / "takes.jsonl"):
        assert ("depth" in take["removed_by"]) == (take["depth"] < 3)
        assert ("ANCD" in take["removed_by"]) == (take["ancd"] < 0.2)
    goals = {question["goal"] for question in questions if question["rule"] == "absent_goal"}
    assert goals == {"task 0", "task 1", "task 2"}
    # What a clip is, its questions are.
    assert len({(question["clip"], question["interaction"]) for question in questions}) == 30 - removed


def test_the_same_sources_give_the_same_bytes_and_a_set_can_be_a_source_of_links(
    sources: Sources, tmp_path: Path
) -> None:
    annotations, links, takes = sources
    names = ("questions.jsonl", "graphs.jsonl", "takes.jsonl", "build.json")

    def made(links: Path, **keys: int) -> list[bytes]:
        build(tmp_path / "set", [annotations], links, takes, **ALL, **keys)
        return [(tmp_path / "set" / name).read_bytes() for name in names]

    one, again, other = made(links), made(links), made(links, seed=1)
    assert one == again and one[0] != other[0] and one[1:3] == other[1:3]
    assert made(tmp_path / "set" / "graphs.jsonl")[0] == one[0]
    # Without tasks there is no third level.
    build(tmp_path / "untold", [annotations], links, **ALL)
    assert {question["level"] for question in rows(tmp_path / "untold" / "questions.jsonl")} == {1, 2}


def test_nothing_is_written_where_nothing_is_kept_and_a_changed_set_is_found_out(
    sources: Sources, tmp_path: Path, expected: Expected
) -> None:
    annotations, links, takes = sources
    said = refusal(build, tmp_path / "set", [annotations], links, takes, min_depth=99)
    assert sorted(path.name for path in (tmp_path / "set").iterdir()) == [".set.lock", "failed"]
    build(tmp_path / "set", [annotations], links, takes)
    file = tmp_path / "set" / "questions.jsonl"
    questions = rows(file)
    questions[3]["verdict"] = "no" if questions[3]["verdict"] == "yes" else "yes"
    file.write_text("".join(json.dumps(question) + "\n" for question in questions))
    expected(f"{said}\n\n{refusal(check_set, tmp_path / 'set')}")


def test_thirty_clips_of_the_sample_world_make_a_set(tmp_path: Path) -> None:
    drawn = {graph["clip"]: graph for graph in (draw_clip(0, number)[1] for number in range(1, 31))}
    takes = [
        {
            "take_uid": clip.removesuffix(".mp4"),
            "clip": clip,
            "task": graph["task"],
            "atomic_descriptions": [{**action, "timestamp": action["start"]} for action in graph["actions"]],
        }
        for clip, graph in drawn.items()
    ]
    (tmp_path / "annotations.json").write_text(json.dumps(takes))
    (tmp_path / "graphs.jsonl").write_text("".join(json.dumps(graph) + "\n" for graph in drawn.values()))
    build(tmp_path / "set", [tmp_path / "annotations.json"], tmp_path / "graphs.jsonl", min_depth=2)
    assert set(check_set(tmp_path / "set")) == RULES and len(rows(tmp_path / "set" / "graphs.jsonl")) > 1
    for question in rows(tmp_path / "set" / "questions.jsonl"):
        # An absent hit is one that the clip does not have, in any words.
        assert question["absent_action"] not in [action["text"] for action in drawn[question["clip"]]["actions"]]


def test_the_commands_and_former_options_which_warn(sources: Sources, tmp_path: Path, home: Path) -> None:
    annotations, links, takes = sources
    former = ["--annotations", annotations, "--links", links, "--takes", takes, "--candidates", 3, "--paper-rules"]
    out = tmp_path / "set"
    built = CliRunner().invoke(app, ["build", "countervqa", *map(str, former), "--out", str(out)])
    assert built.exit_code == 0 and "clips that pass the filters" in built.stdout, built.output
    warned = [line for line in built.stderr.splitlines() if "is taken for the last time" in line]
    assert [line.split()[1] for line in warned] == [str(word) for word in former if str(word).startswith("--")]
    assert warned[-1].endswith("; write `own_rules: false` into the file of --config, or give --set own_rules=false.")
    build(tmp_path / "keys", [annotations], links, takes, candidates=3, own_rules=False)
    for name in ("questions.jsonl", "graphs.jsonl", "takes.jsonl", "build.json"):
        assert (out / name).read_bytes() == (tmp_path / "keys" / name).read_bytes()
    shown = CliRunner().invoke(app, ["build", "countervqa", "--help"], terminal_width=200).output
    assert "--set" in shown and "--min-depth" not in shown
    assert BUILT_MARK in find_marks(out)
    assert built.stdout.splitlines()[-1] == f"Next:  lmms-eval-tasks prepare countervqa --source {out}"
    prepared = CliRunner().invoke(app, ["prepare", "countervqa", "--source", str(out)])
    assert (prepared.exit_code, prepared.stdout.splitlines()[-1]) == (0, f"Prepared in {home / 'countervqa'}")
    attrition = read_manifest(read_card("countervqa")).splits["test"].attrition
    assert attrition is not None and attrition == read_attrition(out)
    assert attrition.steps[-1].left == len(rows(out / "questions.jsonl"))
    for step in attrition.steps:
        assert not step.removed or step.came - sum(step.removed.values()) == step.left
    checked = CliRunner().invoke(app, ["countervqa", "check-questions", str(out)])
    assert checked.stdout.splitlines()[-1].endswith("questions; none disagrees with its graph.")
    words = ["countervqa", "graph-quality", str(links), str(out / "graphs.jsonl"), "--takes", "1"]
    lines = [line.split() for line in CliRunner().invoke(app, words).stdout.splitlines()]
    assert ["all", "links", "1.0000", "1.0000", "1.0000", "1.0000"] in [line[:6] for line in lines]
    assert any(line[:4] == ["warning:", "Takes", "not", "in"] for line in lines)


def write_links(path: Path, **takes: str) -> Path:
    path.write_text(
        json.dumps({take: [{"from": a, "to": b} for a, b in pairs.split()] for take, pairs in takes.items()})
    )
    return path


def write_graphs(path: Path, *takes: tuple[str, str, str]) -> Path:
    """A graphs.jsonl of takes, each with its actions and links as letters."""
    lines = []
    for take, actions, pairs in takes:
        listed = [{"id": name, "start": float(place), "text": name} for place, name in enumerate(actions)]
        links = [{"cause": a, "effect": b} for a, b in pairs.split()]
        lines.append(json.dumps({"clip": f"{take}.mp4", "actions": listed, "links": links}) + "\n")
    path.write_text("".join(lines))
    return path


def test_graphs_are_compared_take_by_take(tmp_path: Path, expected: Expected) -> None:
    gold = write_graphs(tmp_path / "gold.jsonl", ("t", "abcd", "ab cd ad"), ("u", "abc", "ab"), ("v", "ab", ""))
    quality = compare_graphs(write_links(tmp_path / "predicted.json", t="ab cd bc", u="", w="ab"), gold)
    assert quality.takes == {"t": LinkCounts(2, 1, 1, 2), "u": LinkCounts(0, 0, 1, 2), "v": LinkCounts(0, 0, 0, 1)}
    assert quality.total == LinkCounts(2, 1, 2, 5)
    assert (quality.total.precision, quality.total.recall, quality.total.f1) == pytest.approx((2 / 3, 1 / 2, 4 / 7))
    assert quality.total.accuracy == pytest.approx(7 / 10)
    assert (quality.missing, quality.unknown) == (("v",), ("w",))
    # Without actions there is no accuracy; they may also come from the prediction.
    links = write_links(tmp_path / "links.json", t="ab")
    total = compare_graphs(write_links(tmp_path / "predicted.json", t="ab bc"), links).total
    assert (total.precision, total.accuracy) == (0.5, None)
    assert compare_graphs(write_graphs(tmp_path / "p.jsonl", ("t", "abc", "ab")), links).total.accuracy == 1.0
    gold = write_graphs(tmp_path / "gold.jsonl", ("t", "ab", "ab"))
    said = [refusal(compare_graphs, write_links(tmp_path / "p.json", t="ab ax zb"), gold)]
    said += [refusal(compare_graphs, write_links(tmp_path / "p.json", x="ab"), gold)]
    expected("\n\n".join(said))

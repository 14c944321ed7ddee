"""`build` with models in all roles: what they say, and what they fail at."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from annotated_takes import draw_takes, write_takes
from countervqa_builds import build
from judge_server import Action, Fail, Hold, JudgeServer
from role_player import Drawn, named, player, role_of
from stub_server import material_of
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.construct.countervqa import build as build_command
from lmms_eval_tasks.construct.countervqa.checks import check_set
from lmms_eval_tasks.utils.core.errors import InputError

pytestmark = pytest.mark.slow  # a whole build comes first


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    takes = draw_takes(30, actions=7)
    # A fifth of the pairs goes on, so a take has no more links than that.
    for take in takes.values():
        take["links"] = [(place, place + 1) for place in (0, 1, 2, 4)]
    return takes


@pytest.fixture(scope="module")
def sources(drawn: Drawn, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    annotations, _, tasks = write_takes(tmp_path_factory.mktemp("sources"), drawn)
    return annotations, tasks


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


FILES = ("questions.jsonl", "graphs.jsonl", "takes.jsonl", "steps.jsonl", "build.json")


def whole(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in FILES]


def run(server: JudgeServer, sources: tuple[Path, Path], out: Path, **options: Any) -> list[str]:
    annotations, tasks = sources
    options |= {"verify_with": [named(server, "v1"), named(server, "v2")], "min_depth": 2, "candidates": 5}
    return list(build(out, [annotations], takes=tasks, model=named(server), **options).warnings)


@pytest.fixture(scope="module")
def faulty(drawn: Drawn, sources: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A set that was built through a server with faults."""
    out = tmp_path_factory.mktemp("faulty") / "set"
    with JudgeServer(player(drawn, faults=40, wrong=100)) as server:
        run(server, sources, out, pair_share=1.0)
        asked = Counter(role_of(prompt) for prompt in server.asked)
        assert all(times == 1 or server.asked[prompt] <= 6 for prompt, times in server.paid.items())
    (out.parent / "asked.json").write_text(json.dumps(asked))
    yield out


def test_without_faults_the_links_are_the_true_ones(drawn: Drawn, sources: tuple[Path, Path], tmp_path: Path) -> None:
    with JudgeServer(player(drawn)) as server:
        warnings = run(server, sources, tmp_path / "set", rephrase=True)
        assert set(server.asked.values()) == {1, 2}
        # Both verifying models are asked the same.
        assert {role_of(prompt) for prompt, times in server.asked.items() if times == 2} == {"verification"}
    assert not any("usable reply" in warning for warning in warnings)
    check_set(tmp_path / "set")
    for graph in rows(tmp_path / "set" / "graphs.jsonl"):
        take = drawn[graph["clip"].removesuffix(".mp4")]
        assert [(link["cause"], link["effect"]) for link in graph["links"]] == [
            (f"A{a:02d}", f"A{b:02d}") for a, b in take["links"]
        ]
    questions = rows(tmp_path / "set" / "questions.jsonl")
    assert all(question["question"].startswith("Say: If “") for question in questions)
    assert {question["absent_action"] for question in questions} == {None, "C sings a song.", "C dances.", "C hums."}
    facts = json.loads((tmp_path / "set" / "build.json").read_text())
    assert facts["counts"]["pairs"] == {
        "candidate pairs of actions": 630,
        "  that the observer lets on": 150,
        "  that are causal links": 120,
        "  that nobody judged": 480,
        "  of which a step failed": 0,
    }
    assert facts["steps"]["failed"] == 0
    assert facts["counts"]["rejected"] == {}


def test_every_question_follows_from_its_graph_whatever_fails(faulty: Path) -> None:
    counts = check_set(faulty)
    assert set(counts) == {"adjacent_unlinked", "adjacent_linked", "path", "disconnected", "absent", "absent_goal"}
    facts = json.loads((faulty / "build.json").read_text())["counts"]
    assert set(facts["rejected"]) == {
        "a verifying model answered otherwise",
        "a verifying model gave no usable answer",
    }
    assert facts["kept"] == sum(counts.values()) == facts["candidates"] - sum(facts["rejected"].values())


def test_what_fails_is_a_row_that_says_so_and_no_question(faulty: Path) -> None:
    steps = rows(faulty / "steps.jsonl")
    failed = [step for step in steps if step["reply"] is None]
    assert 0 < len(failed) < len(steps) / 10
    assert all(step["reason"] for step in failed)
    reasons = {step["reason"].partition(":")[0] for step in failed}
    assert reasons == {"unreadable reply", "request refused (400)"}
    undecided = {(step["take"], step["about"]) for step in failed if " > " in step["about"]}
    assert undecided
    questions = rows(faulty / "questions.jsonl")
    for question in questions:
        pair = question["clip"].removesuffix(".mp4"), f"{question['action']} > {question['outcome']}"
        assert pair not in undecided or question["rule"] == "path"
    unanswered = {step["about"] for step in failed if step["role"].startswith("verifying")}
    assert unanswered and not unanswered & {question["id"] for question in questions}
    # A pair whose link was not decided is no link either.
    for graph in rows(faulty / "graphs.jsonl"):
        take = graph["clip"].removesuffix(".mp4")
        known = [*graph["links"], *graph["unlinked"]]
        assert not {(take, f"{link['cause']} > {link['effect']}") for link in known} & undecided
    # What the proposals hold that cannot be used is noted beside them.
    problems = {step["problem"] for step in steps if step["role"] == "absent" and step["reply"]}
    assert problems == {"unusable: 2 is an action of the video; 3 is there before; 5 is no action"}


def test_a_finished_build_asks_nothing_again_but_what_the_server_refused(
    drawn: Drawn, sources: tuple[Path, Path], faulty: Path
) -> None:
    before = whole(faulty)
    refused = [step for step in rows(faulty / "steps.jsonl") if str(step["reason"]).startswith("request refused")]
    facts = json.loads((faulty / "build.json").read_text())
    port = int(facts["settings"]["model"]["server"].rpartition(":")[2].removesuffix("/v1"))
    with JudgeServer(player(drawn, faults=40, wrong=100), port) as server:
        run(server, sources, faulty, pair_share=1.0)
        assert sum(server.asked.values()) == len(refused)
    assert whole(faulty) == before


def test_a_time_out_is_a_row_that_says_so(drawn: Drawn, tmp_path: Path) -> None:
    few = dict(list(drawn.items())[:2])
    annotations, _, tasks = write_takes(tmp_path, few)
    play = player(few)

    def script(prompt: str, before: int) -> Action:
        slow = role_of(prompt) == "critic" and material_of(prompt)["cause"] == "A01"
        return Hold() if slow else play(prompt, before)

    with JudgeServer(script) as server:
        model = named(server, timeout=0.5, requests=2)
        build(tmp_path / "set", [annotations], takes=tasks, model=model, min_depth=1)
    failed = [step for step in rows(tmp_path / "set" / "steps.jsonl") if step["reply"] is None]
    assert {(step["role"], step["about"], step["reason"]) for step in failed} == {("critic", "A01 > A02", "timed out")}
    check_set(tmp_path / "set")
    graphs = rows(tmp_path / "set" / "graphs.jsonl")
    assert {link["cause"] for graph in graphs for link in graph["links"]} == {"A00", "A02", "A04"}
    questions = rows(tmp_path / "set" / "questions.jsonl")
    assert ("A01", "A02") not in {(question["action"], question["outcome"]) for question in questions}
    # A01 may yet lead to A03, by A02, which nobody can tell.
    assert ("A01", "A03") not in {(question["action"], question["outcome"]) for question in questions}


def test_refusals(sources: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    annotations, _ = sources
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    for message, options in {
        "Expected links, the file with the causal links, or model": {},
        "model: Expected the name of a model, but got `none`": {"model": "none"},
        "Expected model, who to ask for other words, beside rephrase": {"rephrase": True, "links": annotations},
        "Expected model, who writes the questions, beside naive": {"naive": True, "links": annotations},
        "Expected no links beside naive": {"naive": True, "links": annotations, "model": "m"},
        "Expected clips, what the models see, beside drop_solved_by": {"links": annotations, "drop_solved_by": ["m"]},
        "frames: .*less than or equal to 1024": {"links": annotations, "frames": 2000},
    }.items():
        with pytest.raises(InputError, match=message):
            build(tmp_path / "set", [annotations], **options)  # type: ignore[arg-type]
    assert not (tmp_path / "set").exists()


@pytest.fixture(scope="module")
def few(drawn: Drawn, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sources of a tenth as many questions."""
    annotations, _, tasks = write_takes(tmp_path_factory.mktemp("few"), dict(list(drawn.items())[:6]))
    return annotations, tasks


def configuration(folder: Path, server: JudgeServer, sources: tuple[Path, Path], **more: object) -> Path:
    """The options of `run` as a file beside the annotations, one model as on the command line and two as names."""
    annotations, tasks = sources
    local = {"provider": "local", "url": server.url, "first_delay": 0, "concurrent": 4}
    values = {
        "annotations": [os.path.relpath(annotations, folder)],
        "takes": str(tasks),
        "model": named(server),
        "verify_with": [{"model": "v1", **local}, {"model": "v2", **local}],
        "min_depth": 2,
        "candidates": 3,
        **more,
    }
    path = folder / "build.yaml"
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


def test_a_set_key_takes_the_place_of_the_files(drawn: Drawn, few: tuple[Path, Path], tmp_path: Path) -> None:
    with JudgeServer(player(drawn)) as server:
        annotations, tasks = few
        verifiers = [named(server, "v1"), named(server, "v2")]
        options: dict[str, Any] = {"takes": tasks, "model": named(server), "verify_with": verifiers}
        build(tmp_path / "named", [annotations], **options, min_depth=2, candidates=3)
        config = configuration(tmp_path, server, few, candidates=5, seed=1)
        build_command(config=config, out=tmp_path / "filed", changes=["candidates=3", "seed=0"])
        assert whole(tmp_path / "filed") == whole(tmp_path / "named")
        # A role may have a model of its own.
        observer = json.dumps({"observer": {"model": "o", "provider": "local", "url": server.url}})
        build_command(config=config, out=tmp_path / "roles", changes=[f"roles={observer}"])
        assert {body["model"] for body in server.bodies} == {"m", "v1", "v2", "o"}
        assert json.loads((tmp_path / "roles/build.json").read_text())["settings"]["roles"]["observer"]["model"] == "o"
        config.write_text(json.dumps({"candidates": 0, "colour": "red", "seed": "x"}), encoding="utf-8")
        with pytest.raises(InputError, match=r"^build\.yaml cannot be used: 3 problems, nothing was asked"):
            build_command(config=config, out=tmp_path / "refused")
        config.write_text(json.dumps({"seed": 1}), encoding="utf-8")
        with pytest.raises(InputError, match=r"^Expected annotations, the files with timed descriptions"):
            build_command(config=config, out=tmp_path / "refused")
        with pytest.raises(InputError, match=r"^Expected --set KEY=VALUE, such as --set seed=0, but got `seed`"):
            build_command(config=config, out=tmp_path / "refused", changes=["seed"])


def test_a_dry_run_shows_what_would_be_asked_and_asks_nothing(
    drawn: Drawn, few: tuple[Path, Path], tmp_path: Path
) -> None:
    with JudgeServer(player(drawn)) as server:
        price = {"input": 1.0, "output": 2.0}
        priced = {"model": "m", "provider": "local", "url": server.url, "price": price}
        config = configuration(tmp_path, server, few, model=priced, verify_with=[named(server, "v1")])
        built = build(tmp_path / "set", config=config, dry_run=True, rephrase=True)
        assert not server.asked and not (tmp_path / "set").exists() and built.folder is None
        run(server, few, tmp_path / "real", rephrase=True)
        asked = Counter(role_of(prompt) for prompt in server.asked)
        words = ["--config", str(config), "--out", str(tmp_path / "set"), "--set", "rephrase=true", "--dry-run"]
        shown = CliRunner().invoke(app, ["build", "countervqa", *words])
        assert shown.exit_code == 0 and "6 annotated clips; nothing was asked" in shown.output, shown.output
    (table,) = built.tables
    requests = {row[0]: int(row[2].replace(",", "")) for row in table.rows}
    # Every pair of six clips of seven actions, a fifth of them by three roles, and the paper's share of clips.
    assert requests["observer"] == asked["observer"]
    assert requests["judged pairs"] == sum(asked[role] for role in ("verifier", "critic", "synthesizer"))
    assert requests["absent actions"] == round(6 * 712 / 1200)
    assert requests["rephrasing"] == requests["verification"] == round(6 * 712 / 1200 * 9)
    costs = {row[0]: row[5] for row in table.rows}
    assert float(costs["observer"]) > 0 and costs["verification"] == costs["all"] == "no price"
    with pytest.raises(InputError, match=r"^Expected links"):
        build(tmp_path / "set", list(few[:1]), dry_run=True)


def test_a_build_that_fails_or_makes_less_leaves_the_set_whole(
    drawn: Drawn, few: tuple[Path, Path], tmp_path: Path
) -> None:
    annotations, tasks = few
    out = tmp_path / "set"

    def make(server: JudgeServer, model: str, replace: bool = False) -> str:
        named_model = named(server, model, requests=1)
        return build(
            out, [annotations], takes=tasks, model=named_model, min_depth=2, candidates=3, replace=replace
        ).summary

    with JudgeServer(player(drawn)) as server:
        make(server, "m")
        before = {name: (out / name).read_bytes() for name in FILES}
        server.script = lambda prompt, count: Fail(500)
        with pytest.raises(InputError, match="Expected at least one question to be kept, but got none"):
            make(server, "down")
        assert {name: (out / name).read_bytes() for name in FILES} == before
        assert {path.name for path in (out / "failed").iterdir()} == set(FILES)
        play = player(drawn)
        lost = ("task 0", "task 1")
        server.script = lambda prompt, count: Fail(500) if any(map(prompt.__contains__, lost)) else play(prompt, count)
        with pytest.raises(InputError, match=r"holds a set of \d+ rows, and this build made \d+; .*was not replaced"):
            make(server, "flaky")
        assert {name: (out / name).read_bytes() for name in FILES} == before
        make(server, "flaky", replace=True)
        assert (out / "questions.jsonl").read_bytes() != before["questions.jsonl"]
        check_set(out)

"""What a build by models may be asked for: unjudged pairs, goals, verifiers, simpler models, and the naive baseline."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from annotated_takes import draw_takes, write_takes
from countervqa_builds import build
from judge_server import Action, JudgeServer, Say, Script
from releases import write_clip
from role_player import Drawn, named, player, role_of
from stub_server import material_of

from lmms_eval_tasks.construct.countervqa.checks import check_set
from lmms_eval_tasks.countervqa.benchmark import prepare
from lmms_eval_tasks.countervqa.release import GRAPHS, QUESTIONS
from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.utils.core.errors import InputError

LOOSE = {"min_ancd": 0.0, "min_depth": 1, "min_cnda": 0.0}


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    """Four takes of six actions, so that three of fifteen pairs go on."""
    takes = draw_takes(4, actions=6)
    for take in takes.values():
        take["links"] = [(0, 1), (1, 3), (4, 5)]
    return takes


@pytest.fixture(scope="module")
def sources(drawn: Drawn, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    annotations, _, tasks = write_takes(tmp_path_factory.mktemp("sources"), drawn)
    return annotations, tasks


def even(play: Script) -> Any:
    """A player whose observer is as sure of every pair."""

    def script(prompt: str, before: int) -> Action:
        if role_of(prompt) == "observer":
            pairs = [entry["pair"] for entry in material_of(prompt)["pairs"]]
            return Say(json.dumps({"confidences": [{"pair": pair, "confidence": 0.5} for pair in pairs]}))
        return play(prompt, before)

    return script


def test_a_pair_that_the_observer_cut_is_not_a_pair_without_a_link(
    drawn: Drawn, sources: tuple[Path, Path], tmp_path: Path
) -> None:
    annotations, tasks = sources
    options: dict[str, Any] = {"takes": tasks, **LOOSE}
    with JudgeServer(even(player(drawn))) as server:
        build(tmp_path / "fifth", [annotations], model=named(server), **options)
        build(tmp_path / "all", [annotations], model=named(server), pair_share=1.0, **options)
    fifth, whole = (json.loads((tmp_path / name / "build.json").read_text()) for name in ("fifth", "all"))
    assert fifth["counts"]["pairs"]["  that nobody judged"] == 4 * 12 and fifth["settings"]["pair_share"] == 0.2
    assert whole["counts"]["pairs"]["  that nobody judged"] == 0
    # The links from 1 to 3 and from 4 to 5 are as sure as the first pairs, and were cut.
    graphs = {graph["clip"]: graph for graph in rows(tmp_path / "fifth" / GRAPHS)}
    for graph in graphs.values():
        assert graph["links"] == [{"cause": "A00", "effect": "A01"}]
        assert [(pair["cause"], pair["effect"]) for pair in graph["unlinked"]] == [("A00", "A02"), ("A00", "A03")]
    questions = rows(tmp_path / "fifth" / QUESTIONS)
    assert {question["rule"] for question in questions} == {"adjacent_linked", "absent", "absent_goal"}
    assert set(check_set(tmp_path / "all")) >= {"adjacent_unlinked", "path", "disconnected"}
    # What the cut pairs would have been taken for: the set says that there is no chain where there is one.
    false = {
        "id": "x", "clip": "take-000.mp4", "level": 2, "interaction": "H2O", "question": "Would it?",
        "verdict": "yes", "explanation": "Yes. No chain.", "action": "A01", "outcome": "A03", "rule": "disconnected",
    }  # fmt: skip
    with (tmp_path / "fifth" / QUESTIONS).open("a") as file:
        file.write(json.dumps(false) + "\n")
    with pytest.raises(InputError, match="`A01` and `A03` are disconnected only if pairs that nobody judged are none"):
        check_set(tmp_path / "fifth")


def test_a_set_that_gives_its_links_gives_what_is_not_known_of_them(
    drawn: Drawn, sources: tuple[Path, Path], tmp_path: Path
) -> None:
    annotations, tasks = sources
    with JudgeServer(player(drawn)) as server:
        build(tmp_path / "set", [annotations], takes=tasks, model=named(server), **LOOSE)
    build(tmp_path / "again", [annotations], takes=tasks, links=tmp_path / "set" / GRAPHS, **LOOSE)
    assert (tmp_path / "again" / GRAPHS).read_bytes() == (tmp_path / "set" / GRAPHS).read_bytes()
    assert not check_set(tmp_path / "again").keys() & {"disconnected"}


def test_level_three_asks_of_the_goal_that_the_model_finds_reached(
    drawn: Drawn, sources: tuple[Path, Path], tmp_path: Path, home: Path
) -> None:
    annotations, tasks = sources
    options: dict[str, Any] = {"takes": tasks, "own_rules": False, **LOOSE}
    with JudgeServer(player(drawn)) as server:
        build(tmp_path / "set", [annotations], model=named(server), verify_with=[named(server, "v")], **options)
    third = [question for question in rows(tmp_path / "set" / QUESTIONS) if question["level"] == 3]
    assert {question["goal"] for question in third} == {"task 0, done", "task 1, done", "task 2, done"}
    assert {(question["outcome"], question["rule"], question["verdict"]) for question in third} == {
        (None, "absent_goal", "yes")
    }
    check_set(tmp_path / "set")
    prepare(tmp_path / "set")
    table = load_table("countervqa", "test", require_clips=False)
    assert {"task 0, done", "task 1, done", "task 2, done"} < set(table["outcome"])
    # Nobody is asked of a goal that is not reached.
    with JudgeServer(player(drawn, reached=False)) as server:
        build(tmp_path / "unreached", [annotations], model=named(server), **options)
    third = [question for question in rows(tmp_path / "unreached" / QUESTIONS) if question["level"] == 3]
    assert third and {(question["goal"], question["rule"]) for question in third} == {(None, "absent")}
    problems = [step["problem"] for step in rows(tmp_path / "unreached" / "steps.jsonl") if step["role"] == "absent"]
    assert problems and all(problem.startswith("unusable: the goal is not reached; ") for problem in problems)


def test_one_model_may_verify_twice(drawn: Drawn, sources: tuple[Path, Path], tmp_path: Path) -> None:
    annotations, tasks = sources
    play = player(drawn)

    def script(prompt: str, before: int) -> Action:
        said = play(prompt, before)
        if role_of(prompt) == "verification" and before:
            # Asked again, it says the opposite.
            assert isinstance(said, Say)
            answer = {"yes": "no", "no": "yes"}[json.loads(said.text)["answer"]]
            return Say(json.dumps({"reason": "", "answer": answer}))
        return said

    with JudgeServer(script) as server:
        one = named(server, "v", temperature=0.7)
        options: dict[str, Any] = {"takes": tasks, "model": named(server), "verify_with": [one, one], **LOOSE}
        with pytest.raises(InputError, match=r"^Expected at least one question to be kept"):
            build(tmp_path / "set", [annotations], **options)
        verified = [prompt for prompt in server.asked if role_of(prompt) == "verification"]
        assert verified and {server.asked[prompt] for prompt in verified} == {2}
        # It goes on from the replies of both.
        with pytest.raises(InputError, match=r"^Expected at least one question to be kept"):
            build(tmp_path / "set", [annotations], **options)
        assert {server.asked[prompt] for prompt in verified} == {2}
    with JudgeServer(play) as server:
        options |= {"model": named(server), "verify_with": [named(server, "v"), named(server, "v")]}
        warnings = build(tmp_path / "kept", [annotations], **options).warnings
    assert any(warning.startswith("verify_with names v twice with temperature 0") for warning in warnings)


def test_what_simpler_models_solve_is_dropped(drawn: Drawn, sources: tuple[Path, Path], tmp_path: Path) -> None:
    annotations, tasks = sources
    for uid in list(drawn)[:3]:
        write_clip(tmp_path / "clips" / f"{uid}.mp4")
    options: dict[str, Any] = {"takes": tasks, "clips": tmp_path / "clips", "frames": 2, "pair_share": 1.0, **LOOSE}
    shown: list[int] = []
    play = player(drawn)

    def script(prompt: str, images: tuple[bytes, ...], before: int) -> Action:
        if role_of(prompt) == "solving":
            shown.append(len(images))
            assert set(material_of(prompt)) == {"question", "frames"}
        return play(prompt, before)

    with JudgeServer(picture_script=script) as server:
        options["model"] = named(server)
        build(
            tmp_path / "set", [annotations], **options, drop_solved_by=[named(server, "small"), named(server, "tiny")]
        )
        build(tmp_path / "all", [annotations], **options)
    kept, every = (rows(tmp_path / name / QUESTIONS) for name in ("set", "all"))
    # Both say yes to everything, and the fourth clip cannot be seen.
    assert [one["id"] for one in kept] == [
        one["id"] for one in every if one["verdict"] == "no" or one["clip"] == "take-003.mp4"
    ]
    facts = json.loads((tmp_path / "set" / "build.json").read_text())
    assert facts["counts"]["rejected"] == {"simpler models solve it": len(every) - len(kept)}
    steps = rows(tmp_path / "set" / "steps.jsonl")
    asked = Counter(step["role"] for step in steps if step["role"].startswith("solving"))
    unseen = [one for one in every if one["clip"] == "take-003.mp4"]
    # The second is asked about what the first solved alone.
    assert asked == {"solving model 1 (small)": len(every), "solving model 2 (tiny)": len(every) - len(kept)}
    assert sum(step["reason"] == "the clip cannot be read" for step in steps) == len(unseen)
    assert set(shown) == {2} and len(shown) == 2 * len(every) - len(kept) - len(unseen)


def test_the_naive_baseline_writes_questions_from_the_annotations_alone(
    drawn: Drawn, sources: tuple[Path, Path], tmp_path: Path, home: Path
) -> None:
    annotations, tasks = sources
    with JudgeServer(player(drawn)) as server:
        options: dict[str, Any] = {"takes": tasks, "model": named(server), "naive": True, "candidates": 1}
        estimated = build(tmp_path / "set", [annotations], **options, dry_run=True).tables[0]
        assert not server.asked
        built = build(tmp_path / "set", [annotations], **options)
        assert {role_of(prompt) for prompt in server.asked} == {"naive"}
        assert {row[0]: row[2] for row in estimated.rows}["questions"] == str(len(server.asked)) == "4"
    # One question of each level and clip; the others name what is not there, or are one too many.
    questions = rows(tmp_path / "set" / QUESTIONS)
    assert Counter((one["level"], one["rule"]) for one in questions) == {(level, None): 4 for level in (1, 2, 3)}
    problems = {step["problem"] for step in rows(tmp_path / "set" / "steps.jsonl")}
    assert problems == {"unusable: 4 (outcome); 5 (goal); 6 (characters); 7 is one too many"}
    assert all(graph["links"] == graph["unlinked"] == [] for graph in rows(tmp_path / "set" / GRAPHS))
    assert check_set(tmp_path / "set") == {"no rule": 12}
    prepare(tmp_path / "set")
    assert load_table("countervqa", "test", require_clips=False)["outcome"].count("a meal") == 4
    table = {name.strip(): (here, paper) for name, here, paper in built.tables[0].rows}
    # The paper's numbers are of another method.
    assert table["candidate questions"] == table["questions kept"] == ("12", "")
    assert table["questions removed"] == ("0.0%", "")
    assert {row[-1] for one in built.tables for row in one.rows} == {""}

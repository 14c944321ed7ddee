"""`build` from annotated clips to minimal pairs, a stand-in in every role: what it finds, and what it fails at."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from annotated_pairs import TruePair, pair_player, released_items, write_config
from expected import Expected
from host_run import own_command, run_host
from judge_server import JudgeServer, PictureScript
from refusals import refusal
from stub_server import material_of, read_request

from lmms_eval_tasks.construct.engine.attrition import BuiltSet
from lmms_eval_tasks.construct.mvp import build
from lmms_eval_tasks.mvp.benchmark import SUBSETS

pytestmark = pytest.mark.slow  # the sample is filmed first

PHYSICS = 8
"""Number of the first pair of physics, whose questions are the source's own."""
FAULTS = {
    # In the order of the steps; pairs 0 to 3 are of hands, 4 to 7 of robots, 12 to 15 of order.
    "malformed": 0,
    "refusal": 1,
    "time-out": 2,
    "not offered": 4,
    "nothing": 5,
    "equal": 6,
    "leak": 12,
    "synonym": 13,
    "no question": 14,
    "missing END": PHYSICS,
    "solved by frames": PHYSICS + 1,
}


def model(url: str, **more: Any) -> dict[str, Any]:
    patient = {"first_delay": 0, "longest_delay": 0, "concurrent": 4, "timeout": 30}
    return {"model": "m", "provider": "local", "url": url, **patient, **more}


def run(
    script: PictureScript, pairs: list[TruePair], sources: Path, folder: Path, roles: Mapping[str, Any], **options: Any
) -> tuple[BuiltSet, JudgeServer]:
    """The set that was built, and the server that was asked."""
    folder.mkdir(exist_ok=True)
    with JudgeServer(picture_script=script) as server:
        named = {name: model(server.url, **changes) for name, changes in roles.items()}
        config = write_config(folder, pairs, sources / "videos", roles=named, **options)
        return build(config, folder / "out"), server


@pytest.fixture(scope="module")
def faulty(pair_sources: Path, sample_pairs: list[TruePair], tmp_path_factory: pytest.TempPathFactory) -> BuiltSet:
    """A set that was built with every fault planted in one pair of its own."""
    player = pair_player(sample_pairs, pair_sources / "videos", FAULTS)
    roles = {"default": {"unreadable": 2}, "contrast": {"timeout": 1.0, "requests": 2, "unreadable": 2}}
    return run(player, sample_pairs, pair_sources, tmp_path_factory.mktemp("faulty"), roles)[0]


def test_every_planted_fault_is_named_and_the_pairs_that_are_left_are_the_true_ones(
    faulty: BuiltSet, sample_pairs: list[TruePair], expected: Expected
) -> None:
    expected("\n".join([*map(" | ".join, faulty.tables[0].rows), *faulty.warnings]))
    left = [pair for number, pair in enumerate(sample_pairs) if number not in FAULTS.values()]
    assert faulty.folder is not None and released_items(faulty.folder) == {
        clip: (pair.question, answer, tuple(sorted(pair.answers.values())))
        for pair in left
        for clip, answer in pair.answers.items()
    }


@pytest.mark.host
def test_what_was_built_is_prepared_run_and_solved(faulty: BuiltSet, tmp_path: Path) -> None:
    """`prepare` needs no more than the release that `build` proposes: its clips are beside it."""
    home = tmp_path / "home"
    prepared = own_command(home, "prepare", "mvp", "--source", faulty.folder)
    assert prepared.returncode == 0, prepared.stdout + prepared.stderr
    run = run_host("--model", "sample_solver", "--tasks", "mvp_mini", home=home, out=tmp_path / "run")
    assert run.score("mvp_mini", "pair_accuracy") == run.score("mvp_mini", "sample_data") == 100
    assert sum(run.score(f"mvp_mini_{subset}", "pairs_scored") for subset in SUBSETS) == 5


def test_what_passes_is_asked_again_and_costs_no_pair_and_skills_are_balanced(
    pair_sources: Path, sample_pairs: list[TruePair], tmp_path: Path
) -> None:
    """Every request fails once, and one question is written anew after an objection."""
    player = pair_player(sample_pairs, pair_sources / "videos", {"equal at first": 0}, passing=100)
    built, server = run(player, sample_pairs, pair_sources, tmp_path, {"default": {}})
    assert built.warnings == [] and built.folder is not None and len(released_items(built.folder)) == 32
    steps = json.loads((tmp_path / "out" / "attrition.json").read_text(encoding="utf-8"))["steps"]
    assert all(not step["removed"] for step in steps)
    assert {fault for step in steps for fault in step["asked again"]} >= {"malformed JSON", "refusal"}
    refused = [material_of(read_request(body)[0]).get("refused") for body in server.bodies]
    assert sum("equal candidates" in json.dumps(one) for one in refused) == 2
    # Two skills more than the pairs that are wanted.
    player = pair_player(sample_pairs, pair_sources / "videos")
    options: dict[str, Any] = {"total": 6, "rule": "not-within", "split": "full"}
    built, _ = run(player, sample_pairs, pair_sources, tmp_path / "few", {"default": {}}, **options)
    assert built.folder is not None
    kept = released_items(built.folder, "full").keys()
    by_category = Counter(pair.category for pair in sample_pairs if pair.answers.keys() <= kept)
    assert sorted(by_category.values()) == [1, 1, 2, 2]


def test_problems_come_before_the_first_request(
    pair_sources: Path, sample_pairs: list[TruePair], tmp_path: Path, expected: Expected
) -> None:
    config = write_config(tmp_path, sample_pairs, pair_sources / "videos", roles={"contrast": model("http://x/v1")})
    without_roles = refusal(build, config, tmp_path / "out")
    values = json.loads(config.read_text(encoding="utf-8"))
    config.write_text(json.dumps({**values, "split": "test", "total": 0}), encoding="utf-8")
    expected(f"{without_roles}\n\n{refusal(build, config, tmp_path / 'out')}")

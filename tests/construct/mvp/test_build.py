"""`build` from annotated clips to minimal pairs, a stand-in in every role: what it finds, and what it fails at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from annotated_pairs import PairPlayer, TruePair, released_items, write_config
from host_run import own_command, run_host
from judge_server import JudgeServer, PictureScript

from lmms_eval_tasks.construct.mvp import build
from lmms_eval_tasks.mvp.benchmark import SUBSETS
from lmms_eval_tasks.utils.core.errors import InputError

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
EXPECTED = {
    "another annotation": {},
    "contrasts": {
        "no usable reply: malformed JSON": 1,
        "no usable reply: refusal": 1,
        "no usable reply: timed out": 1,
        "a contrast that was not offered": 1,
        "nothing excludes it": 1,
    },
    "a clip of the contrast": {"no clip shows what excludes it": 5},
    "question and candidates": {"equal candidates": 2, "the question gives a candidate away": 2, "no question": 2},
    "candidates exclude each other": {"candidates of one meaning": 2},
    "minimal pairs": {},
    "single-frame filter": {"no usable reply: missing END": 1, "single frames tell both clips": 1},
    "balance by skill": {},
}


def model(server: JudgeServer | str, **more: Any) -> dict[str, Any]:
    url = server if isinstance(server, str) else server.url
    patient = {"first_delay": 0, "longest_delay": 0, "concurrent": 4, "timeout": 30}
    return {"model": "m", "provider": "local", "url": url, **patient, **more}


def run(
    script: PictureScript, pairs: list[TruePair], sources: Path, folder: Path, roles: Mapping[str, Any], **options: Any
) -> tuple[list[str], JudgeServer]:
    """Build a set; what it warns of, and the server that was asked."""
    with JudgeServer(picture_script=script) as server:
        named = {name: model(server, **changes) for name, changes in roles.items()}
        config = write_config(folder, pairs, sources / "videos", roles=named, **options)
        built = build(config, folder / "out")
    return list(built.warnings), server


@pytest.fixture(scope="module")
def faulty(pair_sources: Path, sample_pairs: list[TruePair], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set that was built with every fault planted in one pair of its own."""
    folder = tmp_path_factory.mktemp("faulty")
    player = PairPlayer(sample_pairs, pair_sources / "videos", FAULTS)
    roles = {"default": {"unreadable": 2}, "contrast": {"timeout": 1.0, "requests": 2, "unreadable": 2}}
    warnings, _ = run(player, sample_pairs, pair_sources, folder, roles)
    assert warnings == ["1 rows went because a server gave no reply; the same command asks for them again."]
    return folder / "out"


def test_every_planted_fault_is_named_in_the_attrition_table(faulty: Path) -> None:
    attrition = json.loads((faulty / "attrition.json").read_text(encoding="utf-8"))
    assert attrition["start"] == {"annotated clips": 32}
    counts = {step["step"]: (step["in"], step["out"]) for step in attrition["steps"]}
    assert {step["step"]: step["removed"] for step in attrition["steps"]} == EXPECTED
    assert counts["minimal pairs"] == (14, 7)
    assert counts["balance by skill"] == (5, 5)
    audits = sorted(path.name for path in (faulty / "steps").iterdir())
    assert len(audits) == 8 and audits[5] == "06_minimal_pairs.jsonl"


def test_the_pairs_that_are_left_are_the_true_ones(faulty: Path, sample_pairs: list[TruePair]) -> None:
    left = [pair for number, pair in enumerate(sample_pairs) if number not in FAULTS.values()]
    truth = {
        clip: (pair.question, answer, tuple(sorted(pair.answers.values())))
        for pair in left
        for clip, answer in pair.answers.items()
    }
    assert released_items(faulty / "release") == truth


@pytest.mark.host
def test_what_was_built_is_prepared_run_and_solved(faulty: Path, tmp_path: Path) -> None:
    """`prepare` needs no more than the release that `build` proposes: its clips are beside it."""
    home = tmp_path / "home"
    prepared = own_command(home, "prepare", "mvp", "--source", faulty / "release")
    assert prepared.returncode == 0, prepared.stdout + prepared.stderr
    run = run_host("--model", "sample_solver", "--tasks", "mvp_mini", home=home, out=tmp_path / "run")
    assert run.score("mvp_mini", "pair_accuracy") == run.score("mvp_mini", "sample_data") == 100
    assert sum(run.score(f"mvp_mini_{subset}", "pairs_scored") for subset in SUBSETS) == 5


def test_what_passes_is_asked_again_and_costs_no_pair(
    pair_sources: Path, sample_pairs: list[TruePair], tmp_path: Path
) -> None:
    """Every request fails once, and one question is written anew after an objection."""
    player = PairPlayer(sample_pairs, pair_sources / "videos", {"equal at first": 0}, hiccups=True)
    warnings, server = run(player, sample_pairs, pair_sources, tmp_path, {"default": {}})
    assert warnings == [] and len(released_items(tmp_path / "out" / "release")) == 32
    steps = json.loads((tmp_path / "out" / "attrition.json").read_text(encoding="utf-8"))["steps"]
    assert all(not step["removed"] for step in steps)
    assert {fault for step in steps for fault in step["asked again"]} >= {"malformed JSON", "refusal"}
    prompts = [body["messages"][-1]["content"] for body in server.bodies]
    texts = [prompt if isinstance(prompt, str) else prompt[0]["text"] for prompt in prompts]
    assert sum('"objection": "equal candidates"' in text for text in texts) == 2


def test_skills_are_balanced_and_rules_of_ones_own_are_kept(
    pair_sources: Path, sample_pairs: list[TruePair], tmp_path: Path
) -> None:
    player = PairPlayer(sample_pairs, pair_sources / "videos")
    run(player, sample_pairs, pair_sources, tmp_path, {"default": {}}, total=6, rule="not-within", split="full")
    kept = set(released_items(tmp_path / "out" / "release", "full"))
    by_category: dict[str, int] = {}
    for pair in sample_pairs:
        by_category[pair.category] = by_category.get(pair.category, 0) + (kept >= pair.answers.keys())
    assert sorted(by_category.values()) == [1, 1, 2, 2]


def test_problems_come_before_the_first_request(
    pair_sources: Path, sample_pairs: list[TruePair], tmp_path: Path
) -> None:
    config = write_config(tmp_path, sample_pairs, pair_sources / "videos", roles={"contrast": model("http://x/v1")})
    with pytest.raises(InputError, match="roles: Expected question, exclusion, single_frame, but got none"):
        build(config, tmp_path / "out")
    values = json.loads(config.read_text(encoding="utf-8"))
    config.write_text(json.dumps({**values, "split": "test", "total": 0}), encoding="utf-8")
    with pytest.raises(InputError, match=r"build\.yaml cannot be used: 2 problems, nothing was asked"):
        build(config, tmp_path / "out")

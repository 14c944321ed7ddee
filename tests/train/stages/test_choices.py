"""`train BENCHMARK sft` and `grpo` on multiple-choice sets, for every benchmark that announces such."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from fake_swift import FakeSwift
from releases import question_row, write_causalvqa, write_clip, write_mvp
from typer.testing import CliRunner, Result

from lmms_eval_tasks.causalvqa.benchmark import prepare as prepare_causalvqa
from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.mvp.benchmark import prepare as prepare_mvp
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.run_card import read_trained_on
from lmms_eval_tasks.train.cli import TRAINERS
from lmms_eval_tasks.train.rewards.functions import REWARDS
from lmms_eval_tasks.train.rewards.reward_sample import read_sample
from lmms_eval_tasks.train.stages import choices
from lmms_eval_tasks.train.stages.choices import ChoiceSets
from lmms_eval_tasks.utils.answers.choice import read_choice
from lmms_eval_tasks.utils.data.identity import Count

QUESTIONS = [question_row("7", "planning", "easy", (2, 4)), question_row("8", "descriptive", "hard", (5, 1))]


def causalvqa(root: Path, frames: int = 8) -> list[str]:
    release = write_causalvqa(root, "debug", QUESTIONS)
    write_clip(release / "debug" / "videos" / "clip.mp4", frames)
    return ["causalvqa", "--source", str(release)]


def mvp(root: Path, frames: int = 8) -> list[str]:
    """Two of the four subsets, whose clips differ from source to source."""
    pairs = {"intuitive_physics": [("grasp_1", "grasp")], "temporal_reasoning": [("star_1", "star")]}
    snapshot, videos = write_mvp(root, "mini", pairs)
    for more, source in enumerate(("grasp", "star")):
        write_clip(videos / source / "clip.mp4", frames + more)
    return ["mvp", "--source", str(snapshot)]


Write = Callable[..., list[str]]
SETS = pytest.mark.parametrize("write", [causalvqa, mvp], ids=lambda write: write.__name__)


@pytest.fixture
def swift(tmp_path: Path) -> FakeSwift:
    return FakeSwift(tmp_path / "env")


def train(swift: FakeSwift, command: str, words: list[str], *more: str) -> Result:
    name, *source = words
    out = swift.folder.parent / "out"
    folders = [*source, "--out", str(out), "--env", str(swift.folder)]
    return CliRunner().invoke(app, ["train", name, command, *folders, *more])


def choice_sets(name: str) -> ChoiceSets:
    return ChoiceSets(registry().benchmarks[name], TRAINERS.found[name])


def rows(swift: FakeSwift, name: str) -> list[dict[str, Any]]:
    text = (swift.folder.parent / "out" / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@SETS
def test_grpo_rewards_the_key_of_each_question(home: Path, swift: FakeSwift, tmp_path: Path, write: Write) -> None:
    words = write(tmp_path / "set")
    ended = train(swift, "grpo", words)
    assert ended.exit_code == 0, ended.output
    assert swift.words == [["rlhf", "grpo.yaml"]]
    options = yaml.safe_load((tmp_path / "out" / "grpo.yaml").read_text(encoding="utf-8"))
    assert (options["reward_funcs"], options["reward_weights"]) == (["choice"], [1.0])
    assert [Path(path).is_file() for path in options["external_plugins"]] == [True]
    sets = choice_sets(words[0])
    ask = choices.asker(sets.benchmark)
    questions = choices.read_training_set(sets, Path(words[2]))
    written = rows(swift, "grpo")
    assert len(written) == len(questions.rows) == 4
    for row, question in zip(written, questions.rows, strict=True):
        (asked,) = row["messages"]
        assert asked["content"] == "<video>" + ask(question) and question["question"] in str(asked)
        for letter in "ABCDE"[: len(question["options"])]:
            reward = REWARDS["choice"](f"I think that ({letter}) is right.", read_sample(row))
            assert reward == (letter == question["answer"])
    trained = read_trained_on(tmp_path / "out")
    assert trained is not None and trained.stages[0].method == "grpo (choice)" and trained.stages[0].data


@SETS
def test_sft_answers_with_the_key(home: Path, swift: FakeSwift, tmp_path: Path, write: Write) -> None:
    words = write(tmp_path / "set")
    assert train(swift, "sft", words).exit_code == 0
    questions = choices.read_training_set(choice_sets(words[0]), Path(words[2]))
    for row, question in zip(rows(swift, "sft"), questions.rows, strict=True):
        answer = row["messages"][1]["content"]
        assert read_choice(answer, question["options"]) == question["answer"] == answer
        assert set(row) == {"messages", "videos"}


def prepare_set(words: list[str]) -> None:
    source = Path(words[2])
    if words[0] == "causalvqa":
        prepare_causalvqa(source)
    else:
        for missing in ("human_object_interactions", "robot_object_interactions"):
            shutil.copytree(source / "intuitive_physics", source / missing)
        card = source / "README.md"
        head, end, _ = card.read_text().rpartition("---")
        more = "".join(
            f"- config_name: {name}\n  data_files:\n  - split: mini\n    path: {name}/mini-*.parquet\n"
            for name in ("human_object_interactions", "robot_object_interactions")
        )
        card.write_text(head + more + end)
        prepare_mvp(source.parent / "videos", str(source))


@SETS
def test_clips_that_are_tested_on_are_refused(home: Path, swift: FakeSwift, tmp_path: Path, write: Write) -> None:
    test, words = write(tmp_path / "test"), write(tmp_path / "set")
    if write is causalvqa:
        write_causalvqa(tmp_path / "test", "test", QUESTIONS, withheld=True)
    ended = train(swift, "grpo", words, "--test", test[2])
    assert ended.exit_code == 1 and f"clips of {test[2]}" in ended.output.replace("\n", "")
    prepare_set(write(tmp_path / "prepared"))
    for command in ("sft", "grpo"):
        ended = train(swift, command, words)
        assert ended.exit_code == 1 and "Expected training clips that nothing is tested on" in ended.output
    assert not swift.calls and not (tmp_path / "out").exists()


@SETS
def test_the_benchmark_s_own_items_are_refused_though_their_clips_are_others(
    home: Path, swift: FakeSwift, tmp_path: Path, write: Write
) -> None:
    prepare_set(write(tmp_path / "test", frames=16))
    ended = train(swift, "grpo", write(tmp_path / "set"))
    output = " ".join(ended.output.split())
    assert ended.exit_code == 1 and "clip.mp4 is clip.mp4 of" in output
    assert ("with the same question" if write is causalvqa else "by the id of its collection") in output


@SETS
def test_the_release_itself_is_refused_where_it_is_not_prepared(
    home: Path, swift: FakeSwift, tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is known by its numbers, which are here made those of the set."""
    monkeypatch.setattr(choices, "counts", lambda card, split, table: [Count("items", 4, 4)])
    ended = train(swift, "grpo", write(tmp_path / "set"))
    output = " ".join(ended.output.split())
    assert ended.exit_code == 1 and "as many questions of each kind as" in output and not swift.calls


@SETS
def test_a_split_is_named_where_there_are_several_and_has_keys(
    home: Path, swift: FakeSwift, tmp_path: Path, write: Write
) -> None:
    words = write(tmp_path / "set")
    assert train(swift, "grpo", words, "--split", "other").exit_code == 1
    withheld = write_causalvqa(tmp_path / "withheld", "test", QUESTIONS, withheld=True)
    ended = train(swift, "grpo", ["causalvqa", "--source", str(withheld)])
    assert ended.exit_code == 1 and "4 of 4" in ended.output and "have none" in " ".join(ended.output.split())
    write_causalvqa(tmp_path / "more", "debug", QUESTIONS)
    release = write_causalvqa(tmp_path / "more", "test", QUESTIONS)
    ended = train(swift, "grpo", ["causalvqa", "--source", str(release)])
    assert ended.exit_code == 1 and "Expected --split to be one of test, debug" in " ".join(ended.output.split())
    assert train(swift, "grpo", ["causalvqa", "--source", str(release)], "--split", "test").exit_code == 0


def test_every_benchmark_with_keys_and_options_can_be_trained_on() -> None:
    shown = CliRunner().invoke(app, ["train", "--help"]).output
    assert TRAINERS.found and set(TRAINERS.found) <= set(registry().benchmarks)
    for name in registry().benchmarks:
        assert (name in shown) == (name in TRAINERS.found)

"""`train BENCHMARK sft` and `grpo` on multiple-choice sets, for every benchmark that announces such."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from commands import Done, call, printed
from expected import Expected
from fake_swift import FakeSwift
from releases import question_row, write_causalvqa, write_clip, write_mvp

from lmms_eval_tasks.causalvqa.benchmark import prepare as prepare_causalvqa
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
from lmms_eval_tasks.utils.data.prepare import Preparation

QUESTIONS = [question_row("7", "planning", "easy", (2, 4)), question_row("8", "descriptive", "hard", (5, 1))]


def causalvqa(root: Path, frames: int = 8) -> Path:
    release = write_causalvqa(root, "debug", QUESTIONS)
    write_clip(release / "debug" / "videos" / "clip.mp4", frames)
    return release


def mvp(root: Path, frames: int = 8) -> Path:
    """Two of the four subsets, whose clips differ from source to source."""
    pairs = {"intuitive_physics": [("grasp_1", "grasp")], "temporal_reasoning": [("star_1", "star")]}
    snapshot, videos = write_mvp(root, "mini", pairs)
    for more, source in enumerate(("grasp", "star")):
        write_clip(videos / source / "clip.mp4", frames + more)
    return snapshot


Write = Callable[..., Path]
SETS = pytest.mark.parametrize("write", [causalvqa, mvp], ids=lambda write: write.__name__)


@pytest.fixture
def swift(home: Path, tmp_path: Path) -> FakeSwift:
    return FakeSwift(tmp_path / "env")


def train(swift: FakeSwift, command: str, benchmark: str, source: Path, *more: object) -> Done:
    folders = ("--source", source, "--out", swift.folder.parent / "out", "--env", swift.folder)
    return call("train", benchmark, command, *folders, *more)


@pytest.mark.slow
@SETS
def test_trainings_ask_as_the_evaluation_does_and_reward_the_key(
    swift: FakeSwift, tmp_path: Path, write: Write
) -> None:
    name, source, out = write.__name__, write(tmp_path / "set"), tmp_path / "out"
    assert train(swift, "grpo", name, source).status == 0
    assert [made["words"] for made in swift.calls] == [["rlhf", "grpo.yaml"]]
    options = yaml.safe_load((out / "grpo.yaml").read_text(encoding="utf-8"))
    assert (options["reward_funcs"], options["reward_weights"]) == (["choice"], [1.0])
    assert [Path(path).is_file() for path in options["external_plugins"]] == [True]
    trained = read_trained_on(out)
    assert trained is not None and trained.stages[0].method == "grpo (choice)" and trained.stages[0].data
    rewarded = [json.loads(line) for line in (out / "grpo.jsonl").read_text(encoding="utf-8").splitlines()]
    shutil.rmtree(out)
    assert train(swift, "sft", name, source).status == 0
    taught = [json.loads(line) for line in (out / "sft.jsonl").read_text(encoding="utf-8").splitlines()]

    sets = ChoiceSets(registry().benchmarks[name], TRAINERS.found[name])
    ask = choices.asker(sets.benchmark)
    questions = choices.read_training_set(sets, source).rows
    assert len(questions) == 4
    for question, row, sft in zip(questions, rewarded, taught, strict=True):
        (asked,) = row["messages"]
        assert asked["content"] == "<video>" + ask(question) and question["question"] in str(asked)
        for letter in "ABCDE"[: len(question["options"])]:
            reward = REWARDS["choice"](f"I think that ({letter}) is right.", read_sample(row))
            assert reward == (letter == question["answer"])
        answer = sft["messages"][1]["content"]
        assert read_choice(answer, question["options"]) == question["answer"] == answer
        assert set(sft) == {"messages", "videos"}


def prepare_set(source: Path) -> None:
    """Prepare such a set, of MVP with the subsets that it lacks."""
    if not (source / "README.md").exists():
        prepare_causalvqa(Preparation(), source)
        return
    missing = ("human_object_interactions", "robot_object_interactions")
    head, end, _ = (source / "README.md").read_text().rpartition("---")
    for name in missing:
        shutil.copytree(source / "intuitive_physics", source / name)
        head += f"- config_name: {name}\n  data_files:\n  - split: mini\n    path: {name}/mini-*.parquet\n"
    (source / "README.md").write_text(head + end)
    prepare_mvp(Preparation(), source.parent / "videos", str(source))


@pytest.mark.slow
@SETS
def test_what_is_tested_on_is_refused(
    swift: FakeSwift, tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    """The clips of a set that is named or prepared, its items though their clips are others, and the release itself."""
    name, test, source = write.__name__, write(tmp_path / "test"), write(tmp_path / "set")
    if write is causalvqa:
        write_causalvqa(tmp_path / "test", "test", QUESTIONS, withheld=True)
    refused = [train(swift, "grpo", name, source, "--test", test)]
    with monkeypatch.context() as patch:
        # The release is known by its numbers, which are here made those of the set.
        patch.setattr(choices, "counts", lambda card, split, table: [Count("items", 4, 4)])
        refused.append(train(swift, "grpo", name, source))
    for folder, frames in (("prepared", 8), ("others", 16)):
        monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "homes" / folder))
        prepare_set(write(tmp_path / folder, frames))
        refused.append(train(swift, "sft", name, source))
    assert {done.status for done in refused} == {1} and not swift.calls and not (tmp_path / "out").exists()
    expected("\n".join(done.err for done in refused))


def test_a_split_is_named_where_there_are_several_and_has_keys(
    swift: FakeSwift, tmp_path: Path, expected: Expected
) -> None:
    withheld = write_causalvqa(tmp_path / "withheld", "test", QUESTIONS, withheld=True)
    write_causalvqa(tmp_path / "more", "debug", QUESTIONS)
    release = write_causalvqa(tmp_path / "more", "test", QUESTIONS)
    one = causalvqa(tmp_path / "set")
    refused = [
        train(swift, "grpo", "causalvqa", one, "--split", "other"),
        train(swift, "grpo", "causalvqa", withheld),
        train(swift, "grpo", "causalvqa", release),
    ]
    assert {done.status for done in refused} == {1}
    expected("\n".join(done.err for done in refused))
    assert train(swift, "grpo", "causalvqa", release, "--split", "test").status == 0


def test_every_benchmark_with_keys_and_options_can_be_trained_on() -> None:
    shown = printed("train", "--help")
    assert TRAINERS.found and set(TRAINERS.found) <= set(registry().benchmarks)
    for name in registry().benchmarks:
        assert (name in shown) == (name in TRAINERS.found)

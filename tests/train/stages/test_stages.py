"""A training: its configuration, clips that a model is tested on, and its curves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from lmms_eval_tasks.train.stages.commands import BLOCKS, WIDTH, draw_curves, read_curves, spark_line
from lmms_eval_tasks.train.stages.new_stage import TestedClip, compare_clips, namesakes
from lmms_eval_tasks.train.stages.stage import Frames, base_options, configuration_text, read_options
from lmms_eval_tasks.utils.core.errors import InputError


def test_the_paper_s_frames_are_512_of_144_pixels_a_side() -> None:
    """By tokens, of 28 and 32 pixels a side: qwen-vl-utils 0.0.14 reads no other bound."""
    variables = Frames().environment("qwen2_5_vl")
    assert (variables["FPS_MAX_FRAMES"], variables["VIDEO_MAX_TOKEN_NUM"]) == ("512", "26")
    assert Frames().environment("qwen3_vl")["VIDEO_MAX_TOKEN_NUM"] == "20"
    assert 28 * 28 * 26 <= 144 * 144 < 28 * 28 * 27 and 32 * 32 * 20 <= 144 * 144 < 32 * 32 * 21


def test_the_file_holds_every_option_and_the_environment(tmp_path: Path) -> None:
    options = {**base_options("org/model", "qwen3_vl", tmp_path / "a.jsonl", tmp_path / "out"), "deepspeed": "zero2"}
    text = configuration_text("sft", "sft.yaml", Frames(8).environment("qwen3_vl"), options)
    assert "swift sft sft.yaml" in text.splitlines()[0]
    read = yaml.safe_load(text)
    assert read.pop("ENV")["FPS_MAX_FRAMES"] == "8"
    assert read == options
    assert (read["lora_rank"], read["num_train_epochs"], read["strict"]) == (16, 3, True)
    assert read["dataset"] == [str(tmp_path / "a.jsonl")] and read["add_version"] is False


def test_the_system_message_is_that_of_the_evaluation(tmp_path: Path) -> None:
    helpful = "You are a helpful assistant."
    for model_type, system in (("qwen2_5_vl", helpful), ("qwen3_vl", helpful), ("internvl3", None)):
        assert base_options("org/model", model_type, tmp_path, tmp_path).get("system") == system


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ([], {}),
        (["--deepspeed", "zero2", "--bf16", "--lora_rank=8"], {"deepspeed": "zero2", "bf16": True, "lora_rank": 8}),
        (["--modules_to_save", "a", "b", "--seed", "-1"], {"modules_to_save": ["a", "b"], "seed": -1}),
        (["--learning-rate", "1e-4", "--x", "{'a': 1}"], {"learning_rate": "1e-4", "x": "{'a': 1}"}),
        (["--save_strategy", "no", "--packing", "True"], {"save_strategy": "no", "packing": True}),
        (["--packing", "false", "--note", ""], {"packing": False, "note": ""}),
    ],
)
def test_further_options_are_read_as_ms_swift_takes_them(words: list[str], options: dict[str, Any]) -> None:
    assert read_options(words) == options


def test_options_that_cannot_be_passed_on_are_refused() -> None:
    for words, message in (
        (["stray"], "Expected options of ms-swift as --name value, but got 'stray'"),
        (["--seed", "1", "--seed", "2"], "'--seed', twice"),
        (["--output-dir", "x"], "'--output-dir', which this command sets itself"),
        (["--", "x"], "'--', without one"),
    ):
        with pytest.raises(InputError, match=message):
            read_options(words)


def test_names_are_compared_with_the_folders_that_a_test_has() -> None:
    for own, name, same in (
        ("set/clips/one.mp4", "one.mp4", True),
        ("set/clips/One.webm", "one.mp4", True),
        ("set/ssv2/1.mp4", "ssv2/1.mp4", True),
        ("set/clevrer/1.mp4", "ssv2/1.mp4", False),
        ("set/one_1.mp4", "one.mp4", False),
        ("1.mp4", "ssv2/1.mp4", False),
    ):
        tested = TestedClip("a test", name, Path("absent"))
        assert namesakes([Path(own)], [tested]) == ([(Path(own), tested)] if same else []), own


def test_the_same_question_is_found_through_its_spacing(tmp_path: Path) -> None:
    own = {tmp_path / "one.mp4": ["Why  does it fall?"]}
    with pytest.raises(InputError, match=r"1 of 1 are clips of a test: one\.mp4 is one\.webm of a test, with the same"):
        compare_clips(own, [TestedClip("a test", "one.webm", Path("absent"), ["why does it fall?"])])


def test_questions_without_words_are_no_sign_and_a_clip_counts_in_every_test_that_has_it(tmp_path: Path) -> None:
    comparison = compare_clips({tmp_path / "one.mp4": [""]}, [TestedClip("a test", "one.mp4", Path("absent"), [""])])
    assert comparison.same_names == {"a test": ["one.mp4"]} and comparison.missing == {"a test": 1}
    path = tmp_path / "tested.mp4"
    path.write_bytes(b"clip")
    tested = [TestedClip(source, "tested.mp4", path) for source in ("one, split mini", "one, split full")]
    assert compare_clips({}, tested).compared == {"one, split full": 1, "one, split mini": 1}


LINES = [
    {"loss": 2.0, "reward": 0.1, "rewards/CausalReward/mean": 0.2, "global_step/max_steps": "1/4"},
    {"rewards/CausalReward/std": 9.0, "kl": 1.0, "global_step/max_steps": "1/4"},
    {"loss": 9.0, "reward": 0.2, "rewards/CausalReward/mean": float("nan"), "global_step/max_steps": "2/4"},
    {"loss": 1.0, "reward": 0.3, "rewards/VisualReward/mean": 0.5, "global_step/max_steps": "2/4"},
    {"loss": 10**400, "reward": float("inf"), "global_step/max_steps": "3/4"},
    {"train_runtime": 3.0, "global_step/max_steps": "4/4"},
    {"last_model_checkpoint": "x", "global_step": 4},
]  # fmt: skip


def write_log(folder: Path) -> Path:
    path = folder / "logging.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES) + '{"loss": 5, "glob', encoding="utf-8")
    return path


def test_each_reward_has_a_curve_and_steps_made_again_count_once(tmp_path: Path) -> None:
    assert read_curves(write_log(tmp_path)) == {
        "loss": {1: 2.0, 2: 1.0}, "reward": {1: 0.1, 2: 0.3}, "reward: causal": {1: 0.2}, "reward: visual": {2: 0.5},
    }  # fmt: skip


def test_the_picture_is_a_png_file_and_without_a_log_there_are_no_curves(tmp_path: Path) -> None:
    assert read_curves(tmp_path / "logging.jsonl") == {}
    draw_curves(read_curves(write_log(tmp_path)), tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_a_line_rises_where_the_values_do() -> None:
    assert spark_line(range(8)) == BLOCKS
    assert spark_line([1.0, 1.0]) == BLOCKS[0] * 2 and spark_line([]) == ""
    falling = spark_line(range(1000, 0, -1))
    assert len(falling) == WIDTH and list(falling) == sorted(falling, reverse=True)

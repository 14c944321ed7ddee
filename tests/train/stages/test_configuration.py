"""The configuration of a training: a whole YAML file, and options that pass through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from lmms_eval_tasks.train.stages.configuration import Configuration, Frames, base_options, read_options
from lmms_eval_tasks.utils.core.errors import InputError


def test_the_paper_s_frames_are_512_of_144_pixels_a_side() -> None:
    """By tokens, of 28 and 32 pixels a side: qwen-vl-utils 0.0.14 reads no other bound."""
    variables = Frames().environment("qwen2_5_vl")
    assert (variables["FPS_MAX_FRAMES"], variables["VIDEO_MAX_TOKEN_NUM"]) == ("512", "26")
    assert Frames().environment("qwen3_vl")["VIDEO_MAX_TOKEN_NUM"] == "20"
    assert 28 * 28 * 26 <= 144 * 144 < 28 * 28 * 27 and 32 * 32 * 20 <= 144 * 144 < 32 * 32 * 21


def test_the_file_holds_every_option_and_the_environment(tmp_path: Path) -> None:
    options = {**base_options("org/model", "qwen3_vl", tmp_path / "a.jsonl", tmp_path / "out"), "deepspeed": "zero2"}
    path = tmp_path / "sft.yaml"
    Configuration("sft", options, Frames(8).environment("qwen3_vl")).write(path)
    text = path.read_text(encoding="utf-8")
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

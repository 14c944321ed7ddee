"""Curves of a training, from ms-swift's log."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_tasks.train.stages.commands import BLOCKS, WIDTH, draw_curves, read_curves, spark_line

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


@settings(max_examples=30)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200))
def test_a_line_is_as_long_as_it_may_be(values: list[float]) -> None:
    line = spark_line(values)
    assert len(line) == min(WIDTH, len(values)) and set(line) <= set(BLOCKS)

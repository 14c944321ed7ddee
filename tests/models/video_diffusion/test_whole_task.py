"""Every family through the host's own evaluation: prepared table, model, losses, scores and the leaderboard's file."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from tiny_models import BUILDERS
from tiny_runs import tiny_checkpoint
from yocausal_world import write_release

from lmms_eval_tasks.yocausal.benchmark import prepare


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Any:
    root = tmp_path_factory.mktemp("whole_task")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(root / "home"))
        patch.setenv("HF_HOME", str(root / "hf"))
        patch.setenv("ACCELERATE_USE_CPU", "true")
        prepare(str(write_release(root / "release", pairs=1)))
        yield root / "home"


@pytest.fixture(scope="module")
def manager(home: Path) -> Any:
    import lmms_eval.models  # noqa: F401  (loads the entry points, as every evaluation does)
    from lmms_eval.tasks import TaskManager

    return TaskManager(model_name="video_diffusion")


@pytest.mark.parametrize("family", sorted(BUILDERS))
def test_a_family_runs_the_whole_task(family: str, manager: Any, checkpoints: Path, tmp_path: Path) -> None:
    from lmms_eval.evaluator import simple_evaluate

    arguments = {
        "family": family,
        "pretrained": str(tiny_checkpoint(checkpoints, family)),
        "dtype": "float32",
        "cache": "none",
        **BUILDERS[family][1],
    }
    found = simple_evaluate(
        model="video_diffusion",
        model_args=",".join(f"{name}={value}" for name, value in arguments.items()),
        tasks=["yocausal"],
        batch_size=1,
        device="cpu",
        task_manager=manager,
        cli_args=Namespace(output_path=str(tmp_path), process_with_media=False),
    )
    scores = found["results"]["yocausal"]
    assert (scores["submission_rows,none"], scores["unscored_rate,none"], scores["unparsed_rate,none"]) == (4, 0, 0)
    assert 0 <= scores["rsi,none"] <= 100
    result = json.loads((tmp_path / "submissions" / "yocausal_results.json").read_text(encoding="utf-8"))
    assert len(result["per_video_results"]) == 4
    for pair in result["per_video_results"]:
        losses = [len(pair[side]["step_losses"]) for side in ("forward_metrics", "backward_metrics")]
        assert losses == [10, 10]

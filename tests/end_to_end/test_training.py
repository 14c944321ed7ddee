"""The whole way of a training with the real ms-swift: questions, a stopped run, weights, and their evaluation."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from host_run import own_command, run_host

from lmms_eval_tasks.sample.tiny_vlm import write_tiny_vlm
from lmms_eval_tasks.sample.writers.countervqa import WRITER
from lmms_eval_tasks.utils.core.progress import no_progress
from lmms_eval_tasks.utils.runs.run import read_run
from lmms_eval_tasks.utils.training.curves import read_curves
from lmms_eval_tasks.utils.training.stage import log_path

pytestmark = [
    pytest.mark.host,
    pytest.mark.model,
    pytest.mark.skipif(
        not os.environ.get("TRAIN_ENV"), reason="TRAIN_ENV names no environment with ms-swift: make train-env"
    ),
]
OPTIONS = (
    "--model-type", "qwen2_5_vl", "--frames", "4", "--torch_dtype", "float32", "--learning_rate", "1e-2",
    "--modules_to_save", "lm_head", "--lr_scheduler_type", "constant", "--per_device_train_batch_size", "8",
    "--gradient_accumulation_steps", "1", "--save_steps", "2", "--report_to", "none", "--max_steps", "6",
)  # fmt: skip


def write_questions(folder: Path, seed: int) -> Path:
    """A set about one clip."""
    (folder / "clips").mkdir(parents=True)
    WRITER.write(folder, seed, {"clips": 1}, no_progress)
    return folder


def test_a_training_is_resumed_exported_and_evaluated(tmp_path: Path) -> None:
    home = tmp_path / "home"
    environment = Path(os.environ["TRAIN_ENV"]).absolute()
    training, test = write_questions(tmp_path / "training", 7), write_questions(tmp_path / "test", 0)
    assert own_command(home, "prepare", "countervqa", "--source", test).returncode == 0
    model = write_tiny_vlm(tmp_path / "tiny", released_ids=True)
    out = tmp_path / "sft"
    words = ("train", "countervqa", "sft", "--source", training, "--out", out, "--env", environment, "--model", model)
    ended = own_command(home, *words, *OPTIONS)
    assert ended.returncode == 0, ended.stderr
    loss = list(read_curves(log_path(out))["loss"].values())
    assert len(loss) == 6 and loss[-1] < loss[0]
    # As if it had been killed behind its second checkpoint.
    for path in (out / "checkpoints").glob("checkpoint-6/trainer_state.json"):
        path.unlink()
    assert own_command(home, *words, *OPTIONS).returncode == 0
    steps = [json.loads(line).get("global_step/max_steps") for line in log_path(out).read_text().splitlines()]
    assert steps.count("4/6") == 1 and steps.count("5/6") == 2
    weights = tmp_path / "weights"
    exported = own_command(home, "train", "countervqa", "export", out, "--out", weights, "--env", environment)
    assert exported.returncode == 0, exported.stderr
    run = run_host(
        "--model", "qwen2_5_vl", "--device", "cpu", "--tasks", "countervqa", "--limit", "1",
        "--model_args", f"pretrained={weights},device_map=cpu,attn_implementation=eager,max_num_frames=4",
        "--gen_kwargs", "max_new_tokens=4", home=home, out=tmp_path / "out",
    )  # fmt: skip
    run.results()
    trained = str(read_run(run.out).card["model"]["trained on"])
    assert "sft on answers on 5 questions about 1 clips" in trained and "6 of 6 steps" in trained

"""The whole way of a training with the real ms-swift: questions, runs that are killed, weights, their evaluation."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from host_run import SCRIPTS, environment, own_command, run_host

from lmms_eval_tasks.countervqa.sample import SAMPLE
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.sample.tiny_vlm import write_tiny_vlm
from lmms_eval_tasks.train.stages.commands import read_curves
from lmms_eval_tasks.train.stages.stage import CHECKPOINTS, last_checkpoint, log_path, steps_of
from lmms_eval_tasks.utils.core.work import no_progress

pytestmark = [
    pytest.mark.host,
    pytest.mark.model,
    pytest.mark.nightly,
    pytest.mark.skipif(
        not os.environ.get("TRAIN_ENV"), reason="TRAIN_ENV names no environment with ms-swift: make train-env"
    ),
]
STEPS, EVERY = 9, 3
TINY = (
    "--model-type", "qwen2_5_vl", "--frames", "4", "--torch_dtype", "float32", "--modules_to_save", "lm_head",
    "--learning_rate", "1e-2", "--lr_scheduler_type", "constant", "--report_to", "none",
)  # fmt: skip
KILLED = ("--max_steps", str(STEPS), "--save_steps", str(EVERY))
SFT = ("--per_device_train_batch_size", "8", "--gradient_accumulation_steps", "1")
GRPO = ("--ablation", "grpo-only", "--max_completion_length", "8")
PATIENCE = 240.0
"""Seconds in which a training must have got behind its first checkpoint."""


def write_questions(folder: Path, seed: int) -> Path:
    """A set about one clip."""
    (folder / "clips").mkdir(parents=True)
    SAMPLE.write(folder, seed, {"clips": 1}, no_progress)
    return folder


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a data home, in which a test set is prepared, another set to train on, and a model."""
    folder = tmp_path_factory.mktemp("training")
    write_questions(folder / "training", 7)
    test = write_questions(folder / "test", 0)
    assert own_command(folder / "home", "prepare", "countervqa", "--source", test).returncode == 0
    write_tiny_vlm(folder / "tiny", released_ids=True)
    yield folder


def command(world: Path, stage: str, *options: str) -> list[str]:
    return [
        "train", "countervqa", stage, "--source", str(world / "training"), "--out", str(world / stage),
        "--env", str(Path(os.environ["TRAIN_ENV"]).absolute()), "--model", str(world / "tiny"), *TINY, *KILLED,
        *options,
    ]  # fmt: skip


def logged_steps(out: Path) -> list[int]:
    """The steps in ms-swift's log, in its order."""
    lines = log_path(out).read_text(encoding="utf-8").splitlines() if log_path(out).is_file() else []
    steps = (json.loads(line).get("global_step/max_steps", "") for line in lines if line.endswith("}"))
    return [int(step.partition("/")[0]) for step in steps if step]


def saved_step(out: Path) -> int:
    """The step of the last whole checkpoint; 0 without one."""
    checkpoint = last_checkpoint(out / CHECKPOINTS)
    return steps_of(checkpoint)[0] if checkpoint else 0


def start_and_kill(world: Path, words: list[str], out: Path) -> None:
    """Start a training and kill all of its processes once it has made a step behind a checkpoint."""
    home = world / "home"
    with (world / "printed").open("a") as printed:
        training = subprocess.Popen(
            [str(SCRIPTS / "lmms-eval-tasks"), *words],
            env=environment(home, None),
            stdout=printed,
            stderr=printed,
            start_new_session=True,
        )
        until = time.monotonic() + PATIENCE
        try:
            while not (saved_step(out) and logged_steps(out)[-1] > saved_step(out)):
                assert training.poll() is None and time.monotonic() < until, (world / "printed").read_text()[-3000:]
                time.sleep(0.02)
        finally:
            os.killpg(training.pid, signal.SIGKILL)
            assert training.wait() in (-signal.SIGKILL, 1)


def check_that_it_goes_on(world: Path, stage: str, *options: str) -> None:
    """Kill a training, start it again, and see that it goes on behind its checkpoint as if nothing had been."""
    words, out = command(world, stage, *options), world / stage
    start_and_kill(world, words, out)
    saved, before = saved_step(out), logged_steps(out)
    first_time = {name: dict(curve) for name, curve in read_curves(log_path(out)).items()}
    assert 0 < saved < before[-1] <= STEPS
    ended = own_command(world / "home", *words)
    assert ended.returncode == 0, ended.stderr[-3000:]
    after = logged_steps(out)[len(before) :]
    assert after[: STEPS - saved] == list(range(saved + 1, STEPS + 1)) and saved_step(out) == STEPS
    made_twice = [step for step in before if step > saved]
    for name, curve in read_curves(log_path(out)).items():
        # A reward has no value in a step whose questions it does not apply to.
        some = name.startswith("reward: ")
        assert (some and set(curve) < set(range(1, STEPS + 1))) or sorted(curve) == list(range(1, STEPS + 1)), name
        assert set(made_twice) & set(curve) == set(made_twice) & set(first_time[name])
        for step in set(made_twice) & set(curve):
            assert curve[step] == pytest.approx(first_time[name][step], rel=1e-3, abs=1e-6), (name, step)


def test_sft_that_was_killed_goes_on_and_its_weights_are_evaluated(world: Path) -> None:
    check_that_it_goes_on(world, "sft", *SFT)
    loss = list(read_curves(log_path(world / "sft"))["loss"].values())
    assert loss[-1] < loss[0]
    home, weights = world / "home", world / "weights"
    env = ("--env", Path(os.environ["TRAIN_ENV"]).absolute())
    exported = own_command(home, "train", "countervqa", "export", world / "sft", "--out", weights, *env)
    assert exported.returncode == 0, exported.stderr
    run = run_host(
        "--model", "qwen2_5_vl", "--device", "cpu", "--tasks", "countervqa", "--limit", "1",
        "--model_args", f"pretrained={weights},device_map=cpu,attn_implementation=eager,max_num_frames=4",
        "--gen_kwargs", "max_new_tokens=4", home=home, out=world / "out",
    )  # fmt: skip
    run.results()
    trained = str(read_run(run.out).card["model"]["trained on"])
    assert "sft on answers on 5 questions about 1 clips" in trained and f"{STEPS} of {STEPS} steps" in trained


def test_grpo_that_was_killed_goes_on_with_every_reward(world: Path) -> None:
    check_that_it_goes_on(world, "grpo", *GRPO)
    curves = read_curves(log_path(world / "grpo"))
    assert {"reward", "reward: causal", "reward: visual", "reward: verdict"} <= set(curves)

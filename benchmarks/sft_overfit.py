"""Does SFT by our command and the real ms-swift learn what it is shown, and do exported weights say it in lmms-eval?

A tiny random video model is trained on eight questions of CounterVQA's sample, two of each of four clips, one of which
is answered with yes and the other with no. Printed are the accuracy of tokens in training, and how many of the eight
answers come out letter for letter: by greedy decoding in lmms-eval, with the exported weights and frames as large as in
training, and with lmms-eval's own size of frames. The same command with the folder of --keep goes on there.

Measured on two cores, 2026-11-23: all weights: 8 of 8 with frames as large as in training, 0 of 8 with lmms-eval's
own size; LoRA in 300 steps: 3 and 0.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
import time
from pathlib import Path

from measuring import Options, print_ratio
from swift_trainings import FRAMES, SHOWN, add_environment, check_environment, pairs_of, run, tiny_model, write_set

from lmms_eval_tasks.train.stages.commands import read_curves
from lmms_eval_tasks.train.stages.stage import LEAST_TOKENS, SIDE, log_path

OPTIONS = (
    "--learning_rate", "1e-2", "--lr_scheduler_type", "cosine", "--warmup_ratio", "0.05", "--weight_decay", "0",
    "--adam_beta2", "0.99", "--per_device_train_batch_size", "8", "--gradient_accumulation_steps", "1",
    "--save_only_model", "true",
)  # fmt: skip
TUNERS = {
    "full": ("--tuner_type", "full", "--freeze_vit", "false"),
    "lora": (
        "--lora_rank", "64", "--lora_alpha", "128", "--lora_dropout", "0", "--target_modules", "all-linear",
        "--modules_to_save", "embed_tokens", "lm_head",
    ),
}  # fmt: skip
"""All weights, and LoRA on every layer with embeddings and head: random ones have to be learnt, too."""
STEPS = {"full": 150, "lora": 300}
TOKEN = 28 * 28
AS_TRAINED = f"min_pixels={LEAST_TOKENS * TOKEN},max_pixels={SIDE**2}"
LONGEST = 160
"""Tokens of an answer."""


def answers(folder: Path, home: Path, weights: Path, more: str) -> dict[str, str]:
    """What exported weights answer to each question in lmms-eval."""
    command = [
        str(Path(sysconfig.get_path("scripts")) / "lmms-eval"), "--model", "qwen2_5_vl", "--device", "cpu",
        "--tasks", "countervqa", "--log_samples", "--output_path", str(folder), "--gen_kwargs",
        f"max_new_tokens={LONGEST}", "--model_args",
        f"pretrained={weights},device_map=cpu,attn_implementation=eager,max_num_frames={FRAMES}{more}",
    ]  # fmt: skip
    environment = {
        "LMMS_EVAL_TASKS_HOME": str(home), "HF_HUB_OFFLINE": "1", "FORCE_QWENVL_VIDEO_READER": "decord",
    }  # fmt: skip
    ended = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(ended.stderr[-3000:])
    (log,) = folder.rglob("*_samples_countervqa.jsonl")
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return {row["record"]["item_id"]: row["filtered_resps"] for row in rows}


def main() -> None:
    parser = Options(__doc__)
    add_environment(parser)
    parser.add_size("--tuners", "full,lora", "full")
    parser.add_size("--steps", 1.0, 0.01, "part of those that each tuner needs")
    parser.add_size("--evaluations", 2, 0, "in lmms-eval, the first with frames as large as in training")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    check_environment(options.env)
    folder = options.keep or Path(tempfile.mkdtemp(prefix="sft_overfit"))
    source, model = folder / "eight", folder / "model"
    if not source.exists():
        pairs_of(write_set(folder / "set", clips=4), source)
        tiny_model(model, 0)
    # The questions are asked as a test afterwards, in a data home of which the trainings do not know.
    home, tested = folder / "home", folder / "tested"
    run(folder / "prepare.log", tested, "prepare", "countervqa", "--source", source)
    for tuner in options.tuners.split(","):
        started = time.monotonic()
        out, weights = folder / tuner, folder / f"weights_{tuner}"
        log, steps = out.with_suffix(".log"), str(max(2, round(options.steps * STEPS[tuner])))
        run(
            log, home, "train", "countervqa", "sft", "--source", source, "--out", out, "--env", options.env,
            "--model", model, *SHOWN, *OPTIONS, *TUNERS[tuner],
            "--max_steps", steps, "--save_steps", steps,
        )  # fmt: skip
        if options.evaluations and not weights.exists():
            run(log, home, "train", "countervqa", "export", out, "--out", weights, "--env", options.env)
        loss = list(read_curves(log_path(out))["loss"].values())
        logged = [json.loads(line) for line in log_path(out).read_text(encoding="utf-8").splitlines()]
        accuracies = [float(line["token_acc"]) for line in logged if "token_acc" in line]
        first = next((step for step, accuracy in enumerate(accuracies, 1) if min(accuracies[step - 1 :]) == 1.0), None)
        rows = [json.loads(line) for line in (out / "sft.jsonl").read_text(encoding="utf-8").splitlines()]
        ids = [json.loads(line)["id"] for line in (source / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
        wanted = {item: row["messages"][1]["content"] for item, row in zip(ids, rows, strict=True)}
        print_ratio(
            accuracies[-1],
            f"{tuner}, token accuracy in training, 1 from step {first} on, {len(loss)} steps, loss {loss[0]:.2f} to "
            f"{loss[-1]:.4f} ({time.monotonic() - started:.0f} s)",
        )
        shown = ("frames as in training", f",{AS_TRAINED}"), ("lmms-eval's own size of frames", "")
        for name, more in shown[: options.evaluations]:
            given = answers(folder / f"out_{tuner}_{len(more)}", tested, weights, more)
            right = [item for item in wanted if given[item] == wanted[item]]
            print_ratio(
                len(right) / len(wanted), f"{tuner}, {name}, {len(right)} of {len(wanted)} answers letter for letter"
            )
            for item in wanted:
                if item not in right:
                    print(f"        {item}: {given[item][:80]!r} for {wanted[item]!r}", flush=True)
    if not options.keep:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

"""Does GRPO by the causal reward raise it, and the verdict with it? On a CPU, with a tiny video model and ms-swift.

A random model is taught the form of claims by SFT, on answers to two questions of CounterVQA's sample: as often right
as with the true links and a wrong end, with half of the links, and with a false link. It then answers in one of these
ways, and GRPO by our command is to make it answer rightly. The rise is the mean of the last ten steps over that of the
first ten, with a 95% interval by Welch's t over steps; the first ten steps learn as well, so that it is rather too
small. The same command with the folder of --keep goes on there.

Measured on two cores, 2026-11-24: not shown: +0.113 (-0.049 to +0.275) after 38 steps of one seed.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

from measuring import Options, print_ratio
from reward_attacks import honest_answer
from scipy import stats
from swift_trainings import SHOWN, add_environment, check_environment, run, tiny_model, write_set

from lmms_eval_tasks.countervqa.release import CounterfactualQuestion
from lmms_eval_tasks.train.countervqa.training_set import read_set, reward_items
from lmms_eval_tasks.train.rewards.answer_form import FormedAnswer, LinkClaim, write_answer
from lmms_eval_tasks.train.rewards.best_answer import OTHER
from lmms_eval_tasks.train.rewards.reward_sample import RewardSample, read_sample
from lmms_eval_tasks.train.stages.commands import read_curves, spark_line
from lmms_eval_tasks.train.stages.stage import log_path
from lmms_eval_tasks.utils.core.forms import as_lines

WINDOW = 10
QUESTIONS = 2
CURVES = {"causal reward": "reward: causal", "verdict": "reward: verdict"}
SFT = (
    "--tuner_type", "full", "--freeze_vit", "false", "--learning_rate", "1e-2", "--lr_scheduler_type", "cosine",
    "--warmup_ratio", "0.05", "--weight_decay", "0", "--adam_beta2", "0.99", "--per_device_train_batch_size", "8",
    "--gradient_accumulation_steps", "1", "--save_only_model", "true",
)  # fmt: skip
GRPO = (
    "--causal-weight", "1", "--visual-weight", "0", "--tuner_type", "full", "--learning_rate", "1e-3",
    "--lr_scheduler_type", "constant", "--beta", "0", "--num_generations", "8", "--per_device_train_batch_size", "8",
    "--temperature", "1.0", "--save_strategy", "no",
)  # fmt: skip
"""A rate for weights that were random before; no KL term, which would hold them where they are."""


def ways(sample: RewardSample) -> list[FormedAnswer]:
    """Four ways to answer: rightly, with a wrong end, with half of the links, and with a false link among the right."""
    right = replace(honest_answer(sample), happened=(), prose="")
    right = replace(right, answer=f"{right.conclusions[0].capitalize()}.")
    wrong = OTHER[right.conclusions[0]]
    false = next(
        LinkClaim(sample.actions[one], sample.actions[other])
        for one, other in permutations(range(len(sample.actions)), 2)
        if other not in sample.reachable[one]
    )
    return [
        right,
        replace(right, conclusions=(wrong,), answer=f"{wrong.capitalize()}."),
        replace(right, links=right.links[:1]),
        replace(right, links=(*right.links[:1], false)),
    ]


def write_taught(source: Path, folder: Path) -> tuple[Path, Path]:
    """Two of the questions as a set to reward, and each four times, once for each way to answer, as one to be taught.

    Returns:
        The folders; the second has `cot.jsonl` beside its questions.
    """
    questions = read_set(source)
    asked = {question.id: question for question in questions.questions}
    items = sorted(reward_items(questions, ["causal"]), key=lambda item: item.columns["answer"])
    chosen = [*items[: QUESTIONS // 2], *items[-QUESTIONS // 2 :]]
    taught, rows = [], []
    for item in chosen:
        for number, answer in enumerate(ways(read_sample(item.columns))):
            one = _row(asked[item.item_id]) | {"id": f"{item.item_id}-{number}"}
            response = write_answer(answer)
            reasoning = response.removeprefix("<think>").partition("</think>")[0]
            taught.append(one)
            rows.append(
                {key: one[key] for key in ("id", "clip", "question")}
                | {"reasoning": reasoning, "answer": answer.answer}
            )
    rewarded = [_row(asked[item.item_id]) for item in chosen]
    for name, some in (("rewarded", rewarded), ("taught", taught)):
        shutil.copytree(source, folder / name)
        (folder / name / "questions.jsonl").write_text(as_lines(some), encoding="utf-8")
    (folder / "taught" / "cot.jsonl").write_text(as_lines(rows), encoding="utf-8")
    return folder / "rewarded", folder / "taught"


def _row(question: CounterfactualQuestion) -> dict[str, Any]:
    """The question without its partner, which may be left out."""
    return question.model_dump(mode="json") | {"partner": None}


def rise(values: Sequence[float]) -> tuple[float, float, float, float]:
    """Means of the first and of the last steps, their difference, and half of its 95% interval by Welch's t."""
    window = min(WINDOW, len(values) // 2)
    first, last = values[:window], values[-window:]
    parts = [statistics.variance(some) / len(some) for some in (first, last)]
    spread = sum(part**2 / (window - 1) for part in parts)
    freedom = sum(parts) ** 2 / spread if spread else 1.0
    half = float(stats.t.ppf(0.975, freedom)) * sum(parts) ** 0.5
    before, after = statistics.fmean(first), statistics.fmean(last)
    return before, after, after - before, half


def teach(folder: Path, steps: int, environment: Path) -> None:
    """Teach the random model the form of claims by SFT, and export its weights."""
    started = time.monotonic()
    home, sft, weights, log = (folder / name for name in ("home", "sft", "weights", "sft.log"))
    run(
        log, home, "train", "countervqa", "sft", "--source", folder / "taught", "--reasoning",
        folder / "taught" / "cot.jsonl", "--out", sft, "--model", folder / "model", "--env", environment, *SHOWN, *SFT,
        "--max_steps", str(steps), "--save_steps", str(steps),
    )  # fmt: skip
    if not weights.exists():
        run(log, home, "train", "countervqa", "export", sft, "--out", weights, "--env", environment)
    loss = list(read_curves(log_path(sft))["loss"].values())
    print(f"taught the form: loss {loss[0]:.2f} to {loss[-1]:.3f} ({time.monotonic() - started:.0f} s)", flush=True)


def main() -> None:
    parser = Options(__doc__)
    add_environment(parser)
    parser.add_size("--steps", 60, 4)
    parser.add_size("--taught", 200, 0, "steps of SFT; without one the random model is rewarded")
    parser.add_size("--longest", 320, 8, "tokens of an answer")
    parser.add_size("--seeds", "0,1,2", "0")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    check_environment(options.env)
    folder = options.keep or Path(tempfile.mkdtemp(prefix="grpo_rise"))
    if not (folder / "taught").exists():
        write_taught(write_set(folder / "set", clips=4), folder)
        tiny_model(folder / "model", 0)
    common = "--env", options.env, *SHOWN
    if options.taught:
        teach(folder, options.taught, options.env)
        weights, ablation = folder / "weights", "full"
    else:
        weights, ablation = folder / "model", "grpo-only"
    for seed in map(int, options.seeds.split(",")):
        started = time.monotonic()
        out = folder / f"grpo_{seed}"
        run(
            out.with_suffix(".log"), folder / "home", "train", "countervqa", "grpo", "--source", folder / "rewarded",
            "--out", out, "--model", weights, *common, *GRPO, "--ablation", ablation,
            "--max_steps", str(options.steps), "--seed", str(seed), "--max_completion_length", str(options.longest),
        )  # fmt: skip
        curves = read_curves(log_path(out))
        for title, name in CURVES.items():
            values = list(curves[name].values())
            before, after, difference, half = rise(values)
            print_ratio(
                after / before if before else float(after > 0),
                f"{title}, seed {seed}, first steps {before:.3f}, last {after:.3f}, rise {difference:+.3f} "
                f"({difference - half:+.3f} to {difference + half:+.3f})  {spark_line(values)}",
            )
        print(f"{time.monotonic() - started:.0f} s", flush=True)
    if not options.keep:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

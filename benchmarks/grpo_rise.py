"""Does GRPO by our command and the real ms-swift raise the reward that it is given? On a CPU, with a tiny video model.

    OMP_NUM_THREADS=2 python benchmarks/grpo_rise.py --env .train-venv [--steps 40] [--seeds 0,1,2] [--keep DIR]

The model answers with random words of its tokenizer, most of which are numbered, and one reward that it can reach is
the share of even digits in an answer. It is trained from three seeds, of its weights and of the sampling. Beside each
stands the same training with another reward, of which nothing can be learnt, and with even digits only logged: what
rises there rises by chance. The rise is the mean reward of the last ten steps over that of the first ten, with a 95%
interval by Welch's t over steps. The first ten steps learn as well, so that the rise is rather too small.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from scipy import stats
from swift_trainings import SHOWN, run, tiny_model, write_set

from lmms_eval_tasks.train.stages.curves import read_curves, spark_line
from lmms_eval_tasks.train.stages.stage import log_path

PLUGIN = Path(__file__).with_name("even_digits.py")
CURVE = "reward: evendigits"
WINDOW = 10
OPTIONS = (
    "--ablation", "grpo-only", "--causal-weight", "0", "--visual-weight", "0", "--plugin", str(PLUGIN),
    "--num_generations", "8", "--per_device_train_batch_size", "8", "--max_completion_length", "16",
    "--learning_rate", "3e-3", "--lr_scheduler_type", "constant", "--beta", "0", "--modules_to_save", "lm_head",
    "--save_strategy", "no",
)  # fmt: skip
"""A rate for random weights, and no KL term, which would hold them where they are."""
REWARDS = {"even digits": ("even_digits=1",), "checksum": ("checksum=1", "even_digits=0")}


def rise(values: Sequence[float]) -> tuple[float, float, float, float]:
    """Means of the first and of the last steps, their difference, and half of its 95% interval by Welch's t."""
    first, last = values[:WINDOW], values[-WINDOW:]
    parts = [statistics.variance(some) / len(some) for some in (first, last)]
    freedom = sum(parts) ** 2 / sum(part**2 / (WINDOW - 1) for part in parts)
    half = float(stats.t.ppf(0.975, freedom)) * sum(parts) ** 0.5
    before, after = statistics.fmean(first), statistics.fmean(last)
    return before, after, after - before, half


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="grpo_rise"))
    source = write_set(folder / "set", clips=4)
    print(
        f"{'trained on':12} seed  first {WINDOW}  last {WINDOW}  rise, 95% interval        even digits by step",
        flush=True,
    )
    risen: dict[str, int] = dict.fromkeys(REWARDS, 0)
    seeds = [int(seed) for seed in options.seeds.split(",")]
    for name, rewards in REWARDS.items():
        for seed in seeds:
            started = time.monotonic()
            model = tiny_model(folder / f"model_{seed}", seed)
            out = folder / f"{name.replace(' ', '_')}_{seed}"
            words = [word for reward in rewards for word in ("--reward", reward)]
            run(
                out.with_suffix(".log"), folder / "home", "train", "countervqa", "grpo", "--source", source,
                "--out", out, "--env", options.env, "--model", model, *SHOWN, *OPTIONS, *words,
                "--max_steps", str(options.steps), "--seed", str(seed),
            )  # fmt: skip
            values = list(read_curves(log_path(out))[CURVE].values())
            before, after, difference, half = rise(values)
            risen[name] += difference - half > 0
            print(
                f"{name:12} {seed:4}  {before:8.3f}  {after:7.3f}  {difference:+.3f} ({difference - half:+.3f} to "
                f"{difference + half:+.3f})  {spark_line(values)}  {time.monotonic() - started:.0f} s",
                flush=True,
            )
    for name, number in risen.items():
        print(f"trained on {name}: the share of even digits rose in {number} of {len(seeds)} seeds")
    if not options.keep:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

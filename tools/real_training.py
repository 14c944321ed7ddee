"""Does a small released language model learn the form of claims, and does GRPO by the causal reward raise it?

    python tools/real_training.py WEIGHTS COUNTERVQA_SET --taught 12 --steps 30

The trainer of `train countervqa` shows clips, and this model takes none: the question's prompt holds the clip's actions
as words, and the rewards are ours in a loop of TRL. SFT teaches the form by the best answers to half of the questions;
GRPO asks about the others. The rise is the mean reward of the last third of the steps over that of the first third,
with a 95% interval by Welch's t over steps.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scipy import stats

from lmms_eval_tasks.train.countervqa.rewards import REWARDS
from lmms_eval_tasks.train.countervqa.training_set import QuestionSet, read_set, reward_items
from lmms_eval_tasks.train.rewards.answer_form import write_answer
from lmms_eval_tasks.train.rewards.best_answer import best_answer
from lmms_eval_tasks.train.rewards.reward_sample import read_sample

ANSWERS = 4
"""Of a question in a step of GRPO."""
LONGEST = 120
"""Tokens of an answer."""
FORM = (
    "Answer in this form alone, with the words of the list:\n<think>\n<claims>\nlink: CAUSE -> EFFECT\n"
    "conclusion: yes or no\n</claims></think>\n<answer>Yes. or No.</answer>"
)


def rows_of(questions: QuestionSet) -> list[dict[str, Any]]:
    """The questions that the causal reward judges, asked in words alone, each with its best answer."""
    rows = []
    for item in reward_items(questions, ["causal"]):
        sample = read_sample(item.columns)
        happened = "\n".join(f"- {text}" for text in sample.actions)
        asked = f"What happens in a clip, in order:\n{happened}\n\n{item.columns['question']}\n\n{FORM}"
        rows.append({"prompt": asked, "best": write_answer(best_answer(sample)), "columns": item.columns})
    return rows


def causal(said: str, columns: Mapping[str, Any]) -> float:
    return REWARDS["causal"](said, read_sample(columns)) or 0.0


def teach(model: Any, tokenizer: Any, rows: Sequence[Mapping[str, Any]], steps: int) -> tuple[float, float]:
    """SFT, one answer a step; the first loss and the last, of the answer's tokens."""
    import torch

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.0)
    losses = []
    model.train()
    for step in range(steps):
        row = rows[step % len(rows)]
        asked = tokenizer.apply_chat_template(turns(row["prompt"]), add_generation_prompt=True, tokenize=False)
        prompt = tokenizer(asked)["input_ids"]
        answer = tokenizer(row["best"] + tokenizer.eos_token)["input_ids"]
        ids = torch.tensor([prompt + answer])
        labels = torch.tensor([[-100] * len(prompt) + answer])
        loss = model(input_ids=ids, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses[0], losses[-1]


def turns(prompt: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": prompt}]


def rewarded(model: Any, tokenizer: Any, rows: Sequence[Mapping[str, Any]], steps: int, seed: int) -> list[float]:
    """GRPO by the causal reward; the mean reward of each step."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    means: list[float] = []

    def reward(completions: Sequence[Any], columns: Sequence[Mapping[str, Any]], **_: Any) -> list[float]:
        given = [causal(said[0]["content"], one) for said, one in zip(completions, columns, strict=True)]
        means.append(statistics.fmean(given))
        print(f"GRPO, step {len(means)}: causal reward {means[-1]:.3f}", flush=True)
        return given

    with tempfile.TemporaryDirectory(prefix="real_grpo") as folder:
        settings = GRPOConfig(
            output_dir=folder, max_steps=steps, num_generations=ANSWERS, per_device_train_batch_size=ANSWERS,
            gradient_accumulation_steps=1, max_completion_length=LONGEST, temperature=1.0, beta=0.0, learning_rate=1e-5,
            lr_scheduler_type="constant", save_strategy="no", report_to="none", use_cpu=True, bf16=False, seed=seed,
        )  # fmt: skip
        data = Dataset.from_list([{"prompt": turns(row["prompt"]), "columns": row["columns"]} for row in rows])
        trainer = GRPOTrainer(
            model=model, reward_funcs=reward, args=settings, train_dataset=data, processing_class=tokenizer
        )
        trainer.train()
    return means


def rise(values: Sequence[float]) -> tuple[float, float, float, float]:
    """Means of the first and of the last third, and the interval of their difference."""
    window = max(2, len(values) // 3)
    first, last = values[:window], values[-window:]
    compared = stats.ttest_ind(last, first, equal_var=False)
    if len({*first}) == len({*last}) == 1:
        low = high = last[0] - first[0]
    else:
        low, high = compared.confidence_interval(0.95)
    return statistics.fmean(first), statistics.fmean(last), float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("--taught", type=int, default=12, help="steps of SFT")
    parser.add_argument("--steps", type=int, default=30, help="of GRPO")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.manual_seed(options.seed)
    rows = rows_of(read_set(options.source))
    taught, asked = rows[::2], rows[1::2]
    tokenizer = AutoTokenizer.from_pretrained(options.weights)
    model = AutoModelForCausalLM.from_pretrained(options.weights, dtype=torch.float32)
    started = time.monotonic()
    first, last = teach(model, tokenizer, taught, options.taught)
    print(
        f"SFT: loss {first:.2f} to {last:.2f} in {options.taught} steps, {len(taught)} questions "
        f"({(time.monotonic() - started) / 60:.1f} minutes)",
        flush=True,
    )
    started = time.monotonic()
    means = rewarded(model, tokenizer, asked, options.steps, options.seed)
    before, after, low, high = rise(means)
    shown = "shown" if low > 0 else "not shown"
    print(
        f"GRPO: causal reward {before:.3f} to {after:.3f}, rise {after - before:+.3f} [{low:+.3f}, {high:+.3f}], "
        f"{shown}; {len(means)} steps of {ANSWERS} answers ({(time.monotonic() - started) / 60:.1f} minutes)",
        flush=True,
    )


if __name__ == "__main__":
    main()

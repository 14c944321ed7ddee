"""Rewards of many answers that nobody would give, and how their time grows with the length of an answer.

    python benchmarks/reward_fuzz.py [--answers 100000] [--formed 1000000] [--seed 1] [--size 1000000]

Answers are of tests/support/model_output.py, or answers of tests/train/rewards, in the form of claims and in free text,
that are cut, doubled and mixed.
Ends with an exception where a reward raises or leaves [0, 1].
"""

from __future__ import annotations

import argparse
import math
import random
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

ROOT = Path(__file__).parents[1]
MARKS = ("<claims>", "</think>", "<answer>", "->", "link:", "no link: ", "happened:", "\n", "\ud800", "\x00", "é")
TELLING = 0.02
"""Seconds below which a time is mostly noise, and no exponent is taken from it."""


def spoil(answer: str, others: Sequence[str], chance: random.Random) -> str:
    """An answer with up to four of its words exchanged for those of others, or for marks of the form."""
    words = re.split(r"(?<=\n)| ", answer)
    for _ in range(chance.randint(0, 4)):
        at = chance.randrange(len(words) + 1)
        other = chance.choice(MARKS) if chance.random() < 0.5 else chance.choice(chance.choice(others).split(" "))
        words[at : at + chance.randint(0, 2)] = [other]
    return " ".join(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--formed", type=int, default=1_000_000, help="Answers in the form, which are only read.")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    parser.add_argument("--size", type=int, default=1_000_000)
    options = parser.parse_args()
    sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tools")]
    from model_output import outputs, pieces
    from ordered_answers import HELD_OUT, ORDERED, read_formed, read_groups

    from lmms_eval_tasks.train.countervqa.rewards import REWARDS
    from lmms_eval_tasks.train.rewards.form import read_answer
    from lmms_eval_tasks.train.rewards.sample import read_sample

    groups = [*read_formed(), *read_groups(ORDERED), *read_groups(HELD_OUT)]
    samples = [read_sample({**group.columns, "answer": "no", "options": ["yes", "no"]}) for group in groups]
    answers = [answer for group in groups for level in group.levels for answer in level]
    formed = [answer for answer in answers if read_answer(answer) is not None]
    count = 0

    def check(text: str, number: int) -> None:
        nonlocal count
        sample = samples[number % len(samples)]
        for name, reward in REWARDS.items():
            value = reward(text, sample)
            assert 0.0 <= value <= 1.0 if value is not None else name == "causal", (name, text, value)
        count += 1

    @seed(options.seed)
    @settings(
        max_examples=max(1, options.answers // 50),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(outputs(), st.integers(0, 2**16))
    def reward_outputs(text: str, number: int) -> None:
        check(text, number)

    started = time.monotonic()
    reward_outputs()
    chance = random.Random(options.seed)
    known = pieces()
    for number in range(options.answers - count):
        # Half of them are in the form as a whole, with lines and words where they should not be.
        texts = [chance.choice(formed)] if number % 2 else chance.sample(answers, 3)
        parts = [part for one in texts for part in re.split(r"(?<=\n)| ", one)]
        for _ in range(chance.randint(0, 6)):
            at, other = chance.randrange(len(parts)), chance.randrange(len(parts))
            parts[at:at] = chance.choice((parts[other : other + 9], [chance.choice(known)]))
            del parts[other : other + chance.randint(0, 5)]
            parts = parts or [""]
        check(" ".join(parts), number)
    took = time.monotonic() - started
    begun = time.monotonic()
    read = sum(read_answer(spoil(chance.choice(formed), formed, chance)) is not None for _ in range(options.formed))
    print(
        f"{options.formed:,} spoilt answers in the form, of which {read:,} still have it, 0 exceptions, "
        f"{time.monotonic() - begun:.0f} s",
        flush=True,
    )
    print(
        f"seed {options.seed}: {count:,} answers, {len(REWARDS)} rewards each, 0 exceptions, {took:.0f} s", flush=True
    )

    slowest: list[tuple[float, float, str, str]] = []
    own = (
        "happened: C cracks the eggs\n",
        "link: C cracks the eggs -> C whisks the eggs\n",
        "-> ",
        "<think>",
        "<claims>",
    )
    for piece in (*known, *answers[:40], *own):
        for name, reward in REWARDS.items():
            times = []
            for size in (options.size // 4, options.size):
                many = piece * (size // len(piece))
                text = f"<think><claims>\n{many}\n</claims></think><answer>No.</answer>" if piece in own else many
                begun = time.process_time()
                reward(text, samples[0])
                times.append(time.process_time() - begun)
            exponent = math.log(times[1] / max(times[0], 1e-6), 4) if times[1] > TELLING else math.nan
            slowest.append((times[1], exponent, name, piece))
    slowest.sort(key=lambda entry: -entry[0])
    told = [entry[1] for entry in slowest if not math.isnan(entry[1])]
    highest = max(told, default=0.0)
    print(f"{len(slowest)} times for {options.size:,} characters, exponent up to {highest:.2f}; slowest:")
    for took, exponent, name, piece in slowest[:5]:
        print(f"    {took:.3f} s  {exponent:.2f}  {name}  {ascii(piece)[:60]}")


if __name__ == "__main__":
    main()

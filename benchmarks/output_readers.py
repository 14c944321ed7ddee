"""Readers of a model's or a judge's output, and rewards: does any of them fail on a text, and how does its time grow?

Each reads every piece of tests/support/output_pieces.json, repeated up to a size, and repeated up to a quarter of it,
which gives the exponent with which the time grows: 1 is linear. Then each reads random texts of
tests/support/model_output.py, and rewards read answers in the form of claims that are cut, doubled and mixed. It ends
with an exception where one raises or a reward leaves [0, 1], with status 1 where a text takes longer than the limit.

The limits are no exception, 0.3 s and linear growth.

Measured on two cores, 2026-11-25: no exception in 20,020 texts and 2,000 spoilt answers, and of one in 16 of the long
texts the slowest 0.26 s, of rewards 0.15 s (`--share 16 --outputs 20000 --spoilt 2000`); by the readers alone at the
whole size no exception in 1,000,005, and 6,509 long texts up to 0.21 s. Of the length up to which a broken answer is
repaired, 1,698 texts up to 0.15 s (2026-11-29, `--reader cast_bench --size 1930`).
"""

from __future__ import annotations

import math
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from hypothesis import HealthCheck, given, seed, settings
from measuring import ROOT, SUPPORT, Options, print_ratio

from lmms_eval_tasks.train.countervqa.rewards import REWARDS
from lmms_eval_tasks.train.rewards.answer_form import read_answer
from lmms_eval_tasks.train.rewards.functions import RewardFunction
from lmms_eval_tasks.train.rewards.reward_sample import RewardSample, read_sample

sys.path[:0] = [str(SUPPORT), str(ROOT / "tools")]
from model_output import outputs, pieces, readers  # noqa: E402
from ordered_answers import HELD_OUT, ORDERED, OrderedGroup, read_formed, read_groups  # noqa: E402

Reader = Callable[[str], object]
MARKS = ("<claims>", "</think>", "<answer>", "->", "link:", "no link: ", "happened:", "\n", "\ud800", "\x00", "é")
CLAIMS = (
    "happened: C cracks the eggs\n", "link: C cracks the eggs -> C whisks the eggs\n", "-> ", "<think>", "<claims>",
)  # fmt: skip
"""What is also repeated between the marks of the form, for rewards."""
TRIES = 3
"""A text that seems too slow is read so often, and its best time counts."""
SHOWN = 3
"""Slowest texts that are printed of each reader."""
OPENINGS: Mapping[str, Sequence[str]] = {
    "cast_bench": (
        "",
        '{"answer_choice": "F", "x": ',
        '{"answer_choice": "F", "x": "',
        "{'answer_choice': 'F', 'x': ",
        '{"instances": [',
        '{"instances": [{"evidences": [{"evidence_end_time": "00:09", "bboxes_in_time_range": {',
    ),
    "reply of AgreementScores": ("", "```", '{"answer_conclusion_correctness": ', '{"x": "'),
}
"""What a reader's repeated pieces may follow, where it looks for more than words; others read the pieces alone."""
ENDINGS = {'{"instances": [': "]}", '{"answer_choice": "F", "x": "': '"}', "```": "```"}
"""What closes an opening, so that the text is whole."""
LEAST_SECONDS = 0.02
"""A shorter time is mostly noise, and no exponent is taken from it."""


def long_texts(reader: str, size: int) -> Iterator[tuple[str, str]]:
    """What is repeated behind which opening for a reader, and the text of about so many characters."""
    for piece in pieces():
        for opening in OPENINGS.get(reader, ("",)):
            yield f"{opening}{piece}…", opening + piece * (size // len(piece)) + ENDINGS.get(opening, "")


def reward_readers(groups: Sequence[OrderedGroup]) -> dict[str, Reader]:
    """Each reward, asked about the groups' questions in turn."""
    samples = [read_sample({**group.columns, "answer": "no", "options": ["yes", "no"]}) for group in groups]
    return {f"reward {name}": partial(checked_reward, reward, samples) for name, reward in REWARDS.items()}


def checked_reward(reward: RewardFunction, samples: Sequence[RewardSample], text: str) -> None:
    """Ask for the reward of an answer to one of the questions, by the answer's length."""
    value = reward(text, samples[len(text) % len(samples)])
    assert value is None or 0.0 <= value <= 1.0, (text, value)


def seconds(read: Reader, text: str, limit: float) -> float:
    """CPU seconds that reading takes."""
    best = math.inf
    for _ in range(TRIES):
        started = time.process_time()
        read(text)
        best = min(best, time.process_time() - started)
        if best < limit / 2:
            break
    return best


def repeated(name: str, size: int) -> list[tuple[str, str]]:
    """The pieces for a reader, each with its text of about so many characters."""
    texts = list(long_texts(name, size))
    if name.startswith("reward "):
        form = "<think><claims>\n{}\n</claims></think><answer>No.</answer>"
        texts += [(piece, form.format(piece * (size // len(piece)))) for piece in CLAIMS]
    return texts


def measure_growth(reads: dict[str, Reader], size: int, limit: float, share: int) -> bool:
    """Print the slowest texts of each reader and their exponents; whether none takes longer than the limit.

    Of each reader only every text whose number, counted on from reader to reader, is a multiple of `share`.
    """
    slowest = 0.0
    for number, (name, read) in enumerate(reads.items()):
        measured = []
        chosen = slice(number % share, None, share)
        both_sizes = zip(repeated(name, size)[chosen], repeated(name, size // 4)[chosen], strict=True)
        for (piece, text), (_, short) in both_sizes:
            longer, exponent = seconds(read, text, limit), math.nan
            if longer >= LEAST_SECONDS:
                exponent = math.log(longer / max(seconds(read, short, limit), 1e-6), 4)
            measured.append((longer, exponent, piece))
        measured.sort(key=lambda entry: -entry[0])
        slowest = max(slowest, measured[0][0])
        print(f"{name}: {len(measured)} texts, up to {measured[0][0]:.3f} s", flush=True)
        over = sum(longer > limit for longer, _, _ in measured)
        for longer, exponent, piece in measured[: max(SHOWN, over)]:
            print(f"    {longer:.3f} s  exponent {exponent:4.2f}  {ascii(piece)[:80]}", flush=True)
    print_ratio(slowest / limit, f"the slowest text of {size:,} characters {slowest:.3f} s, the limit {limit} s")
    return slowest <= limit


def read_at_random(reads: dict[str, Reader], number: int, chosen_seed: int) -> int:
    """How many random texts all readers together have read."""
    count = 0

    @seed(chosen_seed)
    @settings(
        max_examples=-(-number // len(reads)),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(outputs())
    def read_all(text: str) -> None:
        nonlocal count
        for read in reads.values():
            read(text)
        count += len(reads)

    read_all()
    return count


def spoil(answers: Sequence[str], others: Sequence[str], chance: random.Random) -> str:
    """Answers as one, with up to four of their words exchanged, doubled or cut, for those of others or for marks."""
    words = [word for answer in answers for word in re.split(r"(?<=\n)| ", answer)]
    for _ in range(chance.randint(0, 4)):
        at = chance.randrange(len(words) + 1)
        other = chance.choice(others).split(" ")
        start = chance.randrange(len(other))
        put_in = [chance.choice(MARKS)] if chance.random() < 0.5 else other[start : start + chance.choice((1, 9))]
        words[at : at + chance.randint(0, 5)] = put_in
    return " ".join(words)


def read_spoilt(
    rewards: dict[str, Reader], groups: Sequence[OrderedGroup], number: int, chosen_seed: int
) -> tuple[int, int]:
    """How many spoilt answers all rewards have read, and how many of those were in the form."""
    chance = random.Random(chosen_seed)
    answers = [answer for group in groups for level in group.levels for answer in level]
    formed = [answer for answer in answers if read_answer(answer) is not None]
    others, has_form = [*formed, *pieces()], 0
    for place in range(number):
        # Half of them are in the form as a whole, with lines and words where they should not be.
        text = spoil([chance.choice(formed)] if place % 2 else chance.sample(answers, 3), others, chance)
        has_form += read_answer(text) is not None
        for reward in rewards.values():
            reward(text)
    return number, has_form


def main() -> None:
    parser = Options(__doc__)
    parser.add_size("--size", 1_000_000, 4_000, "characters of a repeated text")
    parser.add_size("--share", 1, 8, "each reader gets one in so many of these texts")
    parser.add_size("--outputs", 1_000_000, 400, "random texts that all read together")
    parser.add_size("--spoilt", 20_000, 200, "spoilt answers that each reward reads")
    parser.add_argument("--limit", type=float, default=0.3, help="seconds for a text")
    parser.add_argument("--reader", action="append", help="only this one; may be repeated")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    groups = [*read_formed(), *read_groups(ORDERED), *read_groups(HELD_OUT)]
    rewards = reward_readers(groups)
    reads = readers() | rewards
    if options.reader:
        reads = {name: reads[name] for name in options.reader}
    print(f"{len(pieces())} pieces, {len(reads)} readers", flush=True)
    is_fast = measure_growth(reads, options.size, options.limit, options.share)
    started = time.monotonic()
    count = read_at_random(reads, options.outputs, options.seed)
    print_ratio(0, f"exceptions in {count:,} random texts, {time.monotonic() - started:.0f} s")
    spoilt, has_form = read_spoilt(rewards, groups, options.spoilt, options.seed)
    print_ratio(0, f"exceptions in {spoilt:,} spoilt answers and {len(rewards)} rewards; {has_form:,} have the form")
    raise SystemExit(not is_fast)


if __name__ == "__main__":
    main()

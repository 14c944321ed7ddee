"""How well does a judge of rewards agree with the exact rewards, on the same answers?

The answers are in the form of claims, about the questions of tests/train/rewards: honest ones, three noise levels of
them, and policies that know nothing, end wrongly or invent, in turn. Printed are, for the causal and the visual reward,
how many the judge graded, Spearman's correlation of its grades with the exact rewards, with a 95% interval by the
bootstrap over answers, and the mean of their differences; then how many of the hand-ordered groups in free text it puts
into their order, of which the exact rewards read nothing. The judge's server and model are those that the variables
LMMS_EVAL_TASKS_REWARD_JUDGE_URL and LMMS_EVAL_TASKS_REWARD_JUDGE_MODEL name; with --tiny a server here that grades by
chance stands in for it.

It has not been run with a model yet.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice, pairwise

import numpy as np
from measuring import SUPPORT, Options, end_without, print_ratio
from reward_attacks import ENDING_WRONGLY, INVENTING, KNOWING_NOTHING, NOISES, honest, samples_of_tests
from scipy import stats

from lmms_eval_tasks.train.rewards.functions import JUDGED_CAUSAL, JUDGED_VISUAL
from lmms_eval_tasks.train.rewards.graph_rewards import causal_reward, visual_reward
from lmms_eval_tasks.train.rewards.judged import RewardJudge
from lmms_eval_tasks.utils.answers.verdict import read_verdict
from lmms_eval_tasks.utils.core.text import REWARD_JUDGE_MODEL, REWARD_JUDGE_REPLIES, REWARD_JUDGE_URL

EXACT = {JUDGED_CAUSAL: causal_reward, JUDGED_VISUAL: visual_reward}
DRAWS = 2_000
AT_ONCE = 16


def correlation(grades: Sequence[float], exact: Sequence[float], seed: int) -> tuple[float, float, float]:
    """Spearman's correlation and its 95% interval by the bootstrap over answers."""
    chance = np.random.default_rng(seed)
    pairs = np.column_stack([grades, exact])
    drawn = [stats.spearmanr(*pairs[chance.integers(len(pairs), size=len(pairs))].T)[0] for _ in range(DRAWS)]
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return float(stats.spearmanr(*pairs.T)[0]), float(low), float(high)


def compare(judge: RewardJudge, answers: int, seed: int) -> None:
    """Ask the judge about formed answers, and print how its grades agree with the exact rewards."""
    chance = random.Random(seed)
    others = [*KNOWING_NOTHING.values(), *ENDING_WRONGLY.values(), *INVENTING.values()]
    policies = [honest, *NOISES.values(), *chance.sample(others, 4)]
    samples = [chance.choice(samples_of_tests()) for _ in range(answers)]
    asked = [(policy(one, chance), one) for policy, one in zip(islice(cycle(policies), answers), samples, strict=True)]
    for name, reward in EXACT.items():
        with ThreadPoolExecutor(AT_ONCE) as pool:
            grades = list(pool.map(lambda case, name=name: judge.reward(name, *case), asked))
        both = [
            (grade, exact)
            for grade, case in zip(grades, asked, strict=True)
            if grade is not None and (exact := reward(*case)) is not None
        ]
        given, earned = zip(*both, strict=True)
        middle, low, high = correlation(given, earned, seed)
        print_ratio(
            len(both) / answers,
            f"{name}, {len(both)} of {answers} graded, Spearman {middle:+.2f} ({low:+.2f} to {high:+.2f}), mean "
            f"difference {np.mean(np.abs(np.subtract(given, earned))):.2f}",
        )


def tagged(answer: str) -> str:
    """A free text with its verdict, as the evaluation reads it, in the tags from which a reward takes it."""
    return f"{answer}\n<answer>{read_verdict(answer)}</answer>"


def order(judge: RewardJudge, groups: int) -> None:
    """Ask the judge about the hand-ordered groups in free text, and print how many it puts into their order."""
    from ordered_answers import HELD_OUT, read_groups

    for name, about in ((JUDGED_CAUSAL, "causal"), (JUDGED_VISUAL, "visual")):
        chosen = [group for group in read_groups(HELD_OUT) if group.reward == about][:groups]
        right = 0
        for group in chosen:
            asked = [[judge.reward(name, tagged(answer), group.sample) for answer in level] for level in group.levels]
            levels = [[grade for grade in level if grade is not None] for level in asked]
            right += levels == asked and all(min(better) > max(worse) for better, worse in pairwise(levels))
        print_ratio(right / len(chosen), f"{name}, {right} of {len(chosen)} groups in free text in their order")


def main() -> None:
    parser = Options(__doc__)
    parser.add_size("--answers", 240, 12)
    parser.add_size("--groups", 1_000, 2, "groups in free text of each kind, all where there are fewer")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sys.path.insert(0, str(SUPPORT))
    if not options.tiny:
        if not os.environ.get(REWARD_JUDGE_URL):
            end_without(f"{REWARD_JUDGE_URL} names no server of a judge.")
        judge = RewardJudge.from_environment()
        compare(judge, options.answers, options.seed)
        order(judge, options.groups)
        return
    from judge_server import JudgeServer, Say

    chance = random.Random(options.seed)
    grades_by_chance = JudgeServer(lambda prompt, before: Say(f'{{"grade": {chance.randint(0, 10)}}}'))
    with grades_by_chance as server, tempfile.TemporaryDirectory() as replies:
        os.environ.update(
            {
                REWARD_JUDGE_URL: server.url,
                REWARD_JUDGE_MODEL: "stub",
                REWARD_JUDGE_REPLIES: replies,
                "no_proxy": "127.0.0.1",
            }
        )
        judge = RewardJudge.from_environment()
        compare(judge, options.answers, options.seed)
        order(judge, options.groups)


if __name__ == "__main__":
    main()

"""Rewards for verl.

verl 0.9.1 calls `compute_score(data_source=…, solution_str=…, ground_truth=…, extra_info=…)`, with further named
arguments where it runs a reward model's server, and takes a number or an object whose `score` is the reward and whose
other values are logged (verl/experimental/reward_loop/reward_manager/naive.py, `run_single`). The function is named by
`custom_reward_function.path` and `.name`.
"""

from __future__ import annotations

from lmms_eval_tasks.train.rewards.adapters.scores import Scores, score_response


def answer_score(solution_str: object, ground_truth: object, scores: Scores) -> dict[str, float]:
    """The scores of one answer, all of `scores.rewards` with NaN for what does not apply, as verl wants equal keys."""
    given = score_response(solution_str, ground_truth, scores, name="score")
    return {**dict.fromkeys(scores.rewards, float("nan")), **given}

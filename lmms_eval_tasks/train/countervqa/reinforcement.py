"""Stage II of the paper's training, GRPO with rewards over the clip's graph, and its Table 3 as configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lmms_eval_tasks.runs.run_card import read_trained_on
from lmms_eval_tasks.train.countervqa.questions import kept_by_level, read_set, reward_items
from lmms_eval_tasks.train.countervqa.stages import ANSWERS, REASONING, tested_clips
from lmms_eval_tasks.train.rewards.combine import ALPHA, BETA
from lmms_eval_tasks.train.stages.staging import Inputs, Written, grpo_method, write_stage
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.work import Progress, no_progress

FULL = "full"
PLUGIN = Path(__file__).with_name("swift_plugin.py")
"""Makes the rewards known to ms-swift; it imports them from the package in ms-swift's environment."""


@dataclass(frozen=True)
class Ablation:
    """A row of the paper's Table 3."""

    by_graph: bool
    before: str | None


ABLATIONS: Mapping[str, Ablation] = {
    FULL: Ablation(by_graph=True, before=REASONING),
    "standard-reward": Ablation(by_graph=False, before=REASONING),
    "no-distillation": Ablation(by_graph=True, before=ANSWERS),
    "grpo-only": Ablation(by_graph=True, before=None),
}


def write_grpo(
    inputs: Inputs,
    ablation: str = FULL,
    alpha: float | None = None,
    beta: float | None = None,
    progress: Progress = no_progress,
) -> Written:
    """Write the second stage."""
    if ablation not in ABLATIONS:
        raise InputError(f"Expected --ablation to be one of {', '.join(ABLATIONS)}, but got {ablation!r}.")
    chosen = ABLATIONS[ablation]
    if not chosen.by_graph and (alpha is not None or beta is not None):
        given = "--causal-weight" if alpha is not None else "--visual-weight"
        raise InputError(f"Expected no {given} with --ablation {ablation}, whose reward is the verdict alone.")
    weights = reward_weights(chosen, alpha, beta)
    method = grpo_method(ablation, weights, PLUGIN, inputs)
    _check_model(inputs.model, ablation, chosen)
    questions = read_set(inputs.source, inputs.videos)
    rewards = [name for name, weight in {**weights, **inputs.rewards.weights}.items() if weight]
    items = reward_items(questions, rewards)
    if not items:
        reason = ": no graph leads over several links, and no outcome has other causes" if "causal" in rewards else ""
        remedy = "\nRemedy: give --visual-weight a weight." if chosen.by_graph and "visual" not in rewards else ""
        raise InputError(
            f"Expected {inputs.source} to have questions to which {' or '.join(rewards)} applies, but it has "
            f"none{reason}.{remedy}"
        )
    levels = kept_by_level(questions, items)
    return write_stage(inputs, items, levels, method, questions.files, tested_clips, progress)


def reward_weights(ablation: Ablation, alpha: float | None = None, beta: float | None = None) -> dict[str, float]:
    """The rewards' names and weights; those of weight 0 are logged and teach nothing."""
    if not ablation.by_graph:
        return {"verdict": 1.0, "causal": 0.0, "visual": 0.0}
    return {"causal": ALPHA if alpha is None else alpha, "visual": BETA if beta is None else beta, "verdict": 0.0}


def _check_model(model: str, name: str, ablation: Ablation) -> None:
    """Refuse a model whose stages before are not those of the row."""
    trained = read_trained_on(Path(model))
    stages = [stage.method for stage in trained.stages] if trained else []
    expected = [ablation.before] if ablation.before else []
    if stages != expected:
        wanted = f"weights of one stage, {ablation.before}" if ablation.before else "a model that was not trained here"
        remedy = {
            REASONING: "Remedy: train countervqa sft --reasoning cot.jsonl, then export, and give --model its folder.",
            ANSWERS: "Remedy: train countervqa sft without --reasoning, then export, and give --model its folder.",
            None: "Remedy: give --model a model as it was released.",
        }[ablation.before]
        raise InputError(
            f"Expected --model to be {wanted}, for --ablation {name}, but {model} has "
            f"{', then '.join(stages) or 'none'} behind it.\n{remedy}"
        )

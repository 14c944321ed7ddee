"""Stage II of the paper's training, GRPO with rewards over the clip's graph, and its Table 3 as configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_eval_tasks import countervqa
from lmms_eval_tasks.countervqa.training.questions import read_set, reward_items
from lmms_eval_tasks.countervqa.training.stages import ANSWERS, REASONING, Inputs, Written, write_stage
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.progress import Progress, no_progress
from lmms_eval_tasks.utils.rewards.combine import ALPHA, BETA
from lmms_eval_tasks.utils.training.provenance import read_trained_on

GRPO = "grpo"
SUBCOMMAND = "rlhf"
FULL = "full"
PLUGIN = Path(countervqa.__file__).parent / "swift_plugin.py"
"""Makes the rewards known to ms-swift; it imports them from the package in ms-swift's environment."""
ANSWERS_A_QUESTION = 4
SETTINGS: Mapping[str, Any] = {
    "rlhf_type": "grpo",
    "learning_rate": 1e-5,
    "num_generations": ANSWERS_A_QUESTION,
    "temperature": 0.9,
    "max_completion_length": 1024,
    # ms-swift counts answers: a step is made of all answers to a question on each GPU.
    "per_device_train_batch_size": ANSWERS_A_QUESTION,
    "gradient_accumulation_steps": 1,
    "log_completions": True,
}
"""The paper's K, learning rate and temperature; answers as long as the task allows them in an evaluation."""


@dataclass(frozen=True)
class Ablation:
    """A row of the paper's Table 3.

    Attributes:
        by_graph: Whether the rewards are those over the graph; else it is the verdict alone, right or wrong.
        before: The stage before, as `trained_on.json` calls it; None where GRPO is alone.
    """

    by_graph: bool
    before: str | None


ABLATIONS: Mapping[str, Ablation] = {
    FULL: Ablation(by_graph=True, before=REASONING),
    "standard-reward": Ablation(by_graph=False, before=REASONING),
    "no-distillation": Ablation(by_graph=True, before=ANSWERS),
    "grpo-only": Ablation(by_graph=True, before=None),
}


def write_grpo(
    inputs: Inputs, ablation: str = FULL, alpha: float = ALPHA, beta: float = BETA, progress: Progress = no_progress
) -> Written:
    """Write the second stage.

    Args:
        inputs: What every stage is given; the model is the weights that the first stage exported.
        ablation: A row of the paper's Table 3, one of `ABLATIONS`.
        alpha: Weight of the causal reward.
        beta: Weight of the visual reward.
        progress: Called as clips are compared.

    Raises:
        InputError: there is no such row, no reward has a weight, the model was not trained as the row says, or as for
            `write_sft`.
    """
    if ablation not in ABLATIONS:
        raise InputError(f"Expected --ablation to be one of {', '.join(ABLATIONS)}, but got {ablation!r}.")
    chosen = ABLATIONS[ablation]
    if chosen.by_graph and alpha == beta == 0:
        raise InputError("Expected --causal-weight or --visual-weight to be above 0, but both are 0.")
    _check_model(inputs.model, ablation, chosen)
    questions = read_set(inputs.source, inputs.videos)
    settings = {**SETTINGS, "external_plugins": [str(PLUGIN)], **rewards(chosen, alpha, beta)}
    names = (GRPO, f"grpo ({ablation})", SUBCOMMAND)
    return write_stage(inputs, questions, reward_items(questions), names, settings, questions.files, progress)


def rewards(ablation: Ablation, alpha: float, beta: float) -> dict[str, list[Any]]:
    """The rewards' names and weights; those of weight 0 are logged and teach nothing."""
    weights = {"causal": alpha, "visual": beta, "verdict": 0.0}
    if not ablation.by_graph:
        weights = {"verdict": 1.0, "causal": 0.0, "visual": 0.0}
    return {"reward_funcs": list(weights), "reward_weights": list(weights.values())}


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

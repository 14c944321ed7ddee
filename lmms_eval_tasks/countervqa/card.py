"""The facts of CounterVQA, whose data, prompt and scorer are not released."""

from lmms_eval_tasks.api import Card, Human, SplitFacts
from lmms_eval_tasks.api.release import PublishedStatistics

LEVELS = ("L1", "L2", "L3")
"""Two adjacent actions, a chain of two links or more, an action that never happened."""
INTERACTIONS = ("H2H", "H2O")
"""Between people, and between a person and an object."""

CARD = Card(
    name="countervqa",
    title="CounterVQA",
    paper="https://arxiv.org/abs/2511.19923",
    licence="the paper's data is not released; its clips are from Ego-Exo4D, under its own licence",
    homepage="https://github.com/AzhenHETU/CounterVQA",
    main_metric="verdict_accuracy",
    splits={
        "test": SplitFacts(
            items=3987,
            groups=3987,
            clips=712,
            answers_withheld=False,
            statistics=PublishedStatistics(mean_seconds=199.7),
        )
    },
    is_released=False,
    strata_columns=("interaction", "level"),
    chance={"verdict_accuracy": 50.0, "balanced_accuracy": 50.0, "pair_accuracy": 25.0},
    human=(
        Human(
            metric="verdict_accuracy",
            split="test",
            percent=97.4,
            source="a text that is commented out in an earlier commit of the official repository (9196112)",
            caveat="neither in the paper nor in today's repository; how it was scored is not published",
        ),
    ),
    prepare_command="lmms-eval-tasks prepare countervqa --source DIR",
)

"""The facts of CaST-Bench."""

from lmms_eval_tasks.api import Card, Human, SplitFacts

CATEGORIES = (
    "causal_explanation",
    "counterfactual_reasoning",
    "inferential_description",
    "predictive_anticipation",
)
OTHER = "other"
"""Category of a question whose type `question_types.json` does not know."""
NEAR_MISS = "near-miss"
OPTION_KINDS = (
    "text-based",
    "video-based",
    NEAR_MISS,
    f"{NEAR_MISS}-of-answer",
    f"{NEAR_MISS}-of-text-based",
    f"{NEAR_MISS}-of-video-based",
)
"""Kinds of wrong options, after the paper's supplement; `NEAR_MISS` alone where a release does not say of what."""

CARD = Card(
    name="cast_bench",
    title="CaST-Bench",
    paper="https://arxiv.org/abs/2605.23216",
    licence="see the dataset page; clips are from SA-V, under its own licence",
    homepage="https://cast-bench.github.io",
    main_metric="accuracy",
    splits={
        "test": SplitFacts(
            items=2066,
            groups=2066,
            clips=1015,
            answers_withheld=False,
            # The example file of the official repository, 80 questions, of which the project's page has scores.
            part_sha256=frozenset({"504804cd5a3a4aea255cb471cf22185f1f3c40b7dfd6b90df3ba7aea0dc0c5df"}),
        )
    },
    strata_columns=("category",),
    # A guess among six options; a few questions have four or five, which makes it 16.90 on the public 80.
    chance={"accuracy": 16.67},
    human=(
        Human(
            metric="accuracy",
            split="test",
            percent=91.89,
            source="a summary of the paper at en.papernotes.org",
            caveat="second-hand: the paper's own table was not to be had, nor how many people answered what",
        ),
    ),
    prompt_sha256={"template": "dd4b4cbd66fafc466548876e55301b22b8ce68c1018522c823fb9e946903b31b"},
    hub_id="wovenbytoyota-vai/CaST-Bench",
    prepare_command="lmms-eval-tasks prepare cast_bench --source castbench_hf.jsonl --videos DIR",
)

"""The facts of CausalVQA."""

from lmms_eval_tasks.api import Card, Human, SplitFacts
from lmms_eval_tasks.api.release import PublishedStatistics

# Pairs per question type as (easy, medium, hard): paper, Tables 6 and 12.
_TEST_PAIRS = {
    "anticipation": (110, 64, 34),
    "counterfactual": (28, 34, 27),
    "descriptive": (226, 44, 18),
    "hypothetical": (15, 31, 21),
    "planning": (75, 42, 24),
}
DIFFICULTIES = ("easy", "medium", "hard")
TYPES = tuple(_TEST_PAIRS)

CARD = Card(
    name="causalvqa",
    title="CausalVQA",
    paper="https://arxiv.org/abs/2506.09943",
    licence="CC BY-NC 4.0, evaluation only; clips under the Ego-Exo4D licence (croissant.json of the release)",
    homepage="https://github.com/facebookresearch/CausalVQA",
    main_metric="pair_accuracy",
    splits={
        "test": SplitFacts(
            items=1586,
            groups=793,
            clips=779,
            answers_withheld=True,
            strata={
                (kind, difficulty): pairs
                for kind, counts in _TEST_PAIRS.items()
                for difficulty, pairs in zip(DIFFICULTIES, counts, strict=True)
            },
            statistics=PublishedStatistics(mean_seconds=24.8, longest_seconds=288.9),
        ),
        "debug": SplitFacts(
            items=200,
            groups=100,
            clips=None,
            answers_withheld=False,
            strata={(kind, "easy"): 20 for kind in TYPES},
        ),
    },
    strata_columns=("type", "difficulty"),
    chance={"single_accuracy": 20.0, "pair_accuracy": 4.0},
    human=(
        Human(
            metric="single_accuracy",
            split="test",
            percent=84.78,
            source="paper, Tables 6 and 12",
            caveat="each annotator saw one version of a question, so this is no pair_accuracy, though Table 6 prints it"
            " beside the paired scores of models",
        ),
    ),
    prompt_sha256={"post_prompt": "aea8943677956a94454951750b33ec1f7b3602afddad5ea390e214801f44eca6"},
    archive_sha256={"CausalVQA.zip": "a48684b9ef0b9b824b21225ceac23e92a43ec64cfebead20bf15978a399880c5"},
    prepare_command="lmms-eval-tasks prepare causalvqa --source CausalVQA.zip",
    leaderboards={"physical-reasoning": {"test": "causalvqa"}},
)

"""The facts of IntPhys 2."""

from lmms_eval_tasks.api import Card, Human, SplitFacts

CONDITIONS = ("permanence", "immutability", "continuity", "solidity")
CAMERAS = ("fixed", "moving")
DIFFICULTIES = ("easy", "medium", "hard")
KINDS = ("1_Possible", "1_Impossible", "2_Possible", "2_Impossible")
"""The four clips of a scene: two matched pairs."""
FOLDERS = {"debug": "Debug", "main": "Main", "heldout": "HeldOut"}
"""Split to its folder in the release, which is also its name in the leaderboard's file."""

CARD = Card(
    name="intphys2",
    title="IntPhys 2",
    paper="https://arxiv.org/abs/2506.09849",
    licence="CC BY-NC 4.0, evaluation only",
    homepage="https://github.com/facebookresearch/IntPhys2",
    main_metric="single_accuracy",
    splits={
        "debug": SplitFacts(items=60, groups=5, clips=60),
        "main": SplitFacts(items=1012, groups=253, clips=1012),
        # Its 86 scenes are not told: each clip is a group of its own.
        "heldout": SplitFacts(items=344, groups=344, clips=344, answers_withheld=True),
    },
    strata_columns=("condition", "camera", "difficulty"),
    chance={
        "single_accuracy": 50.0,
        "single_accuracy_official": 50.0,
        "pair_accuracy": 25.0,
        "scene_accuracy": 6.25,
        "plausibility_preference": 50.0,
    },
    human=(
        Human(
            metric="single_accuracy",
            split="heldout",
            percent=92.44,
            source="the leaderboard, as a third party's page lists it",
            caveat="second-hand; how people were asked is not told there",
        ),
    ),
    hub_id="facebook/IntPhys2",
    prepare_command="lmms-eval-tasks prepare intphys2 --source IntPhys2.zip",
    leaderboards={"physical-reasoning": {"heldout": "intphys2"}},
)

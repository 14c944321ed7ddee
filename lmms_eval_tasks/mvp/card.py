"""The facts of MVP (Minimal Video Pairs)."""

from lmms_eval_tasks.api import Card, Human, SplitFacts
from lmms_eval_tasks.api.release import PublishedStatistics

SUBSETS = (
    "human_object_interactions",
    "robot_object_interactions",
    "intuitive_physics",
    "temporal_reasoning",
)
CLIP_SOURCES = {
    "pt": "https://github.com/google-deepmind/perception_test (valid_videos.zip)",
    "ssv2": "https://www.qualcomm.com/developer/software/something-something-v-2-dataset",
    "language_table": "gs://gresearch/robotics/language_table/0.0.1",
    "intphys": "https://intphys.cognitive-ml.fr (dev.tar.gz)",
    "inflevel": "https://github.com/allenai/inflevel (inflevel_lab.tar.gz)",
    "grasp": "https://github.com/i-machine-think/grasp (videos.zip)",
    "clevrer": "http://clevrer.csail.mit.edu (video_validation.zip)",
    "star": "Charades, https://prior.allenai.org/projects/charades (Charades_v1_480.zip)",
    "vinoground": "https://huggingface.co/datasets/HanSolo9682/Vinoground (vinoground_videos.zip)",
}
"""Where each source's clips come from: the official Makefile's downloads, and the pages that have their terms."""
SOURCES = tuple(CLIP_SOURCES)
# Pairs of the mini split: the only sizes that the four-decimal scores of the official reproducibility.md allow.
_MINI_PAIRS = (2862, 1000, 4340, 1006)

CARD = Card(
    name="mvp",
    title="MVP",
    paper="https://arxiv.org/abs/2506.09987",
    licence="see the dataset page; clips under the licences of their nine sources, which are not redistributed",
    homepage="https://github.com/facebookresearch/minimal_video_pairs",
    main_metric="pair_accuracy",
    splits={
        "mini": SplitFacts(
            items=18416,
            groups=9208,
            clips=None,
            answers_withheld=False,
            strata={(subset,): pairs for subset, pairs in zip(SUBSETS, _MINI_PAIRS, strict=True)},
        ),
        # The other three subsets of the full split are published rounded to 0.1K pairs only.
        "full": SplitFacts(
            items=54828,
            groups=27414,
            clips=None,
            answers_withheld=False,
            strata={("temporal_reasoning",): 1383},
            # The length of the candidates, and the words of questions and answers: in a pair each candidate is one.
            statistics=PublishedStatistics(mean_seconds=8.8, option_words=8.1, vocabulary=2355),
        ),
    },
    strata_columns=("subset",),
    chance={"single_accuracy": 50.0, "pair_accuracy": 25.0},
    human=(
        Human(
            metric="pair_accuracy",
            split="full",
            percent=92.9,
            source="paper, Table 4",
            caveat="measured on a representative subset that the paper does not tie to the mini or the full split",
        ),
    ),
    prompt_sha256={"post_prompt": "6e5efe9e4ed0239dfce20078862a1311c2f6010a8de1ca1f4afcf944b6298cb9"},
    hub_id="facebook/minimal_video_pairs",
    prepare_command="lmms-eval-tasks prepare mvp --videos DIR",
    clip_sources=CLIP_SOURCES,
    leaderboards={"physical-reasoning": {"mini": "mvp_mini", "full": "mvp"}},
)

"""The facts of YoCausal."""

from lmms_eval_tasks.api import Card, Human, SplitFacts
from lmms_eval_tasks.api.release import PublishedStatistics

# Pairs per subset: paper, section on data (Moments in Time, Physics-IQ, Kinetics-400, Animal Kingdom).
_PAIRS = {"animal": 200, "general": 500, "human": 400, "physics": 132}
# How much of a source's video is taken: the same section.
_SECONDS = {"animal": 3.0, "general": 3.0, "human": 3.0, "physics": 5.0}
SUBSETS = tuple(_PAIRS)
QUESTION = "Is this clip played forward, as it was filmed, or reversed?"
OPTIONS = ("It is played forward.", "It is played in reverse.", "It cannot be told.")
FORWARD, REVERSED, UNKNOWN = "A", "B", "C"

CARD = Card(
    name="yocausal",
    title="YoCausal",
    paper="https://www.youzhexie.me/papers/YoCausal/index.html",
    licence="see the dataset page; clips under the licences of their four sources",
    homepage="https://github.com/youzhe0305/YoCausal",
    main_metric="rsi",
    splits={
        "test": SplitFacts(
            items=1232,
            groups=1232,
            clips=2464,
            answers_withheld=False,
            strata={(subset,): pairs for subset, pairs in _PAIRS.items()},
            statistics=PublishedStatistics(stratum_seconds={(subset,): length for subset, length in _SECONDS.items()}),
        )
    },
    strata_columns=("subset",),
    chance={"rsi": 50.0, "cci": 0.0},
    human=(
        Human(
            metric="rsi",
            split="test",
            percent=79.08,
            source="paper, Table 4",
            caveat="an unknown counts half there, as in rsi_human_protocol here; 132 answers cannot give the figure "
            "printed for Physics",
        ),
        Human(metric="cci", split="test", percent=8.67, source="paper, Table 5", caveat="percentage points"),
    ),
    prompt_sha256={"labelling prompt": "be886599bd6ca6cb982f0a7d653737cde0626fc20ee6d83a69acd2b850bb8383"},
    hub_id="YouZhe/YoCausal-dataset",
    prepare_command="lmms-eval-tasks prepare yocausal",
    clip_columns=("clip", "clip_backward"),
)

"""The environment variables that this package reads, and those that are set and mean nothing to it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

PREFIX = "LMMS_EVAL_TASKS_"
HOME = f"{PREFIX}HOME"
"""The data home."""
MISSING = f"{PREFIX}MISSING"
"""What a run does about missing clips."""
PROMPT = f"{PREFIX}PROMPT"
"""The prompt of a run."""
JUDGE = f"{PREFIX}JUDGE"
"""The judge of free answers."""
ANSWERS = f"{PREFIX}ANSWERS"
"""Where answers are kept: a folder, or `none`."""
SHARD = f"{PREFIX}SHARD"
"""Which part of each task a run works on: `3/7` is the third of seven."""
BOXES = f"{PREFIX}BOXES"
"""How a model writes boxes; benchmarks that ask for boxes name it as theirs."""
MATCHING = f"{PREFIX}MATCHING"
"""By which rule evidence is matched; benchmarks that grade evidence name it as theirs."""
CAPTIONS = f"{PREFIX}CAPTIONS"
"""Captions that stand in place of clips."""
VIEW_BYTES = f"{PREFIX}VIEW_BYTES"
"""How many bytes the frames and clips that views make may take."""
REWARD_JUDGE_URL, REWARD_JUDGE_MODEL = f"{PREFIX}REWARD_JUDGE_URL", f"{PREFIX}REWARD_JUDGE_MODEL"
"""The judge of rewards in a training: its server, up to ``/v1``, and its model."""
REWARD_JUDGE_FRAMES, REWARD_JUDGE_REPLIES = f"{PREFIX}REWARD_JUDGE_FRAMES", f"{PREFIX}REWARD_JUDGE_REPLIES"
"""How many frames of a clip it is shown, and the folder in which its replies are kept."""
KNOWN = (
    HOME, MISSING, PROMPT, JUDGE, ANSWERS, CAPTIONS, VIEW_BYTES, SHARD,
    REWARD_JUDGE_URL, REWARD_JUDGE_MODEL, REWARD_JUDGE_FRAMES, REWARD_JUDGE_REPLIES,
)  # fmt: skip
"""Those of all benchmarks; a benchmark names its own."""

_SIMILAR = PREFIX[: len("LMMS_EVAL_TASK")]


def describe_unknown_variables(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """A sentence for each variable that looks like one of ours and is none, with the nearest that is."""
    ours = {name.removeprefix(PREFIX): name for name in known}
    messages = []
    for name in sorted(names):
        if name in ours.values() or not name.upper().startswith(_SIMILAR):
            continue
        ending = name.upper()[len(_SIMILAR) :].removeprefix("S").removeprefix("_")
        (nearest,) = get_close_matches(ending, ours, n=1, cutoff=0.0)
        messages.append(
            f"{name} is set, but no such variable is read; the nearest is {ours[nearest]}. Known are "
            f"{', '.join(sorted(ours.values()))}."
        )
    return messages

"""Environment variables that are set and mean nothing to this package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lmms_eval_tasks
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.core.text import KNOWN, describe_unknown_variables

EVERY = {*KNOWN, *registry().variables}


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("LMMS_EVAL_TASKS_PROMT", "LMMS_EVAL_TASKS_PROMPT"),
        ("LMMS_EVAL_TASKS_ANSWER", "LMMS_EVAL_TASKS_ANSWERS"),
        ("LMMS_EVAL_TASK_HOME", "LMMS_EVAL_TASKS_HOME"),
        ("lmms_eval_tasks_missing", "LMMS_EVAL_TASKS_MISSING"),
        ("LMMS_EVAL_TASKS_BOX", "LMMS_EVAL_TASKS_BOXES"),
        ("LMMS_EVAL_TASKS_JUGDE", "LMMS_EVAL_TASKS_JUDGE"),
    ],
)
def test_a_misspelt_variable_is_named_with_the_nearest(name: str, nearest: str) -> None:
    (message,) = describe_unknown_variables([name, "PATH", *EVERY], EVERY)
    assert message == (
        f"{name} is set, but no such variable is read; the nearest is {nearest}. Known are LMMS_EVAL_TASKS_ANSWERS, "
        "LMMS_EVAL_TASKS_BOXES, LMMS_EVAL_TASKS_CAPTIONS, LMMS_EVAL_TASKS_HOME, LMMS_EVAL_TASKS_JUDGE, "
        "LMMS_EVAL_TASKS_MATCHING, LMMS_EVAL_TASKS_MISSING, LMMS_EVAL_TASKS_PROMPT, "
        "LMMS_EVAL_TASKS_REWARD_JUDGE_FRAMES, "
        "LMMS_EVAL_TASKS_REWARD_JUDGE_MODEL, LMMS_EVAL_TASKS_REWARD_JUDGE_REPLIES, LMMS_EVAL_TASKS_REWARD_JUDGE_URL, "
        "LMMS_EVAL_TASKS_SHARD, LMMS_EVAL_TASKS_VIEW_BYTES."
    )


def test_known_variables_and_other_peoples_are_not_named() -> None:
    assert describe_unknown_variables([*EVERY, "LMMS_EVAL_PLUGINS", "HF_HOME"], EVERY) == []


def test_every_variable_that_the_package_names_is_known() -> None:
    sources = Path(lmms_eval_tasks.__file__).parent.rglob("*.py")
    named = {name for path in sources for name in re.findall(r"LMMS_EVAL_TASKS_[A-Z_]*[A-Z]", path.read_text("utf-8"))}
    assert named <= EVERY

"""The table on docs/training.md of what an answer earns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lmms_eval_tasks.train.countervqa.rewards import REWARDS
from lmms_eval_tasks.train.rewards.reward_sample import RewardSample

PAGE = (Path(__file__).parents[3] / "docs" / "training.md").read_text(encoding="utf-8")
ANSWER = re.search(r"^(<think>.*?</answer>)$", PAGE, re.M | re.S)
ROWS = re.findall(r"^\| (`.+`) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", PAGE, re.M)


def page_sample() -> RewardSample:
    block = re.search(r"^```python\n(.*?)^print", PAGE, re.M | re.S)
    assert block is not None
    names: dict[str, RewardSample] = {}
    exec(block[1], names)
    return names["sample"]


def changed(change: str) -> str:
    """The page's answer with a line taken out or put in before the conclusion, or another end."""
    assert ANSWER is not None
    answer = ANSWER[1]
    for part in re.findall(r"`([^`]+)`", change):
        if part.startswith("- "):
            before, answer = answer, answer.replace(f"{part[2:]}\n", "")
        elif part.startswith("+ "):
            before, answer = answer, answer.replace("conclusion:", f"{part[2:]}\nconclusion:")
        elif part.startswith("conclusion"):
            before, answer = answer, re.sub("conclusion: .*", part, answer)
        else:
            before, answer = answer, answer[: answer.index("<answer>")] + part
        assert answer != before, part
    return answer


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_of_the_table(row: tuple[str, str, str, str]) -> None:
    change, *shown = row
    given = [REWARDS[name](changed(change), page_sample()) for name in ("causal", "visual", "graph")]
    assert [f"{value:.2f}" for value in given] == shown and len(ROWS) >= 14


def test_the_answer_itself_earns_it_all() -> None:
    assert [REWARDS[name](changed(""), page_sample()) for name in ("causal", "visual", "graph", "format")] == [1.0] * 4

"""Answers in the manner of models, labelled by hand: how a careful reader and the official notebook read them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.intphys2.hooks import official_answer
from lmms_eval_tasks.utils.answers.plausible import IMPOSSIBLE, POSSIBLE, read_plausibility

LINES = [json.loads(line) for line in (Path(__file__).parent / "answers.jsonl").read_text().splitlines()]
READ = {"possible": POSSIBLE, "impossible": IMPOSSIBLE, None: None}
OFFICIAL = {1: POSSIBLE, 0: IMPOSSIBLE, None: None}


def test_there_are_answers_to_each_prompt() -> None:
    counts = Counter(line["prompt"] for line in LINES)
    assert counts.keys() == {"ours", 0, 1, 2} and min(counts.values()) >= 60, counts
    assert len({(line["prompt"], line["text"]) for line in LINES}) == len(LINES)


def test_answers_are_read_as_labelled_and_by_the_official_rule() -> None:
    for line in LINES:
        assert read_plausibility(line["text"]) == READ[line["read"]], line
        assert official_answer(line["text"], digits=line["prompt"] == 1) == OFFICIAL[line["official"]], line


@given(st.one_of(st.text(), st.none(), st.integers(), st.lists(st.text())))
def test_whatever_a_model_returns_raises_nothing(response: object) -> None:
    assert read_plausibility(response) in (POSSIBLE, IMPOSSIBLE, None)

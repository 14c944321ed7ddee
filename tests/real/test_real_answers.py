"""Answers of a released language model: what our readers make of them, and the table of docs/evidence.md.

`answers.jsonl` are the answers of `make real` (part `blind`) by SmolLM2-135M-Instruct, with the rows of the sample that
they are about. `tools/real_answers.py` wrote them.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from evidence_page import table_below

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.testing.examples import grade_items
from lmms_eval_tasks.utils.scoring.bootstrap import interval
from lmms_eval_tasks.utils.scoring.metrics import PAIR_ACCURACY, SINGLE_ACCURACY, score_tasks
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

ANSWERS = Path(__file__).with_name("answers.jsonl")
BLIND = "_blind"


@cache
def answers() -> tuple[Mapping[str, Any], ...]:
    return tuple(map(json.loads, ANSWERS.read_text(encoding="utf-8").splitlines()))


@cache
def records() -> Mapping[str, list[Record]]:
    """What becomes of the answers, by the task; MVP's parts are one."""
    asked: defaultdict[str, list[tuple[Mapping[str, Any], str]]] = defaultdict(list)
    for line in answers():
        asked[line["task"]].append((line["row"], line["response"]))
    found: defaultdict[str, list[Record]] = defaultdict(list)
    for name, items in asked.items():
        # What is asked blind is graded as what is shown.
        graded = grade_items(registry().tasks[name.removesuffix(BLIND)], items)
        found["mvp_mini_blind" if name.startswith("mvp_mini_") else name] += graded
    return found


def cells(name: str) -> dict[str, str]:
    """A task's row of the page."""
    own = records()[name]
    counted = Counter(record.outcome for record in own)
    reasons = Counter(record.unparsed_reason.value for record in own if record.unparsed_reason)
    pairs = PAIR_ACCURACY.units(own)
    return {
        "answers": str(len(own)),
        "right": str(counted[Outcome.CORRECT]),
        "wrong": str(counted[Outcome.WRONG]),
        "unparsed": ", ".join(f"{number} {reason}" for reason, number in reasons.most_common()) or "0",
        "single, %": f"{score_tasks(SINGLE_ACCURACY, [SINGLE_ACCURACY.units(own)]):.1f}",
        "pairs, %": with_interval(pairs) if pairs else "no pairs",
    }


def with_interval(units: Any) -> str:
    low, high = interval(PAIR_ACCURACY, [units], (0.0, 100.0))
    return f"{score_tasks(PAIR_ACCURACY, [units]):.1f} [{low:.1f}, {high:.1f}]"


def test_the_page_has_what_our_readers_make_of_each_tasks_answers() -> None:
    table = table_below("A released language model")
    assert {f"`{name}`": cells(name) for name in records()} == table


def test_every_answer_has_its_prompt_and_was_given_once() -> None:
    keys = [(line["task"], line["row"]["item_id"]) for line in answers()]
    assert len(keys) == len({*keys}) == 146
    assert all(line["prompt"] and line["response"] for line in answers())


@pytest.mark.parametrize(
    ("response", "outcome"),
    [
        # It says a letter and another option's text: nothing can be known of what it means.
        ("The correct answer is (C) The yellow block.", Outcome.UNPARSED),
        # It says that nothing happens, which no option does.
        ("The hand does not do anything with the blue ball.", Outcome.UNPARSED),
    ],
)
def test_what_the_model_says_of_no_option_is_not_taken_for_one(response: str, outcome: Outcome) -> None:
    """By reading the answers: neither is a choice of an option where it was said."""
    said = {(line["task"], line["row"]["item_id"]): line["response"] for line in answers()}
    own = [
        record
        for name, graded in records().items()
        for record in graded
        for task in {line["task"] for line in answers() if line["task"] == name or name == "mvp_mini_blind"}
        if said.get((task, record.item_id)) == response
    ]
    assert own and {record.outcome for record in own} == {outcome}

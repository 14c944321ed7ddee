"""Answers of a released language model: what our readers make of them, and the table of docs/evidence.md.

`answers.jsonl` are the answers of `make real` (part `blind`) by SmolLM2-135M-Instruct, with the rows of the sample that
they are about. `tools/real_answers.py` wrote them.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from docs import ROOT
from evidence_page import table_below

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.testing.examples import grade_items
from lmms_eval_tasks.utils.answers.reply import LENGTH, Finish, Reply
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm
from lmms_eval_tasks.utils.scoring.bootstrap import interval
from lmms_eval_tasks.utils.scoring.metrics import PAIR_ACCURACY, Metric, score_tasks
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, UnparsedReason

ANSWERS = Path(__file__).with_name("answers.jsonl")
BLIND = "_blind"


@cache
def answers() -> tuple[Mapping[str, Any], ...]:
    return tuple(map(json.loads, ANSWERS.read_text(encoding="utf-8").splitlines()))


@cache
def records() -> Mapping[str, Mapping[str, list[Record]]]:
    """What becomes of the answers, by the task or the group, and by its parts."""
    asked: defaultdict[str, list[tuple[Mapping[str, Any], Reply]]] = defaultdict(list)
    for line in answers():
        # The readers ask whether an answer had reached its last token.
        reply = Reply(line["response"], finish=Finish(LENGTH) if line["cut_off"] else Finish())
        asked[line["task"]].append((line["row"], reply))
    found: defaultdict[str, dict[str, list[Record]]] = defaultdict(dict)
    for name, items in asked.items():
        # What is asked blind is graded as what is shown.
        graded = grade_items(registry().tasks[name.removesuffix(BLIND)], items)
        found[row_of(name)][name] = graded
    return found


def row_of(name: str) -> str:
    """A task, or its group where all parts of it are of one kind."""
    task = name.removesuffix(BLIND)
    for group, (members, _) in registry().groups.items():
        if task in members and len({id(registry().tasks[member].kind) for member in members}) == 1:
            return f"{group}{BLIND}"
    return name


def cells(name: str) -> dict[str, str]:
    """A task's row of the page."""
    parts = records()[name].values()
    own = [record for part in parts for record in part]
    counted = Counter(record.outcome for record in own)
    reasons = Counter(record.unparsed_reason.value for record in own if record.unparsed_reason)
    task = registry().tasks[next(iter(records()[name])).removesuffix(BLIND)]
    pairs = [metric for metric in task.kind.metrics if metric.name == PAIR_ACCURACY.name]
    keyless = counted[Outcome.UNSCORED] == len(own)
    return {
        "answers": str(len(own)),
        "right": str(counted[Outcome.CORRECT]),
        "wrong": str(counted[Outcome.WRONG]),
        "unscored": str(counted[Outcome.UNSCORED]),
        "unparsed": ", ".join(f"{number} {reason}" for reason, number in reasons.most_common()) or "0",
        "pairs, %": "no key" if keyless else with_interval(pairs[0], parts) if pairs else "no pairs",
    }


def with_interval(metric: Metric, parts: Iterable[Sequence[Record]]) -> str:
    """The mean over the parts, as a run prints it."""
    units = [metric.units(part) for part in parts]
    low, high = interval(metric, units, (0.0, 100.0))
    return f"{score_tasks(metric, units):.1f} [{low:.1f}, {high:.1f}]"


@pytest.mark.slow
def test_the_page_has_what_our_readers_make_of_each_tasks_answers() -> None:
    table = table_below("A released language model")
    assert {f"`{name}`": cells(name) for name in records()} == table


def test_the_readme_sums_the_table_up() -> None:
    own = [record for parts in records().values() for part in parts.values() for record in part]
    unparsed = sum(record.outcome is Outcome.UNPARSED for record in own)
    line = next(line for line in (ROOT / "README.md").read_text("utf-8").splitlines() if "| SmolLM2" in line)
    assert f"{len(own)} answers, of them {unparsed} unparsed" in line


def test_every_benchmark_that_can_be_asked_blind_has_answers() -> None:
    asked = {registry().tasks[line["task"].removesuffix(BLIND)].benchmark.name for line in answers()}
    assert asked == {
        task.benchmark.name
        for task in registry().tasks.values()
        if BLIND[1:] in task.kind.views and task.kind.answer_form is AnswerForm.WORDS and task.kind.judge != "required"
    }


def test_every_answer_has_its_prompt_and_was_given_once() -> None:
    keys = [(line["task"], line["row"]["item_id"]) for line in answers()]
    assert len(keys) == len({*keys}) == 380
    assert all(line["prompt"] and line["response"] for line in answers())


@pytest.mark.parametrize(
    ("task", "start", "reason"),
    [
        # Each says (C) and the text of another option, or of none.
        ("causalvqa_debug_paired_blind", "The correct answer is (C) The yellow block.", UnparsedReason.DISAGREES),
        # Its options are that the hand puts the ball somewhere, or takes it out.
        ("mvp_blind", "The hand does not do anything with the", UnparsedReason.NO_OPTION),
    ],
)
def test_what_fits_no_option_is_taken_for_none(task: str, start: str, reason: UnparsedReason) -> None:
    """Expected by reading the answers beside their options."""
    said = {(line["task"], line["row"]["item_id"]) for line in answers() if line["response"].startswith(start)}
    own = [record for name, part in records()[task].items() for record in part if (name, record.item_id) in said]
    assert own and {record.unparsed_reason for record in own} == {reason}

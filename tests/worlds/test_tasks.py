"""The tasks of worlds on made-up scenes: an oracle is right on all, and scores are told apart by what is asked."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import pytest
from made_facts import made_facts
from task_states import task_state
from worlds_oracle import oracle

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.reporting.columns import RunRecords
from lmms_eval_tasks.utils.scoring.record import Outcome, Record
from lmms_eval_tasks.worlds import report
from lmms_eval_tasks.worlds.benchmark import make_rows
from lmms_eval_tasks.worlds.card import DEPTHS, FAMILIES, SUBSETS
from lmms_eval_tasks.worlds.profile import STEPS
from lmms_eval_tasks.worlds.questions.question_set import TASKS, questions_of_set
from lmms_eval_tasks.worlds.scenes.families import families

Row = dict[str, Any]


@cache
def rows() -> tuple[Row, ...]:
    made = make_rows(questions_of_set(made_facts(12), 0))
    return tuple({**row, "asked": True, "clip_present": True} for row in made)


def rows_of(subset: str) -> tuple[Row, ...]:
    return tuple(row for row in rows() if row["subset"] == subset)


def grade(subset: str, answers: Any) -> list[Record]:
    state = task_state(f"worlds_{subset}")
    return [
        Record.from_json(state.process_results(row, [answers(row)])["record"])  # as the hook logs it
        for row in rows_of(subset)
    ]


def scores(subset: str, records: list[Record]) -> dict[str, Any]:
    kind = registry().tasks[f"worlds_{subset}"].kind
    return {metric.name: metric.score_records(records) for metric in kind.metrics}


def test_every_family_of_a_test_is_there_and_none_that_only_training_has() -> None:
    known = families()
    assert set(FAMILIES) == {name for name, family in known.items() if not family.for_training}
    assert SUBSETS == TASKS and set(registry().benchmarks["worlds"].kinds) == set(SUBSETS)


@pytest.mark.parametrize("subset", SUBSETS)
def test_an_oracle_is_right_on_all(subset: str) -> None:
    records = grade(subset, oracle)
    assert len(records) >= 4 and {record.outcome for record in records} == {Outcome.CORRECT}
    found = scores(subset, records)
    assert found["single_accuracy"] == 100 and found["unparsed_rate"] == 0
    assert found.get("pair_accuracy", 100) == 100
    if subset == "evidence":
        assert (found["faithful"], found["im_viou"], found["spurious"]) == (100, 100, 0)


@pytest.mark.parametrize("subset", ["minimal", "counterfactual", "possible", "reversal"])
def test_a_constant_gets_half_and_no_pair(subset: str) -> None:
    said = {"counterfactual": "Yes.", "possible": "Yes"}.get(subset, "A")
    found = scores(subset, grade(subset, lambda row: said))
    assert (found["single_accuracy"], found["pair_accuracy"]) == (50, 0)


def test_marked_questions_and_levels_are_scored_apart() -> None:
    records = grade("counterfactual", lambda row: f"{row['seen'].title()}.")
    found, marked = scores("counterfactual", records), [row["marked"] for row in rows_of("counterfactual")]
    assert (found["verdict_accuracy_marked"], found["verdict_accuracy_plain"]) == (0, 100)
    assert found["verdict_accuracy"] == pytest.approx(100 * Counter(marked)["plain"] / len(marked))
    levels = Counter(row["level"] for row in rows_of("counterfactual"))
    assert all((found[f"verdict_accuracy_{level}"] is not None) == bool(levels[level]) for level in levels)


def test_what_is_missing_is_unscored_and_what_is_unread_is_wrong() -> None:
    for subset in SUBSETS:
        row, state = rows_of(subset)[0], task_state(f"worlds_{subset}")
        for changes, response, outcome in (
            ({"asked": False}, oracle(row), "unscored"),
            ({}, "It is hard to tell.", "unparsed"),
            ({}, None, "unparsed"),
        ):
            assert state.process_results({**row, **changes}, [response])["record"]["outcome"] == outcome, subset


def test_a_question_is_asked_with_its_options_or_alone() -> None:
    for subset in SUBSETS:
        row, state = rows_of(subset)[0], task_state(f"worlds_{subset}")
        prompt = state.doc_to_text(row, None)
        assert row["question"] in prompt
        alone = subset in ("counterfactual", "possible")
        assert all((option in prompt) != alone for option in row["options"] if subset != "possible")


def test_records_say_of_which_scene_and_step_they_are() -> None:
    steps = {record.fields["step"] for subset in SUBSETS for record in grade(subset, oracle)}
    assert steps == {*STEPS, ""}
    records = [record for subset in SUBSETS for record in grade(subset, oracle)]
    assert {record.stratum["depth"] for record in records} <= set(DEPTHS)
    titles = [panel.title for panel in report.panels("worlds", [RunRecords("1", "oracle", [records])])]
    assert "Which step fails first" in titles
    alone = [panel.title for panel in report.panels("worlds_paired", [RunRecords("1", "x", [grade("paired", oracle)])])]
    assert "Which step fails first" not in alone and alone


def test_views_keep_the_key_true() -> None:
    views = {name: task.kind.views for name, task in registry().tasks.items() if task.benchmark.name == "worlds"}
    assert not any("reversed" in of_task for of_task in views.values())
    shuffled = {name for name, of_task in views.items() if "shuffled" in of_task}
    assert shuffled == {"worlds_paired", "worlds_minimal", "worlds_counterfactual"}

"""The tasks of worlds on made-up scenes: an oracle is right on all, and scores are told apart by what is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from made_facts import made_facts
from metric_scores import score_all
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
    made = make_rows(questions_of_set(made_facts(6), 0))
    return tuple({**row, "asked": True, "clip_present": True} for row in made)


def rows_of(subset: str) -> list[Row]:
    return [row for row in rows() if row["subset"] == subset]


def grade(subset: str, answer: Callable[[Row], str]) -> list[Record]:
    process = task_state(f"worlds_{subset}").process_results
    return [Record.from_json(process(row, [answer(row)])["record"]) for row in rows_of(subset)]  # as the hook logs it


def scores(subset: str, records: list[Record]) -> dict[str, Any]:
    return score_all(registry().tasks[f"worlds_{subset}"].kind.metrics, records)


def test_every_family_and_subset_is_there_and_none_that_only_training_has() -> None:
    assert set(FAMILIES) == {name for name, family in families().items() if not family.for_training}
    assert SUBSETS == TASKS and set(registry().benchmarks["worlds"].kinds) == set(SUBSETS)


@pytest.mark.parametrize("subset", SUBSETS)
def test_a_question_is_asked_whole_and_its_right_answer_is_right(subset: str) -> None:
    records, row, state = grade(subset, oracle), rows_of(subset)[0], task_state(f"worlds_{subset}")
    assert len(records) >= 4 and {record.outcome for record in records} == {Outcome.CORRECT}
    found = scores(subset, records)
    assert (found["single_accuracy"], found["unparsed_rate"], found.get("pair_accuracy", 100)) == (100, 0, 100)
    if subset == "evidence":
        assert (found["faithful"], found["im_viou"], found["spurious"]) == (100, 100, 0)
    prompt = state.doc_to_text(row, None)
    assert row["question"] in prompt and all(option in prompt for option in row["options"] if subset != "possible")
    for changes, response, outcome in (
        ({"asked": False}, oracle(row), "unscored"),
        ({}, "It is hard to tell.", "unparsed"),
        ({}, None, "unparsed"),
    ):
        assert state.process_results({**row, **changes}, [response])["record"]["outcome"] == outcome


@pytest.mark.parametrize("subset", ["minimal", "counterfactual", "possible", "reversal"])
def test_a_constant_gets_half_and_no_pair(subset: str) -> None:
    said = {"counterfactual": "Yes.", "possible": "Yes"}.get(subset, "A")
    found = scores(subset, grade(subset, lambda row: said))
    assert (found["single_accuracy"], found["pair_accuracy"]) == (50, 0)


def test_marked_questions_and_levels_are_scored_apart() -> None:
    asked = rows_of("counterfactual")
    found = scores("counterfactual", grade("counterfactual", lambda row: f"{row['seen'].title()}."))
    assert (found["verdict_accuracy_marked"], found["verdict_accuracy_plain"]) == (0, 100)
    plain = Counter(row["marked"] for row in asked)["plain"]
    assert found["verdict_accuracy"] == pytest.approx(100 * plain / len(asked))
    for level in {row["level"] for row in asked}:
        of_level = [row["marked"] == "plain" for row in asked if row["level"] == level]
        assert found[f"verdict_accuracy_{level}"] == pytest.approx(100 * sum(of_level) / len(of_level))


def test_records_say_of_which_scene_and_step_they_are() -> None:
    records = [record for subset in SUBSETS for record in grade(subset, oracle)]
    assert {record.fields["step"] for record in records} == {*STEPS, ""}
    assert {record.stratum["depth"] for record in records} <= set(DEPTHS)

    def titles(task: str, graded: list[Record]) -> list[str]:
        return [panel.title for panel in report.panels(task, [RunRecords("1", "oracle", [graded])])]

    assert "Which step fails first" in titles("worlds", records)
    alone = titles("worlds_paired", grade("paired", oracle))
    assert alone and "Which step fails first" not in alone


def test_views_keep_the_key_true() -> None:
    views = {name: task.kind.views for name, task in registry().tasks.items() if task.benchmark.name == "worlds"}
    assert not any("reversed" in of_task for of_task in views.values())
    shuffled = {name for name, of_task in views.items() if "shuffled" in of_task}
    assert shuffled == {"worlds_paired", "worlds_minimal", "worlds_counterfactual"}

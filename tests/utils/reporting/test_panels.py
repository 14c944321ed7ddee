"""Panels that several benchmarks show, from records whose counts are known."""

from __future__ import annotations

from lmms_eval_tasks.utils.core.table import Cell
from lmms_eval_tasks.utils.reporting.columns import RunRecords
from lmms_eval_tasks.utils.reporting.panels import Panel, outcome_panel, usual_panels
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

C, W, P, S = Outcome.CORRECT, Outcome.WRONG, Outcome.UNPARSED, Outcome.UNSCORED


def records(*pairs: tuple[Outcome, ...]) -> list[Record]:
    return [
        Record(f"{group}_{member}", str(group), {}, "AB"[member], {C: "AB"[member], W: "C"}.get(outcome), outcome)
        for group, outcomes in enumerate(pairs)
        for member, outcome in enumerate(outcomes)
    ]


def shown(*pairs: tuple[Outcome, ...]) -> list[RunRecords]:
    return [RunRecords("1", "model", [records(*pairs)])]


def numbers(panel: Panel) -> list[tuple[Cell, ...]]:
    """The numbers of its one figure."""
    (figure,) = panel.all_figures
    return figure.table().rows


def consistency(runs: list[RunRecords], members: str) -> Panel:
    return usual_panels(runs, members)[0]


def letters(runs: list[RunRecords]) -> list[Panel]:
    return usual_panels(runs)[1:]


def test_consistency_counts_complete_scored_pairs() -> None:
    panel = consistency(shown((C, C), (C, C), (C, W), (P, C), (W, P), (C, S), (C,)), "versions")
    assert numbers(panel) == [("model", "1", 2, 2, 1)]


def test_pairs_of_one_name_in_two_parts_are_two_pairs() -> None:
    part = records((C, C))
    assert numbers(consistency([RunRecords("1", "model", [part, part])], "clips")) == [("model", "1", 2, 0, 0)]


def test_every_item_has_an_outcome() -> None:
    panel = outcome_panel(shown((C, W), (P, S), (S, S)))
    assert numbers(panel) == [("model", "1", 1, 1, 1, 3)]


def test_letters_are_counted_where_there_is_a_key() -> None:
    (panel,) = letters(shown((C, W), (W, C), (P, S)))
    # Rows A and B; columns A, B, C and none: A was answered A, C and not at all.
    assert numbers(panel) == [("A", 1, 0, 1, 1, 3), ("B", 0, 1, 1, 0, 2)]
    assert panel.note.startswith("Most given: C, 2 of 5 answers; it is the key 0 times.")


def test_without_keys_there_are_no_letters() -> None:
    assert letters(shown((S, S))) == []


def test_other_answers_than_letters_stand_in_their_order_all_of_them() -> None:
    (panel,) = usual_panels(shown((C, C)), "verdicts", ("B", "A", "D"))[2:]
    assert panel.title == "Verdicts: expected × answered" and panel.note == ""
    # The group's first member has the key A, and its second B.
    assert numbers(panel) == [("B", 1, 0, 0, 0, 1), ("A", 0, 1, 0, 0, 1), ("D", 0, 0, 0, 0, 0)]

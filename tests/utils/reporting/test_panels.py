"""Panels that several benchmarks show, from records whose counts are known."""

from __future__ import annotations

from made_runs import CORRECT, UNPARSED, UNSCORED, WRONG

from lmms_eval_tasks.utils.core.output import Cell
from lmms_eval_tasks.utils.reporting.columns import RunRecords
from lmms_eval_tasks.utils.reporting.panels import Panel, outcome_panel, usual_panels
from lmms_eval_tasks.utils.scoring.record import Outcome, Record


def records(*pairs: tuple[Outcome, ...]) -> list[Record]:
    return [
        Record(
            f"{group}_{member}", str(group), {}, "AB"[member], {CORRECT: "AB"[member], WRONG: "C"}.get(outcome), outcome
        )
        for group, outcomes in enumerate(pairs)
        for member, outcome in enumerate(outcomes)
    ]


def shown(*pairs: tuple[Outcome, ...]) -> list[RunRecords]:
    return [RunRecords("1", "model", [records(*pairs)])]


def numbers(panel: Panel) -> list[tuple[Cell, ...]]:
    """The numbers of its one figure."""
    (figure,) = panel.all_figures
    return figure.table().rows


def test_consistency_counts_complete_scored_pairs() -> None:
    panel = usual_panels(
        shown(
            (CORRECT, CORRECT),
            (CORRECT, CORRECT),
            (CORRECT, WRONG),
            (UNPARSED, CORRECT),
            (WRONG, UNPARSED),
            (CORRECT, UNSCORED),
            (CORRECT,),
        ),
        "versions",
    )[0]
    assert numbers(panel) == [("model", "1", 2, 2, 1)]
    # Pairs of one name in two parts are two pairs.
    part = records((CORRECT, CORRECT))
    assert numbers(usual_panels([RunRecords("1", "model", [part, part])], "clips")[0]) == [("model", "1", 2, 0, 0)]


def test_every_item_has_an_outcome() -> None:
    assert numbers(outcome_panel(shown((CORRECT, WRONG), (UNPARSED, UNSCORED), (UNSCORED, UNSCORED)))) == [
        ("model", "1", 1, 1, 1, 3)
    ]


def test_answers_are_counted_where_there_is_a_key() -> None:
    (panel,) = usual_panels(shown((CORRECT, WRONG), (WRONG, CORRECT), (UNPARSED, UNSCORED)))[1:]
    # Rows A and B; columns A, B, C and none: A was answered A, C and not at all.
    assert numbers(panel) == [("A", 1, 0, 1, 1, 3), ("B", 0, 1, 1, 0, 2)]
    assert panel.note.startswith("Most given: C, 2 of 5 answers; it is the key 0 times.")
    assert usual_panels(shown((UNSCORED, UNSCORED)))[1:] == []
    # Other answers than letters stand in their order, all of them.
    (panel,) = usual_panels(shown((CORRECT, CORRECT)), "verdicts", ("B", "A", "D"))[2:]
    assert panel.title == "Verdicts: expected × answered" and panel.note == ""
    # The group's first member has the key A, and its second B.
    assert numbers(panel) == [("B", 1, 0, 0, 0, 1), ("A", 0, 1, 0, 0, 1), ("D", 0, 0, 0, 0, 0)]

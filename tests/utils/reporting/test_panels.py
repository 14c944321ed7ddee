"""Panels that several benchmarks show, from records whose counts are known."""

from __future__ import annotations

import re

from lmms_eval_tasks.utils.reporting.panels import Panel, outcome_panel, usual_panels
from lmms_eval_tasks.utils.reporting.run_records import RunRecords
from lmms_eval_tasks.utils.scoring.records import Outcome, Record

C, W, P, S = Outcome.CORRECT, Outcome.WRONG, Outcome.UNPARSED, Outcome.UNSCORED


def records(*pairs: tuple[Outcome, ...]) -> list[Record]:
    return [
        Record(f"{group}_{member}", str(group), {}, "AB"[member], {C: "AB"[member], W: "C"}.get(outcome), outcome)
        for group, outcomes in enumerate(pairs)
        for member, outcome in enumerate(outcomes)
    ]


def shown(*pairs: tuple[Outcome, ...]) -> list[RunRecords]:
    return [RunRecords("1", "model", [records(*pairs)])]


def consistency(runs: list[RunRecords], members: str) -> Panel:
    return usual_panels(runs, members)[0]


def letters(runs: list[RunRecords]) -> list[Panel]:
    return usual_panels(runs)[1:]


def test_consistency_counts_complete_scored_pairs() -> None:
    panel = consistency(shown((C, C), (C, C), (C, W), (P, C), (W, P), (C, S), (C,)), "versions")
    assert "2 both right · 2 one right · 1 none right" in panel.body


def test_pairs_of_one_name_in_two_parts_are_two_pairs() -> None:
    part = records((C, C))
    assert "2 both right" in consistency([RunRecords("1", "model", [part, part])], "clips").body


def test_every_item_has_an_outcome() -> None:
    panel = outcome_panel(shown((C, W), (P, S), (S, S)))
    assert "1 correct · 1 wrong · 1 unparsed · 3 unscored" in panel.body


def test_letters_are_counted_where_there_is_a_key() -> None:
    (panel,) = letters(shown((C, W), (W, C), (P, S)))
    body = re.sub(r"<[^>]+>", " ", panel.body).split()
    # Rows A and B; columns A, B, C and none: A was answered A, C and not at all.
    assert body[body.index("none") :] == ["none", "all", "A", "1", "·", "1", "1", "3", "B", "·", "1", "1", "·", "2"]
    assert panel.note.startswith("Most given: C, 2 of 5 answers; it is the key 0 times.")


def test_without_keys_there_are_no_letters() -> None:
    assert letters(shown((S, S))) == []


def test_other_answers_than_letters_stand_in_their_order_all_of_them() -> None:
    (panel,) = usual_panels(shown((C, C)), "verdicts", ("B", "A", "D"))[2:]
    body = re.sub(r"<[^>]+>", " ", panel.body).split()
    assert panel.title == "Verdicts: expected × answered" and panel.note == ""
    # The group's first member has the key A, and its second B.
    assert body[body.index("all") + 1 :] == [*"B1···1", *"A·1··1", *"D····0"]

"""The reader of verdicts, on answers that were labelled before it was written and without knowledge of it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.utils.answers.verdict import NO, UNCLEAR, YES, read_verdict, split_sentences, why_no_verdict
from lmms_eval_tasks.utils.scoring.record import UnparsedReason


def read_set(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()]


ALL = [read_set(name) for name in ("verdicts.jsonl", "verdicts_second.jsonl", "verdicts_third.jsonl")]
SETS = [[row for row in of_set if "other_language" not in row] for of_set in ALL]
STATEMENTS = [
    row for of_set in (*ALL, read_set("verdicts_held_out.jsonl")) for row in of_set if "other_language" in row
]
"""Answers in other languages than English: in one that the reader does not know, or that only state the outcome."""
RULES = read_set("rules.jsonl")
HELD_OUT = [row for row in read_set("verdicts_held_out.jsonl") if "other_language" not in row]
"""Answers by which no rule was made, so that they say how the reader does on those that it does not know. Their misses
are not for mending: a new set would have to take their place."""
PIECES = (
    "yes", "no", "not", "would", "still", "answer:", "if", "had", "happen", "whether", "wait,", "actually", "never",
    "nothing", "depends", "on", ".", "?", "\n", "{", '"answer":', "true", "<think>", "</think>", "不会", "会",
    "**", "|", "\ud800", "\u0301",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("answers", SETS)
@pytest.mark.parametrize("with_question", [False, True])
def test_the_reader_agrees_with_the_labels(answers: list[dict[str, str]], with_question: bool) -> None:
    questions = [row.get("question") or "" if with_question else "" for row in answers]
    read = [(row, read_verdict(row["answer"], question)) for row, question in zip(answers, questions, strict=True)]
    wrong = [(row["answer"], verdict) for row, verdict in read if verdict != (row["verdict"] or UNCLEAR)]
    assert len(answers) >= 220 and len(wrong) <= 0.06 * len(answers), wrong
    assert min(Counter(row["verdict"] for row in answers).values()) >= 40
    # A wrong guess is worse than none.
    assert [one for one in wrong if one[1] != UNCLEAR] == []


def test_the_reader_agrees_with_labels_that_it_was_not_made_by() -> None:
    agreed = sum(read_verdict(row["answer"], row["question"]) == (row["verdict"] or UNCLEAR) for row in HELD_OUT)
    assert agreed >= 0.97 * len(HELD_OUT)


def test_a_statement_in_another_language_is_no_verdict_and_never_the_opposite_one() -> None:
    """A negation that no rule knows would turn it round: "それでも起こらなかったでしょう"."""
    assert len(STATEMENTS) >= 40
    for row in STATEMENTS:
        assert read_verdict(row["answer"], row["question"] or "" if "question" in row else "") == UNCLEAR, row
        assert why_no_verdict(row["answer"]) in (UnparsedReason.OTHER_LANGUAGE, UnparsedReason.SEVERAL), row


def test_a_rule_at_a_time() -> None:
    """Leading words, doubts, changes of mind, other languages and JSON; where none or both are given, none is read."""
    read = [{**row, "verdict": read_verdict(row["answer"])} for row in RULES]
    assert read == [{**row, "verdict": row["verdict"] or UNCLEAR} for row in RULES]
    assert {read_verdict(answer) for answer in (None, 5, ["yes"], b"yes", float("nan"))} == {UNCLEAR}


def test_the_question_tells_which_outcome_is_stated() -> None:
    for outcome, verdict in (("missed the net", YES), ("gone into the net", NO)):
        question = f"If the keeper had not dived, would the ball still have {outcome}?"
        assert read_verdict("It would have missed.", question) == verdict


@pytest.mark.slow
@given(st.one_of(st.text(max_size=300), st.lists(st.sampled_from(PIECES), max_size=60).map(" ".join)))
def test_it_never_raises(text: str) -> None:
    assert read_verdict(text) in (YES, NO, UNCLEAR)


@pytest.mark.slow
def test_of_a_loop_both_ends_are_read() -> None:
    for text in ("a.\n" * 5_000, "a. " * 5_000, "a " * 5_000, "1/" * 5_000):
        sentences = split_sentences(text)
        assert len(sentences) <= 1_200 and all(len(one.words) <= 1_200 for one in sentences)
    assert read_verdict("Yes, it would.\n" + "It moves.\n" * 1_500) == YES
    assert read_verdict("It moves.\n" * 1_500 + "Answer: no") == NO
    assert read_verdict("it moves and " * 1_500 + "so the answer is no") == NO

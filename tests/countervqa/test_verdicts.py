"""The reader of verdicts, on answers that were labelled before it was written and without knowledge of it."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_tasks.utils.answers.verdict import NO, UNCLEAR, YES, read_verdict, split_sentences


def read_set(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()]


SETS = [read_set(name) for name in ("verdicts.jsonl", "verdicts_second.jsonl", "verdicts_third.jsonl")]
HELD_OUT = read_set("verdicts_held_out.jsonl")
"""Answers by which no rule was made, so that they say how the reader does on those that it does not know. Their misses
are not for mending: a new set would have to take their place."""
PIECES = (
    "yes", "no", "not", "would", "still", "answer:", "if", "had", "happen", "whether", "wait,", "actually", "never",
    "nothing", "depends", "on", ".", "?", "\n", "{", '"answer":', "true", "<think>", "</think>", "不会", "会",
    "**", "|", "\ud800", "\u0301",
)  # fmt: skip


@pytest.mark.parametrize("answers", SETS)
def test_there_are_answers_of_many_kinds(answers: list[dict[str, str]]) -> None:
    assert len(answers) >= 240 and len({row["answer"] for row in answers}) == len(answers)
    assert min(Counter(row["verdict"] for row in answers).values()) >= 40


@pytest.mark.parametrize("answers", SETS)
@pytest.mark.parametrize("with_question", [False, True])
def test_the_reader_agrees_with_the_labels(answers: list[dict[str, str]], with_question: bool) -> None:
    questions = [row.get("question") or "" if with_question else "" for row in answers]
    read = [(row, read_verdict(row["answer"], question)) for row, question in zip(answers, questions, strict=True)]
    wrong = [(row["answer"], verdict) for row, verdict in read if verdict != (row["verdict"] or UNCLEAR)]
    assert len(wrong) <= 0.06 * len(answers), wrong
    # A wrong guess is worse than none.
    assert [one for one in wrong if one[1] != UNCLEAR] == []


def test_the_reader_agrees_with_labels_that_it_was_not_made_by() -> None:
    agreed = sum(read_verdict(row["answer"], row["question"]) == (row["verdict"] or UNCLEAR) for row in HELD_OUT)
    assert agreed >= 0.97 * len(HELD_OUT)


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("It would still happen.", YES),
        ("She could not have poured it.", NO),
        ("Nothing would change.", YES),
        ("Nothing would have moved.", NO),
        ("I doubt that it would still happen.", NO),
        ("There is no reason why it would not.", YES),
        ("Whether it would still happen depends on the weather.", UNCLEAR),
        ("Would it still happen? No.", NO),
        ("Would it still happen?", UNCLEAR),
        ("Yes or no: no.", NO),
        ("At first glance yes, but the ball had to be hit, so it would not have moved.", NO),
        ("Yes... wait, no: it would not move.", NO),
        ("No, nothing depends on it: it would still happen.", YES),
        ("No, I cannot tell.", UNCLEAR),
        ("B requires A.", NO),
        ("B does not require A.", YES),
        ("B requires A. B is independent of A.", UNCLEAR),
        ("<think>Yes.</think>No.", NO),
        ("<think>The answer is yes but", UNCLEAR),
        ('{"reason": "Yes, it needs A.", "answer": "no"}', NO),
        ('{"answer": true}', YES),
        ('{"would_still_happen": false}', NO),
        ('{"outcome_changed": true}', NO),
        ("The onions would have ended up in the pan.", YES),
        ("He would have scored either way.", YES),
        ("It is a high chance that he would not have scored.", NO),
        ("She would therefore have stayed on the ground.", NO),
        ("No. He needed the ball.", NO),
        ("Yes, that would change it. He could not have scored.", NO),
        ("He might have, or he might not have.", UNCLEAR),
        ("Yes, she could, or no, she might not.", UNCLEAR),
        ("The window would have remained intact.", NO),
        ("She would have had no reason to wipe it.", NO),
        ("Not a chance: it needs the push.", NO),
        ("Most likely no, although something else might have broken it.", NO),
        ("We cannot know for certain, but it would very likely still have gone in.", YES),
        ("She may not have been allowed to, but she would have ridden it.", YES),
        ("No, he would still have made coffee.", UNCLEAR),
        ("Yes if the light was green, no otherwise.", UNCLEAR),
        ("I first thought yes, but I change my answer to no.", NO),
        ("La vitre serait restée intacte.", NO),
        ("Das Fenster wäre heil geblieben.", NO),
        ("El cristal seguiría intacto.", NO),
        ("窗户仍然会完好无损。", NO),
        ("床を拭く必要はなかったでしょう。", NO),
        ("Je ne peux pas voir la vidéo.", UNCLEAR),
        ("抱歉，我无法观看视频。", UNCLEAR),
        ("", UNCLEAR),
        ("The outcome would remain the same.", YES),
        ("The outcome would not remain the same.", NO),
        ("The ball would remain the same.", NO),
        ("No. That has no effect. It would still happen.", YES),
        ("Yes vs. no: no.", NO),
        ("Answer: yes.\nWait, actually no.", NO),
        ("<answer>No. On second thought, yes.</answer>", YES),
        ("Yes. Maybe not.", UNCLEAR),
        ("Yes. Perhaps not.", UNCLEAR),
        ("Yes. Maybe not at once but later.", YES),
        ("Tool:\nNo", NO),
        # Only the next sentence may show that a leading yes or no answers something else.
        ("Yes. That would make a difference. He would not have scored.", NO),
        ("Yes. He was ready. That would make a difference. He would not have scored.", YES),
    ],
)
def test_a_rule_at_a_time(answer: str, verdict: str) -> None:
    assert read_verdict(answer) == verdict


GRAPH = json.dumps(
    {"nodes": [{"id": 1, "action": "takes the ball"}, {"id": 2, "action": "does not throw"}], "edges": [[1, 2]]}
)


@pytest.mark.parametrize(
    "answer",
    [
        GRAPH,
        f"```json\n{GRAPH}\n```",
        '[{"cause": "no ball", "effect": "he would not throw"}]',
        '{"answer": "yes", "verdict": "no"}',
        '{"verdict": "yes", "answer": "no"}',
        '{"answer": "yes", "pred": "no"}',
        '{"answer": "yes", "answer": "no"}',
        '{"answer": "yes", "outcome_changed": true}',
        "Possible answers: yes, no.",
        "Options: Yes, No",
        "The possible answers are yes and no.",
    ],
)
def test_no_verdict_is_read_where_none_or_both_are_given(answer: str) -> None:
    assert read_verdict(answer) == UNCLEAR


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (f"{GRAPH}\nAnswer: no", NO),
        (f"It would still happen.\n{GRAPH}", YES),
        ('{"answer": "yes", "outcome_changed": false}', YES),
        ('{"initial_answer": "yes", "final_answer": "no"}', NO),
        ("Possible answers: yes, no. Answer: no", NO),
    ],
)
def test_a_verdict_beside_them_is_read(answer: str, verdict: str) -> None:
    assert read_verdict(answer) == verdict


@pytest.mark.parametrize(("outcome", "verdict"), [("missed the net", YES), ("gone into the net", NO)])
def test_the_question_tells_which_outcome_is_stated(outcome: str, verdict: str) -> None:
    question = f"If the keeper had not dived, would the ball still have {outcome}?"
    assert read_verdict("It would have missed.", question) == verdict


@pytest.mark.parametrize("response", [None, 5, ["yes"], b"yes", float("nan")])
def test_what_is_no_text_has_no_verdict(response: object) -> None:
    assert read_verdict(response) == UNCLEAR


@pytest.mark.slow
@given(st.one_of(st.text(max_size=300), st.lists(st.sampled_from(PIECES), max_size=60).map(" ".join)))
@settings(max_examples=1_000)
def test_it_never_raises(text: str) -> None:
    assert read_verdict(text) in (YES, NO, UNCLEAR)


def test_of_a_loop_both_ends_are_read() -> None:
    for text in ("a.\n" * 5_000, "a. " * 5_000, "a " * 5_000, "1/" * 5_000):
        sentences = split_sentences(text)
        assert len(sentences) <= 1_200 and all(len(one.words) <= 1_200 for one in sentences)
    assert read_verdict("Yes, it would.\n" + "It moves.\n" * 1_500) == YES
    assert read_verdict("It moves.\n" * 1_500 + "Answer: no") == NO
    assert read_verdict("it moves and " * 1_500 + "so the answer is no") == NO


@pytest.mark.slow
@pytest.mark.parametrize("piece", [*PIECES, "a", " ", "é", "if would ", "answer is ", "no longer "])
def test_the_time_is_linear(piece: str) -> None:
    read_verdict(piece * 100)
    start = time.process_time()
    read_verdict(piece * (400_000 // len(piece)))
    assert time.process_time() - start < 3

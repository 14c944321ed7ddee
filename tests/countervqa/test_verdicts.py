"""The reader of verdicts, on answers that were labelled before it was written and without knowledge of it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
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
@pytest.mark.parametrize("with_question", [False, True])
def test_the_reader_agrees_with_the_labels(answers: list[dict[str, str]], with_question: bool) -> None:
    questions = [row.get("question") or "" if with_question else "" for row in answers]
    read = [(row, read_verdict(row["answer"], question)) for row, question in zip(answers, questions, strict=True)]
    wrong = [(row["answer"], verdict) for row, verdict in read if verdict != (row["verdict"] or UNCLEAR)]
    assert len(answers) >= 240 and len(wrong) <= 0.06 * len(answers), wrong
    assert min(Counter(row["verdict"] for row in answers).values()) >= 40
    # A wrong guess is worse than none.
    assert [one for one in wrong if one[1] != UNCLEAR] == []


def test_the_reader_agrees_with_labels_that_it_was_not_made_by() -> None:
    agreed = sum(read_verdict(row["answer"], row["question"]) == (row["verdict"] or UNCLEAR) for row in HELD_OUT)
    assert agreed >= 0.97 * len(HELD_OUT)


GRAPH = json.dumps(
    {"nodes": [{"id": 1, "action": "takes the ball"}, {"id": 2, "action": "does not throw"}], "edges": [[1, 2]]}
)
RULES = [
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
    # Where none or both are given, no verdict is read; one beside them is.
    (GRAPH, UNCLEAR),
    (f"```json\n{GRAPH}\n```", UNCLEAR),
    ('[{"cause": "no ball", "effect": "he would not throw"}]', UNCLEAR),
    ('{"answer": "yes", "verdict": "no"}', UNCLEAR),
    ('{"verdict": "yes", "answer": "no"}', UNCLEAR),
    ('{"answer": "yes", "pred": "no"}', UNCLEAR),
    ('{"answer": "yes", "answer": "no"}', UNCLEAR),
    ('{"answer": "yes", "outcome_changed": true}', UNCLEAR),
    ("Possible answers: yes, no.", UNCLEAR),
    ("Options: Yes, No", UNCLEAR),
    ("The possible answers are yes and no.", UNCLEAR),
    (f"{GRAPH}\nAnswer: no", NO),
    (f"It would still happen.\n{GRAPH}", YES),
    ('{"answer": "yes", "outcome_changed": false}', YES),
    ('{"initial_answer": "yes", "final_answer": "no"}', NO),
    ("Possible answers: yes, no. Answer: no", NO),
    (None, UNCLEAR),
    (5, UNCLEAR),
    (["yes"], UNCLEAR),
    (b"yes", UNCLEAR),
    (float("nan"), UNCLEAR),
]


def test_a_rule_at_a_time() -> None:
    assert [(answer, read_verdict(answer)) for answer, _ in RULES] == RULES


@pytest.mark.parametrize(("outcome", "verdict"), [("missed the net", YES), ("gone into the net", NO)])
def test_the_question_tells_which_outcome_is_stated(outcome: str, verdict: str) -> None:
    question = f"If the keeper had not dived, would the ball still have {outcome}?"
    assert read_verdict("It would have missed.", question) == verdict


@given(st.one_of(st.text(max_size=300), st.lists(st.sampled_from(PIECES), max_size=60).map(" ".join)))
def test_it_never_raises(text: str) -> None:
    assert read_verdict(text) in (YES, NO, UNCLEAR)


def test_of_a_loop_both_ends_are_read() -> None:
    for text in ("a.\n" * 5_000, "a. " * 5_000, "a " * 5_000, "1/" * 5_000):
        sentences = split_sentences(text)
        assert len(sentences) <= 1_200 and all(len(one.words) <= 1_200 for one in sentences)
    assert read_verdict("Yes, it would.\n" + "It moves.\n" * 1_500) == YES
    assert read_verdict("It moves.\n" * 1_500 + "Answer: no") == NO
    assert read_verdict("it moves and " * 1_500 + "so the answer is no") == NO

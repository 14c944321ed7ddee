import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import read_oracle

from lmms_eval_tasks.causalvqa.hooks import official_choice

# Behaviour of the official function, read from facebookresearch/CausalVQA@3f65605 tasks/utils.py.
QUIRKS = [
    ("Your Answer Letter: C END", "C"),
    ("C. A ball is hit", "A"),
    ("Your Answer Letter: CEND", "your answer letter: cend"),
    ("Answer: B, as I'd say", "D"),
    ("", ""),
    ("?!", ""),
    ("b", "B"),
    ("F", "f"),
    ("(B)", "B"),
    ("Die Antwort ist É", "die antwort ist é"),
    ("A/B", "B"),
    ("A/ B", "B"),
    ("A/B / x", "ab  x"),
    ("1,5 x-B", "15 xb"),
    ("x-B", "B"),
    ("..B", "B"),
    ("B.5", "B"),
    ("x" + "." * 33, "x."),
    ("x" + "." * 32, "x"),
    ("A\tor\nB", "B"),
    ("'((b))'", "B"),
    ("_B_", "B"),
    ("答案是B", "答案是b"),
]


@pytest.mark.parametrize(("text", "choice"), QUIRKS)
def test_follows_the_official_rules(text: str, choice: str) -> None:
    assert official_choice(text) == choice


def test_equals_the_official_outputs() -> None:
    for item in read_oracle("answer_extraction.json")["items"]:
        choice = official_choice(item["text"])
        assert choice == item["causalvqa_official_extract"], item["id"]
        scored = [letter for letter in "ABCDE" if official_choice(letter) == choice]
        assert scored == item["causalvqa_official_scores_correct_for"], item["id"]


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_yields_a_letter_or_lower_case_text(text: str) -> None:
    choice = official_choice(text)
    assert choice in set("ABCDE") or choice == choice.lower()


@pytest.mark.parametrize("piece", ["a", "A ", " ", "\n", ".", ",", "1,", "(", "'", "-", "- ", "é", "\ud800"], ids=ascii)
def test_a_megabyte_is_read_quickly(piece: str) -> None:
    text = (piece * 1_000_000)[:1_000_000]
    started = time.process_time()
    official_choice(text)
    assert time.process_time() - started < 5

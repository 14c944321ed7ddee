import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import read_oracle

from lmms_eval_tasks.mvp.official import official_choice

# Behaviour of the official function, read from facebookresearch/minimal_video_pairs@149e336 tasks/mvp/utils.py.
QUIRKS = [
    ("Answer: A", 0),
    ("b", 1),
    ("", None),
    ("C", None),
    ("Answer: B. A ball", 0),
    ("A then B", 1),
    ("A, B, A", 1),
    ("camera", 0),
    ("grab", 1),
    ("_B_", None),
    ("B2", None),
    ("bé", None),
    ("答案是B", 1),
    ("B是", None),
    ("Assistant: B", 1),
    ("answer", None),
]


@pytest.mark.parametrize(("text", "choice"), QUIRKS)
def test_follows_the_official_rules(text: str, choice: int | None) -> None:
    assert official_choice(text) == choice


def test_equals_the_official_outputs() -> None:
    for item in read_oracle("answer_extraction.json")["items"]:
        choice = official_choice(item["text"])
        assert (False if choice is None else str(choice)) == item["mvp_official_extract_pred"], item["id"]
        assert (None if choice is None else "AB"[choice]) == item["mvp_official_letter"], item["id"]
        assert int(choice == 0) == item["mvp_official_rating_if_gt_A"], item["id"]
        assert int(choice == 1) == item["mvp_official_rating_if_gt_B"], item["id"]


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_yields_a_candidate_or_none(text: str) -> None:
    assert official_choice(text) in (0, 1, None)


@pytest.mark.parametrize("piece", ["a", "A ", " ", "\n", "answer", "answer:", ":", "ab", "é", "\ud800"], ids=ascii)
def test_a_megabyte_is_read_quickly(piece: str) -> None:
    text = (piece * 1_000_000)[:1_000_000]
    started = time.process_time()
    official_choice(text)
    assert time.process_time() - started < 5

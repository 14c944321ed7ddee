import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import read_oracle

from lmms_eval_tasks.mvp.hooks import official_choice

# Behaviour of the official function, read from facebookresearch/minimal_video_pairs@149e336 tasks/mvp/utils.py.
QUIRKS = [
    ("Answer: A", "A"),
    ("b", "B"),
    ("", None),
    ("C", None),
    ("Answer: B. A ball", "A"),
    ("A then B", "B"),
    ("A, B, A", "B"),
    ("camera", "A"),
    ("grab", "B"),
    ("_B_", None),
    ("B2", None),
    ("bé", None),
    ("答案是B", "B"),
    ("B是", None),
    ("Assistant: B", "B"),
    ("answer", None),
]


@pytest.mark.parametrize(("text", "choice"), QUIRKS)
def test_follows_the_official_rules(text: str, choice: str | None) -> None:
    assert official_choice(text) == choice


def test_equals_the_official_outputs() -> None:
    for item in read_oracle("answer_extraction.json")["items"]:
        choice = official_choice(item["text"])
        candidate = False if choice is None else str("AB".index(choice))
        assert candidate == item["mvp_official_extract_pred"], item["id"]
        assert choice == item["mvp_official_letter"], item["id"]
        assert int(choice == "A") == item["mvp_official_rating_if_gt_A"], item["id"]
        assert int(choice == "B") == item["mvp_official_rating_if_gt_B"], item["id"]


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_yields_a_candidate_or_none(text: str) -> None:
    assert official_choice(text) in ("A", "B", None)


@pytest.mark.parametrize("piece", ["a", "A ", " ", "\n", "answer", "answer:", ":", "ab", "é", "\ud800"], ids=ascii)
def test_a_megabyte_is_read_quickly(piece: str) -> None:
    text = (piece * 1_000_000)[:1_000_000]
    started = time.process_time()
    official_choice(text)
    assert time.process_time() - started < 5

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.construct.countervqa.graphs import Depth, GraphMeasures, Thresholds, mean_outlier_scores
from lmms_eval_tasks.construct.engine.encoders import SentenceEncoder, encode_texts, tfidf_encoder

VECTORS = {"east": (2.0, 0.0), "north": (0.0, 5.0), "west": (-1.0, 0.0), "nothing": (0.0, 0.0)}


def compass(texts: Sequence[str]) -> np.ndarray:
    return np.array([VECTORS[text] for text in texts])


COMPASS = SentenceEncoder("compass", compass)


def scores(texts: dict[str, list[str]], tasks: dict[str, str]) -> dict[str, float | None]:
    encoded = encode_texts([text for actions in texts.values() for text in actions], COMPASS)
    return mean_outlier_scores(texts, tasks, encoded)


def test_outlier_scores_by_hand() -> None:
    # The mean of east and north is (1, 1) / 2: by equation 6 it stays as long as it is.
    both = 0.5
    assert scores({"g": ["east", "north"]}, {"g": "t"})["g"] == pytest.approx(both)
    # The task's centroid, not the graph's: alone each graph would score 0.
    assert scores({"g": ["east"], "h": ["north"]}, {"g": "t", "h": "t"}) == pytest.approx({"g": both, "h": both})
    assert scores({"g": ["east"], "h": ["north"]}, {"g": "t", "h": "u"}) == pytest.approx({"g": 0.0, "h": 0.0})
    # A repeated action pulls the mean to itself: (2, 1) / 3.
    thrice = scores({"g": ["east", "east", "north"]}, {"g": "t"})["g"]
    assert thrice == pytest.approx(1 - (2 * 2 + 1) / (3 * 3))
    # A text without a direction has nothing in common with the others, nor has any with a mean of zero.
    assert scores({"g": ["nothing", "east"]}, {"g": "t"})["g"] == pytest.approx(0.75)
    assert scores({"g": ["west", "east"]}, {"g": "t"})["g"] == pytest.approx(1.0)
    assert scores({"g": [], "h": ["east"]}, {"g": "t", "h": "t"}) == {"g": None, "h": pytest.approx(0.0)}


TEXTS = st.lists(st.text(max_size=12), max_size=6)


@given(st.lists(TEXTS, max_size=4))
def test_any_text_has_an_outlier_score(graphs: list[list[str]]) -> None:
    texts = {str(number): graph for number, graph in enumerate(graphs)}
    encoded = encode_texts([text for graph in graphs for text in graph], tfidf_encoder())
    for graph, score in mean_outlier_scores(texts, dict.fromkeys(texts, ""), encoded).items():
        assert score is None if not texts[graph] else -1e-9 <= score <= 1.0 + 1e-9  # type: ignore[operator]


def test_the_default_encoder_finds_what_texts_have_in_common() -> None:
    texts = ["C cuts the red onion.", "C cuts a white onion", "切洋葱", "切胡萝卜", "!!!"]
    alike = encode_texts(texts, tfidf_encoder()).similarities(texts, texts)
    assert np.allclose(alike.diagonal(), [1, 1, 1, 1, 0])
    assert np.allclose(alike, alike.T)
    assert alike[0, 1] > 0.2
    assert alike[0, 2] == alike[0, 4] == 0.0
    assert alike[2, 3] > 0.1


def test_each_text_is_encoded_once_and_has_a_vector() -> None:
    asked: list[list[str]] = []

    def encode(texts: Sequence[str]) -> np.ndarray:
        asked.append(list(texts))
        return np.ones((2, 3))

    encode_texts(["a", "b", "a"], SentenceEncoder("x", encode))
    assert asked == [["a", "b"]]
    with pytest.raises(ValueError, match="Expected 3 vectors of x, but got 2"):
        encode_texts(["a", "b", "c"], SentenceEncoder("x", encode))


def test_filters_say_which_a_graph_fails() -> None:
    def measured(ancd: float | None, depth: int, cnda: float | None, bound: int = 0) -> GraphMeasures:
        return GraphMeasures(ancd, Depth(depth, max(depth, bound)), cnda)

    measures = {
        "at the thresholds": measured(0.2, 3, 0.12),
        "sparse": measured(0.19, 5, 0.5),
        "shallow": measured(0.5, 2, 0.5),
        "perhaps deep": measured(0.5, 2, 0.5, bound=9),
        "alike": measured(0.5, 3, 0.11),
        "all of it": measured(None, 0, None),
    }
    failed = {name: one.failed(Thresholds()) for name, one in measures.items()}
    assert failed == {
        "at the thresholds": (),
        "sparse": ("ANCD",),
        "shallow": ("depth",),
        "perhaps deep": ("depth",),
        "alike": ("CNDA",),
        "all of it": ("ANCD", "depth", "CNDA"),
    }

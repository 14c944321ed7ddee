"""Vectors of texts: by words in common, by a server, and by a model of the library, which is stood in for here."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from expected import Expected
from judge_server import Fail, Give, JudgeServer, nobody
from kept_answers import kept_lines
from refusals import refusal
from scipy.sparse import csr_matrix

from lmms_eval_tasks.construct.engine.encoders import (
    TFIDF,
    SentenceEncoder,
    encode_texts,
    find_encoder,
    sentence_transformer,
    server_encoder,
)
from lmms_eval_tasks.utils.judge.client import read_settings
from lmms_eval_tasks.utils.judge.replies import ReplyCache


def vector(text: str, length: int = 3) -> Give:
    values = [float(len(text)), 1.0, *[0.5] * (length - 2)][:length]
    data = [{"object": "embedding", "index": 0, "embedding": values}]
    return Give(json.dumps({"object": "list", "model": "e-2026", "data": data, "usage": {}}))


def encoder(url: str, folder: Path, more: str = "") -> SentenceEncoder:
    settings = read_settings(f"model=e,provider=local,url={url},first_delay=0.01,requests=3{more}")
    assert settings is not None
    return server_encoder(settings, ReplyCache(folder))


def test_the_default_encoder_finds_what_texts_have_in_common() -> None:
    texts = ["C cuts the red onion.", "C cuts a white onion", "切洋葱", "切胡萝卜", "!!!"]
    alike = encode_texts(texts, find_encoder(TFIDF)).similarities(texts, texts)
    assert np.allclose(alike.diagonal(), [1, 1, 1, 1, 0])
    assert np.allclose(alike, alike.T)
    assert alike[0, 1] > 0.2 and alike[2, 3] > 0.1
    assert alike[0, 2] == alike[0, 4] == 0.0


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("length", [0.01, 1.0, 40.0])
def test_likeness_is_of_directions_whatever_the_length_of_a_vector(length: float, sparse: bool) -> None:
    directions = {"east": [1.0, 0.0], "north": [0.0, 1.0], "north-east": [1.0, 1.0], "none": [0.0, 0.0]}

    def encode(texts: Sequence[str]) -> Any:
        vectors = length * np.array([directions[text] for text in texts])
        return csr_matrix(vectors) if sparse else vectors

    encoded = encode_texts([*directions, "east"], SentenceEncoder("by hand", encode))
    half = np.sqrt(0.5)
    assert encoded.similarities(["east", "north-east"], list(directions)) == pytest.approx(
        np.array([[1.0, 0.0, half, 0.0], [half, half, 1.0, 0.0]])
    )
    # Of two directions at a right angle the mean lies between them.
    assert encoded.outlier_scores(["east", "north"]) == pytest.approx([1 - half, 1 - half])
    assert encoded.outlier_scores(["none"]) == pytest.approx([1.0]) and encoded.outlier_scores([]).shape == (0,)
    with pytest.raises(ValueError, match=r"^Expected 2 vectors of by hand, but got 1\.$"):
        encode_texts(["east", "north"], SentenceEncoder("by hand", lambda texts: encode(texts[:1])))


def test_a_server_is_asked_once_for_each_text_and_again_where_it_fails(tmp_path: Path) -> None:
    with JudgeServer(lambda text, before: Fail(500) if text == "hop" and not before else vector(text)) as server:
        first = encoder(server.url, tmp_path)
        encoded = encode_texts(["run", "hop", "run", "跳"], first)
        assert server.asked == {"run": 1, "hop": 2, "跳": 1}
        assert {body["model"] for body in server.bodies} == {"e"}
        again = encoder(server.url, tmp_path).encode(["run", "hop"])
        assert server.asked.total() == 4
        assert {one["model"] for one in kept_lines(tmp_path)} == {"e-2026"}
    assert first.name == f"e at local {server.url}"
    assert np.allclose(again, [[3, 1, 0.5], [3, 1, 0.5]])
    assert np.allclose(encoded.similarities(["run"], ["hop", "run"]), [[1, 1]])


@pytest.mark.parametrize(("named", "model"), [("e-2026", "e-2026"), (None, "e")])
def test_a_named_server_keeps_its_vectors_in_the_data_home(home: Path, named: str | None, model: str) -> None:
    reply = Give(json.dumps({"object": "list", "model": named, "data": [{"embedding": [1.0, 2.0]}]}))
    with JudgeServer(lambda text, before: reply) as server:
        found = find_encoder(f"model=e,provider=local,url={server.url}")
        assert found.encode(["run"]).tolist() == [[1.0, 2.0]] and found.synonyms
    (kept,) = kept_lines(home / "judge_cache")
    assert kept["model"] == model and json.loads(kept["text"]) == {"embedding": [1.0, 2.0]}


def test_what_an_encoder_cannot_give_is_one_message(tmp_path: Path, expected: Expected) -> None:
    with JudgeServer(lambda text, before: vector(text, len(text))) as server:
        said = [refusal(encoder(server.url, tmp_path).encode, ["aaa", "bbbb"])]
    with JudgeServer(lambda text, before: Give('{"data": []}')) as server:
        said += [refusal(encoder(server.url, tmp_path).encode, ["y"])]
    with JudgeServer(lambda text, before: vector(text, 0)) as server:
        assert "but got none for 1" in refusal(encoder(server.url, tmp_path).encode, ["z"])
    with nobody() as url:
        assert "none for 1: no reply" in refusal(encoder(url, tmp_path).encode, ["x"])
    said += [refusal(encoder, "http://x/v1", tmp_path, f",provider={name}") for name in ("transformers", "openai")]
    expected("\n\n".join(said))
    with pytest.raises(ValueError, match="Expected 3 vectors of x, but got 2"):
        encode_texts(["a", "b", "c"], SentenceEncoder("x", lambda texts: np.ones((2, 3))))


LOADED: list[tuple[str, object]] = []


class SentenceTransformer:
    def __init__(self, name: str, device: str | None = None) -> None:
        if name == "none":
            raise OSError("none is no model\nTry another.")
        LOADED.append((name, device))

    def encode(self, texts: Sequence[str], **options: Any) -> np.ndarray:
        assert options == {"convert_to_numpy": True, "show_progress_bar": False}
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)


def test_a_model_is_loaded_by_its_name_with_the_first_text(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = SentenceTransformer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    encoder = sentence_transformer("all-MiniLM-L6-v2", device="cpu")
    assert LOADED == []
    for _ in range(2):
        encoded = encode_texts(["run", "run", "sleep"], encoder)
    assert LOADED == [("all-MiniLM-L6-v2", "cpu")]
    assert encoded.vectors.shape == (2, 2)
    assert np.allclose(np.linalg.norm(encoded.vectors, axis=1), 1.0)
    said = refusal(sentence_transformer("none").encode, ["run"])
    assert said == "The sentence encoder none cannot be loaded: none is no model"

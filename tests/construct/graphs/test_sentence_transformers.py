"""Models of the sentence-transformers library, which is stood in for: to import it takes many seconds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from lmms_eval_tasks.construct.engine.encoders import encode_texts, sentence_transformer
from lmms_eval_tasks.utils.core.errors import InputError

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
    with pytest.raises(InputError, match=r"^The sentence encoder none cannot be loaded: none is no model$"):
        sentence_transformer("none").encode(["run"])

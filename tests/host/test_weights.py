"""Which weights a model was loaded with."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from lmms_eval_tasks.host.weights import Weights, get_nested_attr, read_weights, weights_identity


def test_hub_weights_are_known_by_their_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "models--own--model"
    (kept / "snapshots" / "abc123").mkdir(parents=True)
    (kept / "snapshots" / "abc123" / "model_index.json").write_text("{}", encoding="utf-8")
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text("abc123", encoding="utf-8")
    monkeypatch.setattr("huggingface_hub.file_download.constants.HF_HUB_CACHE", str(tmp_path))
    assert weights_identity("own/model") == "abc123"
    (kept / "snapshots" / "abc123" / "model_index.json").rename(kept / "snapshots" / "abc123" / "config.json")
    assert weights_identity("own/model") == "abc123"
    assert weights_identity("own/model", "other") is None
    assert weights_identity("own/absent") is None


def test_a_folder_is_known_by_its_files(tmp_path: Path) -> None:
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"0123")
    first = weights_identity(str(tmp_path))
    assert first is not None and len(first) == 16 and weights_identity(str(tmp_path)) == first
    os.utime(weights, (1, 1))
    assert weights_identity(str(tmp_path)) != first


class Broken:
    @property
    def model(self) -> object:
        raise RuntimeError("not loaded")


def test_an_adapter_is_asked_where_it_can_answer() -> None:
    config = SimpleNamespace(_commit_hash="c0ffee")
    assert read_weights(SimpleNamespace(_config=config)) == Weights(commit="c0ffee")
    inner = SimpleNamespace(config=config, dtype="torch.float16")
    assert read_weights(SimpleNamespace(model=inner)) == Weights("c0ffee", "float16")
    counted = SimpleNamespace(_model=SimpleNamespace(num_parameters=lambda: 8_292_166_656))
    assert read_weights(counted) == Weights(parameters=8_292_166_656)
    uncounted = SimpleNamespace(model=SimpleNamespace(num_parameters=lambda: 1 // 0))
    assert read_weights(uncounted) == Weights()
    assert read_weights(Broken()) == read_weights(object()) == read_weights(None) == Weights()
    assert get_nested_attr(Broken(), "model", "config") is None

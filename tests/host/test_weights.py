"""Which weights a model was loaded with."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from huggingface_hub import errors

from lmms_eval_tasks.host.checks import describe_absent
from lmms_eval_tasks.host.model.identity import Weights, get_nested_attr, read_weights, weights_identity


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


RESPONSE: Any = SimpleNamespace(headers={}, request=None)


def test_weights_that_cannot_be_had_are_named_before_they_are_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    says: list[Exception] = []

    def ask(url: str) -> None:
        asked.append(url)
        if says:
            raise says[0]

    (tmp_path / "checkpoints" / "step-200").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.get_hf_file_metadata", ask)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))

    def find(name: str, model: str = "qwen2_5_vl", error: Exception | None = None, **more: str) -> str | None:
        says[:] = [error] if error else []
        return describe_absent(model, {"pretrained": name, **more})

    for there in ("checkpoints/step-200", str(tmp_path), "own/model"):
        assert find(there) is None
    assert len(asked) == 1 and "/own/model/resolve/" in asked[0]
    for wrong in ("/nope", "checkpoints/run/step-20", "./nope"):
        found = find(wrong)
        assert found and f"there is no folder or file {wrong}." in found and "Remedy: " in found
    missing = errors.RepositoryNotFoundError("404", response=RESPONSE)
    for model, arguments in (("qwen2_5_vl", {"pretrained": "checkpoints/step-20"}), ("vllm", {"model": "own/nope"})):
        says[:] = [missing]
        assert "no repository of that name on the hub" in (describe_absent(model, arguments) or "")
    assert "Did you mean checkpoints/step-200?" in (find("checkpoints/step-20", error=missing) or "")
    assert "hf auth login" in (find("own/gated", error=errors.GatedRepoError("403", response=RESPONSE)) or "")
    no_revision = errors.RevisionNotFoundError("404", response=RESPONSE)
    assert "has no revision v9" in (find("own/model", error=no_revision, revision="v9") or "")
    offline = find("own/model", error=errors.OfflineModeIsEnabled("offline"))
    assert offline and "the hub cannot be asked (offline)" in offline
    (tmp_path / "hub" / "models--own--model" / "snapshots").mkdir(parents=True)
    assert find("own/model", error=errors.OfflineModeIsEnabled("offline")) is None
    # It is there, and has no such file; somebody else's model; a server's model; none named.
    assert find("own/other", error=errors.RemoteEntryNotFoundError("404", response=RESPONSE)) is None
    assert find("nope", model="no_such_model", error=missing) is None
    assert describe_absent("async_openai", {"model": "nope"}) is describe_absent("qwen2_5_vl", {}) is None


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

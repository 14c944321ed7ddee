from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from judge_server import Fail, JudgeServer, Raw, nobody

from lmms_eval_tasks.construct.engine.encoders import SentenceEncoder, encode_texts, server_encoder
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.judge.client import read_settings
from lmms_eval_tasks.utils.judge.replies import ReplyCache


def vector(text: str, length: int = 3) -> Raw:
    values = [float(len(text)), 1.0, *[0.5] * (length - 2)]
    data = [{"object": "embedding", "index": 0, "embedding": values}]
    return Raw(json.dumps({"object": "list", "model": "e-2026", "data": data, "usage": {}}))


def encoder(url: str, folder: Path, more: str = "") -> SentenceEncoder:
    settings = read_settings(f"model=e,provider=local,url={url},first_delay=0.01,requests=3{more}")
    assert settings is not None
    return server_encoder(settings, ReplyCache(folder))


def test_each_text_is_asked_once_and_retried_and_kept(tmp_path: Path) -> None:
    with JudgeServer(lambda text, before: Fail(500) if text == "hop" and not before else vector(text)) as server:
        first = encoder(server.url, tmp_path)
        encoded = encode_texts(["run", "hop", "run", "跳"], first)
        assert server.asked == {"run": 1, "hop": 2, "跳": 1}
        assert {body["model"] for body in server.bodies} == {"e"}
        again = encoder(server.url, tmp_path).encode(["run", "hop"])
        assert sum(server.asked.values()) == 4
    assert first.name == f"e at local {server.url}"
    assert np.allclose(again, [[3, 1, 0.5], [3, 1, 0.5]])
    assert np.allclose(encoded.similarities(["run"], ["hop", "run"]), [[1, 1]])


def test_what_a_server_cannot_give_is_one_message(tmp_path: Path) -> None:
    with JudgeServer(lambda text, before: vector(text, len(text))) as server, pytest.raises(InputError) as error:
        encoder(server.url, tmp_path).encode(["aaa", "bbbb"])
    assert str(error.value) == "Expected vectors of one length from e, but got 3 and 4."
    with (
        nobody() as url,
        pytest.raises(InputError, match="to give a vector for each of 1 texts, but got none for 1: no"),
    ):
        encoder(url, tmp_path).encode(["x"])
    with JudgeServer(lambda text, before: Raw('{"data": []}')) as server, pytest.raises(InputError, match="none for 1"):
        encoder(server.url, tmp_path).encode(["y"])
    with pytest.raises(InputError, match="but got transformers"):
        encoder("http://x/v1", tmp_path, ",provider=transformers")


def test_a_key_is_needed_where_the_server_asks_for_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Expected OPENAI_API_KEY to be set"):
        encoder("http://x/v1", tmp_path, ",provider=openai")

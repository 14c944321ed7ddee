"""Sentence encoders behind any server that speaks OpenAI's protocol of embeddings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from lmms_eval_tasks.build.graphs.encoders import SentenceEncoder
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.prompt import Prompt
from lmms_eval_tasks.utils.judge.client import Judge
from lmms_eval_tasks.utils.judge.replies import Case, Reply, ReplyCache, Sampling, Send
from lmms_eval_tasks.utils.judge.server import JudgeSettings, open_client
from lmms_eval_tasks.utils.servers.errors import ServerError

PATH = "/embeddings"
TEXT = Prompt("embedding", "{text}")

Component = Annotated[float, Field(allow_inf_nan=False)]


class Embedding(BaseModel):
    """A text's vector."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    embedding: list[Component] = Field(min_length=1)


def server_encoder(settings: JudgeSettings, cache: ReplyCache | None = None) -> SentenceEncoder:
    """A sentence encoder that asks a server."""
    judge = Judge(_sender(settings), _sampling(settings), Embedding, cache or ReplyCache(), settings.limits)

    def encode(texts: Sequence[str]) -> np.ndarray:
        verdicts = judge.judge_all([Case(text, TEXT) for text in texts])
        failed = [verdict.reason for verdict in verdicts if verdict.reply is None]
        if failed:
            raise InputError(
                f"Expected {settings.model} to give a vector for each of {len(texts)} texts, but got none for "
                f"{len(failed)}: {failed[0]}."
            )
        vectors = [verdict.reply.embedding for verdict in verdicts if verdict.reply]
        if len(lengths := sorted({len(vector) for vector in vectors})) > 1:
            raise InputError(
                f"Expected vectors of one length from {settings.model}, but got {lengths[0]} and {lengths[1]}."
            )
        return np.array(vectors)

    return SentenceEncoder(f"{settings.model} at {settings.server}", encode)


def _sampling(settings: JudgeSettings) -> Sampling:
    """Return the settings that decide a vector: model and server, whatever else was chosen."""
    return Sampling(settings.model, server=settings.server)


def _sender(settings: JudgeSettings) -> Send:
    client = open_client(settings, PATH)

    def send(case: Case) -> Reply:
        value = client.post({"model": settings.model, "input": case.text, "encoding_format": "float"})
        try:
            vector, model = value["data"][0]["embedding"], value.get("model")
            text = json.dumps({"embedding": vector})
        except (AttributeError, IndexError, KeyError, TypeError):
            raise ServerError("reply without a vector", again=True) from None
        return Reply(text, client.hide(str(model or settings.model)))

    return send

"""Sentence encoders for texts of actions, by TF-IDF, a sentence-transformers model or an embeddings server."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, Field

from lmms_eval_tasks.utils.answers.hooks import Prompt
from lmms_eval_tasks.utils.core.errors import InputError, needs_package
from lmms_eval_tasks.utils.core.text import first_line
from lmms_eval_tasks.utils.judge.client import Judge, read_settings
from lmms_eval_tasks.utils.judge.replies import Case, JudgeReply, JudgeSettings, ReplyCache, Sampling, Send, ServerError

TOKEN = r"[぀-ヿ㐀-鿿]|[^\W぀-ヿ㐀-鿿]+"
"""A word; in Chinese and Japanese, which do not part them, a character."""


@dataclass(frozen=True)
class SentenceEncoder:
    name: str
    encode: Callable[[Sequence[str]], Any]
    synonyms: bool = True
    """Whether its vectors of two words of one meaning are alike."""


TFIDF = "tfidf"
"""Words weighted by TF-IDF over the texts of the call: the default."""


def sentence_transformer(name: str, device: str | None = None) -> SentenceEncoder:
    """A model of the sentence-transformers library, by its name on the hub or the folder that it is in."""
    loaded: list[Any] = []

    def encode(texts: Sequence[str]) -> np.ndarray:
        if not loaded:
            with needs_package("lmms-eval-tasks[building]", f"The sentence encoder {name}"):
                from sentence_transformers import SentenceTransformer

            try:
                loaded.append(SentenceTransformer(name, device=device))
            except Exception as error:  # whatever its many layers raise
                raise InputError(f"The sentence encoder {name} cannot be loaded: {first_line(error)}") from error
        return np.asarray(loaded[0].encode(list(texts), convert_to_numpy=True, show_progress_bar=False))

    return SentenceEncoder(name, encode)


def find_encoder(name: str) -> SentenceEncoder:
    """The sentence encoder of a name: `tfidf`, `model=NAME,url=…` of a server, or one of sentence-transformers."""
    if name == TFIDF:
        return SentenceEncoder(TFIDF, _tfidf, synonyms=False)
    settings = read_settings(name) if "=" in name else None
    return server_encoder(settings) if settings else sentence_transformer(name)


def _tfidf(texts: Sequence[str]) -> Any:
    from scipy.sparse import csr_matrix

    with needs_package("lmms-eval-tasks[building]", f"The sentence encoder {TFIDF}"):
        from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(token_pattern=TOKEN)
    try:
        return vectorizer.fit_transform(texts)
    except ValueError:
        # None of the texts has a word.
        return csr_matrix((len(texts), 1))


@dataclass(frozen=True)
class EncodedTexts:
    rows: dict[str, int]
    vectors: Any

    def similarities(self, first: Sequence[str], second: Sequence[str]) -> np.ndarray:
        """Cosine similarity of each of the first texts with each of the second, of shape (first, second)."""
        product = self.vectors[self._places(first)] @ self.vectors[self._places(second)].T
        return np.asarray(product.toarray() if hasattr(product, "toarray") else product)

    def outlier_scores(self, texts: Sequence[str]) -> np.ndarray:
        """1 - the cosine of each text's vector with the mean of all, from 0 to 2; 1 where either is zero."""
        if not texts:
            return np.zeros(0)
        vectors = self.vectors[self._places(texts)]
        centroid = np.asarray(vectors.mean(axis=0)).ravel()
        length = float(np.linalg.norm(centroid))
        return 1.0 - np.asarray(vectors @ centroid).ravel() / (length or 1.0)

    def _places(self, texts: Sequence[str]) -> np.ndarray:
        return np.fromiter((self.rows[text] for text in texts), dtype=np.int64, count=len(texts))


def encode_texts(texts: Sequence[str], encoder: SentenceEncoder) -> EncodedTexts:
    rows = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    if not rows:
        return EncodedTexts(rows, np.zeros((0, 1)))
    vectors = encoder.encode(list(rows))
    if vectors.shape[0] != len(rows):
        raise ValueError(f"Expected {len(rows)} vectors of {encoder.name}, but got {vectors.shape[0]}.")
    if hasattr(vectors, "multiply"):
        lengths = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel())
        return EncodedTexts(rows, vectors.multiply(1.0 / np.where(lengths > 0, lengths, 1.0)[:, None]).tocsr())
    lengths = np.linalg.norm(vectors, axis=1)
    return EncodedTexts(rows, vectors / np.where(lengths > 0, lengths, 1.0)[:, None])


TEXT = Prompt("embedding", "{text}")


class Embedding(BaseModel, extra="forbid", frozen=True):
    embedding: list[Annotated[float, Field(allow_inf_nan=False)]] = Field(min_length=1)


def server_encoder(settings: JudgeSettings, cache: ReplyCache | None = None) -> SentenceEncoder:
    # Model and server decide a vector, whatever else was chosen.
    sampling = Sampling(settings.model, server=settings.server)
    judge = Judge(_sender(settings), sampling, Embedding, cache or ReplyCache(), settings)

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


def _sender(settings: JudgeSettings) -> Send:
    # Only here: the client takes a second to import, and most encoders ask no server.
    from lmms_eval_tasks.utils.judge.server import Server

    server = Server(settings)

    def send(case: Case) -> JudgeReply:
        create = server.client.embeddings.create
        reply = server.ask(create, model=settings.model, input=case.text, encoding_format="float")
        try:
            text = json.dumps({"embedding": reply.data[0].embedding})
        except (AttributeError, IndexError, TypeError):
            raise ServerError("reply without a vector", again=True) from None
        return JudgeReply(text, server.hide(str(getattr(reply, "model", None) or settings.model)))

    return send

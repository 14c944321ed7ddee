"""Sentence encoders: what turns the texts of actions into vectors that can be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import first_line

TOKEN = r"[぀-ヿ㐀-鿿]|[^\W぀-ヿ㐀-鿿]+"
"""A word; in Chinese and Japanese, which do not part them, a character."""


@dataclass(frozen=True)
class SentenceEncoder:
    """A sentence encoder."""

    name: str
    encode: Callable[[Sequence[str]], Any]


TFIDF = "tfidf"


def tfidf_encoder() -> SentenceEncoder:
    """Words weighted by TF-IDF over the texts of the call: the default."""
    return SentenceEncoder(TFIDF, _tfidf)


def sentence_transformer(name: str, device: str | None = None) -> SentenceEncoder:
    """A model of the sentence-transformers library, by its name on the hub or the folder that it is in."""
    loaded: list[Any] = []

    def encode(texts: Sequence[str]) -> np.ndarray:
        if not loaded:
            from sentence_transformers import SentenceTransformer

            try:
                loaded.append(SentenceTransformer(name, device=device))
            except Exception as error:  # whatever its many layers raise
                raise InputError(f"The sentence encoder {name} cannot be loaded: {first_line(error)}") from error
        return np.asarray(loaded[0].encode(list(texts), convert_to_numpy=True, show_progress_bar=False))

    return SentenceEncoder(name, encode)


def _tfidf(texts: Sequence[str]) -> Any:
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(token_pattern=TOKEN)
    try:
        return vectorizer.fit_transform(texts)
    except ValueError:
        # None of the texts has a word.
        return csr_matrix((len(texts), 1))


@dataclass(frozen=True)
class EncodedTexts:
    """Texts with their vectors, each text encoded once."""

    rows: dict[str, int]
    vectors: Any

    def similarities(self, first: Sequence[str], second: Sequence[str]) -> np.ndarray:
        """Cosine similarity of each of the first texts with each of the second, of shape (first, second)."""
        product = self.vectors[self._places(first)] @ self.vectors[self._places(second)].T
        return np.asarray(product.toarray() if hasattr(product, "toarray") else product)

    def outlier_scores(self, texts: Sequence[str]) -> np.ndarray:
        """1 - the product of each text's vector with the mean of all of them, which is not normalised; from 0 to 2."""
        if not texts:
            return np.zeros(0)
        vectors = self.vectors[self._places(texts)]
        centroid = np.asarray(vectors.mean(axis=0)).ravel()
        return 1.0 - np.asarray(vectors @ centroid).ravel()

    def _places(self, texts: Sequence[str]) -> np.ndarray:
        return np.fromiter((self.rows[text] for text in texts), dtype=np.int64, count=len(texts))


def encode_texts(texts: Sequence[str], encoder: SentenceEncoder) -> EncodedTexts:
    """Encode texts, equal ones once."""
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

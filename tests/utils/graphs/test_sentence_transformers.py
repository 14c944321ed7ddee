"""A model of the sentence-transformers library, built tiny with random weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lmms_eval_tasks.utils.graphs.encoders import encode_texts, sentence_transformer

pytestmark = pytest.mark.model


def test_a_model_is_found_by_its_folder(tmp_path: Path) -> None:
    import torch
    from sentence_transformers import SentenceTransformer, models
    from transformers import BertConfig, BertModel, BertTokenizer

    torch.manual_seed(0)
    (tmp_path / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cut", "an", "onion", "run"])
    )
    BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path / "bert")
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    BertModel(BertConfig(vocab_size=9, **sizes)).save_pretrained(tmp_path / "bert")
    words = models.Transformer(str(tmp_path / "bert"))
    SentenceTransformer(modules=[words, models.Pooling(8)]).save(str(tmp_path / "tiny"))
    encoder = sentence_transformer(str(tmp_path / "tiny"), device="cpu")
    texts = ["cut an onion", "run", "onion an cut", "run"]
    encoded = encode_texts(texts, encoder)
    assert encoder.name == str(tmp_path / "tiny")
    assert encoded.vectors.shape == (3, 8)
    assert np.allclose(np.linalg.norm(encoded.vectors, axis=1), 1.0)
    alone = encoder.encode(["run"])[0]
    assert np.allclose(encoded.vectors[1], alone / np.linalg.norm(alone), atol=1e-5)

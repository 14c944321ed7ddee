"""A causal language model of a few thousand random weights, whose tokens are bytes."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

END = "<|end|>"


def write_tiny_text_model(out: Path, positions: int = 128, end: str | None = END) -> Path:
    """Write it to a folder; `positions` is the longest text that it takes."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({text: number for number, text in enumerate([*alphabet, END])}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=end).save_pretrained(out)
    torch.manual_seed(0)
    sizes = {"n_positions": positions, "n_embd": 16, "n_layer": 2, "n_head": 2, "initializer_range": 0.5}
    GPT2LMHeadModel(GPT2Config(vocab_size=len(alphabet) + 1, **sizes)).save_pretrained(out)
    return out

"""How an answer is generated: what a task asks for, as arguments of `generate`, and the text of what that returns."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

import torch
from lmms_eval.api.instance import GenerationResult, TokenCounts

DEFAULTS = {"max_new_tokens": 128, "temperature": 0.0, "num_beams": 1}
"""What lmms-eval's adapters of Qwen take where a task does not say."""
SAMPLING = ("temperature", "top_p", "top_k")


def generation_arguments(asked: Mapping[str, Any], tokenizer: Any, use_cache: bool) -> dict[str, Any]:
    """Arguments of `generate` for one question, as lmms-eval's adapters of Qwen choose them."""
    chosen = {**DEFAULTS, **asked}
    is_sampled = (chosen["temperature"] or 0) > 0
    return {
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "max_new_tokens": int(chosen["max_new_tokens"]),
        "num_beams": int(chosen["num_beams"]),
        "use_cache": use_cache,
        "do_sample": is_sampled,
        **{name: chosen.get(name) if is_sampled else None for name in SAMPLING},
    }


def why_alone(arguments: Mapping[str, Any]) -> str | None:
    """Return the reason a question cannot share the read prefix, or None if it can."""
    if arguments["do_sample"]:
        return "an answer that is sampled"
    if arguments["num_beams"] > 1:
        return "an answer that is searched with beams"
    return None if arguments["use_cache"] else "a model that keeps no keys and values"


def read_answer(tokens: torch.Tensor, tokenizer: Any, has_thought: bool) -> GenerationResult:
    """The text of an answer; a batch fills up the shorter ones after their end."""
    fillers = {tokenizer.eos_token_id, tokenizer.pad_token_id}
    count = sum(1 for _ in takewhile(lambda token: token not in fillers, tokens.tolist()))
    text = tokenizer.batch_decode([tokens], skip_special_tokens=True, clean_up_tokenization_spaces=False)[0]
    if has_thought:
        text = text.partition("</think>")[2].strip()
    return GenerationResult(text, TokenCounts(output_tokens=min(count + 1, len(tokens))))

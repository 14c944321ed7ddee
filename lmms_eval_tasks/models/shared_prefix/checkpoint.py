"""Loading a checkpoint of a video-language model with what makes its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from lmms_eval_tasks.models.shared_prefix.inputs import FAMILIES, FrameSettings, PlainInputs, QwenInputs
from lmms_eval_tasks.utils.core.problems import InputError


@dataclass(frozen=True)
class Checkpoint:
    """A loaded checkpoint.

    Attributes:
        model: The model of transformers.
        tokenizer: Its tokenizer; another object than the processor's, which a thread uses while answers are decoded.
        inputs: What makes the model's inputs.
    """

    model: Any
    tokenizer: Any
    inputs: PlainInputs


def load_checkpoint(
    pretrained: str,
    revision: str | None,
    dtype: str,
    device_map: str | Mapping[str, Any],
    attn_implementation: str | None,
    frames: FrameSettings,
) -> Checkpoint:
    """Load a checkpoint.

    Args:
        pretrained: A folder, or a name on the hub.
        revision: Of the checkpoint on the hub.
        dtype: Type of the weights.
        device_map: Where they go.
        attn_implementation: How attention is computed; None leaves it to transformers.
        frames: How clips are sampled.

    Raises:
        InputError: it cannot be loaded, or qwen-vl-utils is missing for a Qwen.
    """
    from transformers import AutoModelForImageTextToText, AutoProcessor, AutoTokenizer

    chosen = {} if attn_implementation is None else {"attn_implementation": attn_implementation}
    try:
        model = AutoModelForImageTextToText.from_pretrained(
            pretrained, revision=revision, dtype=dtype, device_map=device_map, **chosen
        ).eval()
        kind = FAMILIES.get(model.config.model_type, PlainInputs)
        is_qwen = issubclass(kind, QwenInputs)
        limits = {"max_pixels": frames.max_pixels, "min_pixels": frames.min_pixels} if is_qwen else {}
        processor = AutoProcessor.from_pretrained(pretrained, revision=revision, **limits)
        tokenizer = AutoTokenizer.from_pretrained(pretrained, revision=revision)
    except (OSError, ValueError, KeyError, ImportError, TypeError, AttributeError) as error:
        raise InputError(
            f"Expected {pretrained} to be a video-language model that AutoModelForImageTextToText and AutoProcessor "
            f"load, but they cannot:\n  {type(error).__name__}: {error}"
        ) from error
    if is_qwen and find_spec("qwen_vl_utils") is None:
        raise InputError(f"Clips for {pretrained} are read by qwen-vl-utils.\nRun:  pip install qwen-vl-utils")
    return Checkpoint(model, tokenizer, kind(processor, frames))

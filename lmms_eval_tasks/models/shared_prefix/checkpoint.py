"""Loading a checkpoint of a video-language model with what makes its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import torch
from transformers.utils import is_flash_attn_2_available

from lmms_eval_tasks.models.shared_prefix.inputs import FAMILIES, FrameSettings, PlainInputs, QwenInputs
from lmms_eval_tasks.utils.core.errors import InputError

AUTO = "auto"
FLASH = "flash_attention_2"


@dataclass(frozen=True)
class Checkpoint:
    """A loaded checkpoint."""

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
    from transformers import AutoModelForImageTextToText, AutoProcessor, AutoTokenizer

    def load(attention: str | None) -> Any:
        chosen = {} if attention is None else {"attn_implementation": attention}
        weights = _choose_dtype(on_gpu) if dtype == AUTO else dtype
        return AutoModelForImageTextToText.from_pretrained(
            pretrained, revision=revision, dtype=weights, device_map=device_map, **chosen
        ).eval()

    on_gpu = torch.cuda.is_available() and not _is_cpu(device_map)
    attention = attn_implementation or (FLASH if on_gpu and is_flash_attn_2_available() else None)
    try:
        try:
            model = load(attention)
        except (ValueError, ImportError):
            if attn_implementation or attention is None:
                raise
            model = load(None)
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


def _is_cpu(device_map: str | Mapping[str, Any]) -> bool:
    devices = [device_map] if isinstance(device_map, str) else device_map.values()
    return all(str(device).startswith("cpu") for device in devices)


def _choose_dtype(on_gpu: bool) -> str:
    return "float16" if on_gpu and not torch.cuda.is_bf16_supported() else "bfloat16"

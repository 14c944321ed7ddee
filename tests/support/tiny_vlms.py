"""Checkpoints of video-language models with a few thousand random weights, one per family, in float32."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers as hf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from lmms_eval_tasks.sample.tiny_vlm import CHAT_TEMPLATE, SPECIAL

HIDDEN = 32
SIDE = 28
"""Pixels of a side of a picture, where a family has one size."""
MORE = ("<image>", "<video>", "<img>", "</img>", "<IMG_CONTEXT>")
PLAIN_TEMPLATE = (
    CHAT_TEMPLATE.replace("<|vision_start|><|video_pad|><|vision_end|>", "<video>\n")
    .replace("<|vision_start|><|image_pad|><|vision_end|>", "<image>\n")
)  # fmt: skip
QWEN_VISION = {"depth": 2, "hidden_size": HIDDEN, "intermediate_size": 2 * HIDDEN, "num_heads": 4}
QWEN: dict[str, tuple[str, dict[str, Any], dict[str, Any], int]] = {
    "qwen2_vl": ("Qwen2VL", {"depth": 2, "embed_dim": HIDDEN, "num_heads": 4, "mlp_ratio": 2}, {}, 14),
    "qwen2_5_vl": ("Qwen2_5_VL", {**QWEN_VISION, "fullatt_block_indexes": [1]}, {}, 14),
    "qwen3_vl": (
        "Qwen3VL",
        {**QWEN_VISION, "deepstack_visual_indexes": [0, 1], "num_position_embeddings": 64, "patch_size": 16},
        {"mrope_interleaved": True},
        16,
    ),
}
"""Qwen's families: how their classes' names begin, their encoder, their positions, and the side of a patch."""


def _tokenizer(**named: str) -> Any:
    """Bytes as tokens, and the special tokens of all families."""
    special = [*SPECIAL, *MORE]
    words = [*sorted(pre_tokenizers.ByteLevel.alphabet()), *special]
    tokenizer = Tokenizer(models.BPE({word: number for number, word in enumerate(words)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=special[1:],
        extra_special_tokens=named,
    )


def _ids(tokenizer: Any, **names: str) -> dict[str, int]:
    return {name: tokenizer.convert_tokens_to_ids(token) for name, token in names.items()}


def _text(tokenizer: Any, hidden: int, **more: Any) -> dict[str, Any]:
    ends = _ids(tokenizer, bos_token_id="<|endoftext|>", eos_token_id="<|im_end|>", pad_token_id="<|endoftext|>")
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 3}
    sizes = {"hidden_size": hidden, "intermediate_size": 2 * hidden, "max_position_embeddings": 8192}
    return {"vocab_size": len(tokenizer), **sizes, **heads, **ends, **more}


def _qwen(family: str, hidden: int = HIDDEN) -> tuple[Any, Any]:
    name, vision, positions, patch = QWEN[family]
    tokenizer = _tokenizer(image_token="<|image_pad|>", video_token="<|video_pad|>")
    pairs = hidden // 8
    time, height = pairs // 4, (pairs - pairs // 4) // 2
    sections = [time, height, pairs - time - height]
    rope = {"rope_type": "default", "mrope_section": sections, "rope_theta": 10000.0, **positions}
    heads = {"head_dim": hidden // 4} if family == "qwen3_vl" else {}
    config = getattr(hf, f"{name}Config")(
        text_config=_text(tokenizer, hidden, rope_parameters=rope, **heads),
        vision_config={**vision, ("hidden_size" if family == "qwen2_vl" else "out_hidden_size"): hidden},
        **_ids(
            tokenizer, image_token_id="<|image_pad|>", video_token_id="<|video_pad|>",
            vision_start_token_id="<|vision_start|>", vision_end_token_id="<|vision_end|>",
        ),
    )  # fmt: skip
    processor = getattr(hf, f"{name}Processor")(
        image_processor=hf.Qwen2VLImageProcessor(patch_size=patch),
        video_processor=hf.Qwen3VLVideoProcessor() if family == "qwen3_vl" else hf.Qwen2VLVideoProcessor(),
        tokenizer=tokenizer,
        chat_template=CHAT_TEMPLATE,
    )
    return getattr(hf, f"{name}ForConditionalGeneration")(config), processor


VISION = {"hidden_size": HIDDEN, "intermediate_size": 2 * HIDDEN, "num_hidden_layers": 2, "num_attention_heads": 4}
SIZE = {"height": SIDE, "width": SIDE}


def _llava_onevision(hidden: int = HIDDEN) -> tuple[Any, Any]:
    tokenizer = _tokenizer(image_token="<image>", video_token="<video>")
    config = hf.LlavaOnevisionConfig(
        text_config=hf.Qwen2Config(**_text(tokenizer, hidden)),
        vision_config=hf.SiglipVisionConfig(**VISION, image_size=SIDE, patch_size=14, vision_use_head=False),
        image_grid_pinpoints=[[SIDE, SIDE]],
        vision_feature_layer=-1,
        **_ids(tokenizer, image_token_id="<image>", video_token_id="<video>"),
    )
    processor = hf.LlavaOnevisionProcessor(
        image_processor=hf.LlavaOnevisionImageProcessor(size=SIZE, image_grid_pinpoints=[[SIDE, SIDE]]),
        video_processor=hf.LlavaOnevisionVideoProcessor(size=SIZE),
        tokenizer=tokenizer,
        num_image_tokens=(SIDE // 14) ** 2,
        vision_feature_select_strategy="full",
        chat_template=PLAIN_TEMPLATE,
    )
    return hf.LlavaOnevisionForConditionalGeneration(config), processor


def _internvl(hidden: int = HIDDEN) -> tuple[Any, Any]:
    tokenizer = _tokenizer(
        start_image_token="<img>", end_image_token="</img>", context_image_token="<IMG_CONTEXT>", video_token="<video>"
    )
    config = hf.InternVLConfig(
        text_config=hf.Qwen2Config(**_text(tokenizer, hidden)),
        vision_config=hf.InternVLVisionConfig(**VISION, image_size=[SIDE, SIDE], patch_size=[14, 14]),
        image_seq_length=1,
        downsample_ratio=0.5,
        **_ids(tokenizer, image_token_id="<IMG_CONTEXT>"),
    )
    processor = hf.InternVLProcessor(
        image_processor=hf.GotOcr2ImageProcessor(size=SIZE),
        video_processor=hf.InternVLVideoProcessor(size=SIZE),
        tokenizer=tokenizer,
        image_seq_length=1,
        chat_template=PLAIN_TEMPLATE,
    )
    return hf.InternVLForConditionalGeneration(config), processor


FAMILIES: dict[str, Callable[..., tuple[Any, Any]]] = {
    **{family: partial(_qwen, family) for family in QWEN},
    "llava_onevision": _llava_onevision,
    "internvl": _internvl,
}
"""Model type to what builds a model and its processor."""


def write_tiny_family(family: str, out: Path, seed: int = 0, hidden: int = HIDDEN) -> Path:
    """Write a family's tiny checkpoint to a folder; its weights are large enough for answers to differ.

    `hidden` is the width of the language model, whose heads have a quarter of it.
    """
    torch.manual_seed(seed)
    model, processor = FAMILIES[family](hidden)
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.4)
        # Adapters of lmms-eval load them so, which then rounds nothing.
        parameter.data = parameter.data.bfloat16().float()
    model.save_pretrained(out)
    processor.save_pretrained(out)
    return out

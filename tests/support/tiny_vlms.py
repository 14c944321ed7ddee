"""Checkpoints of video-language models with a few thousand random weights, one per family, in float32."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from lmms_eval_tasks.sample.tiny_vlm import CHAT_TEMPLATE, SPECIAL

HIDDEN = 32
HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 3}
MORE = ("<image>", "<video>", "<img>", "</img>", "<IMG_CONTEXT>")
PLAIN_TEMPLATE = (
    CHAT_TEMPLATE.replace("<|vision_start|><|video_pad|><|vision_end|>", "<video>\n")
    .replace("<|vision_start|><|image_pad|><|vision_end|>", "<image>\n")
)  # fmt: skip


def _tokenizer(**named: str) -> Any:
    """Bytes as tokens, and the special tokens of all families."""
    from transformers import PreTrainedTokenizerFast

    special = [*SPECIAL, *MORE]
    words = [*sorted(pre_tokenizers.ByteLevel.alphabet()), *special]
    tokenizer = Tokenizer(models.BPE({word: number for number, word in enumerate(words)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
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
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": hidden,
        "intermediate_size": 2 * hidden,
        "max_position_embeddings": 8192,
        **HEADS,
        **ends,
        **more,
    }


_QWEN_NAMES = {"image_token": "<|image_pad|>", "video_token": "<|video_pad|>"}
_QWEN_IDS = {
    "image_token_id": "<|image_pad|>",
    "video_token_id": "<|video_pad|>",
    "vision_start_token_id": "<|vision_start|>",
    "vision_end_token_id": "<|vision_end|>",
}
_VISION = {"depth": 2, "hidden_size": HIDDEN, "intermediate_size": 2 * HIDDEN, "num_heads": 4}


def _rope(hidden: int) -> dict[str, Any]:
    pairs = hidden // 8
    time = pairs // 4
    height = (pairs - time) // 2
    return {"rope_type": "default", "mrope_section": [time, height, pairs - time - height], "rope_theta": 10000.0}


def _qwen2_vl(hidden: int = HIDDEN) -> tuple[Any, Any]:
    import transformers as hf

    tokenizer = _tokenizer(**_QWEN_NAMES)
    config = hf.Qwen2VLConfig(
        text_config=_text(tokenizer, hidden, rope_parameters=_rope(hidden)),
        vision_config={"depth": 2, "embed_dim": HIDDEN, "hidden_size": hidden, "num_heads": 4, "mlp_ratio": 2},
        **_ids(tokenizer, **_QWEN_IDS),
    )
    processor = hf.Qwen2VLProcessor(
        image_processor=hf.Qwen2VLImageProcessor(),
        video_processor=hf.Qwen2VLVideoProcessor(),
        tokenizer=tokenizer,
        chat_template=CHAT_TEMPLATE,
    )
    return hf.Qwen2VLForConditionalGeneration(config), processor


def _qwen2_5_vl(hidden: int = HIDDEN) -> tuple[Any, Any]:
    import transformers as hf

    tokenizer = _tokenizer(**_QWEN_NAMES)
    config = hf.Qwen2_5_VLConfig(
        text_config=_text(tokenizer, hidden, rope_parameters=_rope(hidden)),
        vision_config={**_VISION, "out_hidden_size": hidden, "fullatt_block_indexes": [1]},
        **_ids(tokenizer, **_QWEN_IDS),
    )
    processor = hf.Qwen2_5_VLProcessor(
        image_processor=hf.Qwen2VLImageProcessor(),
        video_processor=hf.Qwen2VLVideoProcessor(),
        tokenizer=tokenizer,
        chat_template=CHAT_TEMPLATE,
    )
    return hf.Qwen2_5_VLForConditionalGeneration(config), processor


def _qwen3_vl(hidden: int = HIDDEN) -> tuple[Any, Any]:
    import transformers as hf

    tokenizer = _tokenizer(**_QWEN_NAMES)
    vision = {**_VISION, "out_hidden_size": hidden, "deepstack_visual_indexes": [0, 1], "num_position_embeddings": 64}
    config = hf.Qwen3VLConfig(
        text_config=_text(
            tokenizer, hidden, head_dim=hidden // 4, rope_parameters={**_rope(hidden), "mrope_interleaved": True}
        ),
        vision_config={**vision, "patch_size": 16},
        **_ids(tokenizer, **_QWEN_IDS),
    )
    processor = hf.Qwen3VLProcessor(
        image_processor=hf.Qwen2VLImageProcessor(patch_size=16),
        video_processor=hf.Qwen3VLVideoProcessor(),
        tokenizer=tokenizer,
        chat_template=CHAT_TEMPLATE,
    )
    return hf.Qwen3VLForConditionalGeneration(config), processor


def _llava_onevision(hidden: int = HIDDEN) -> tuple[Any, Any]:
    import transformers as hf

    tokenizer = _tokenizer(image_token="<image>", video_token="<video>")
    side = 28
    config = hf.LlavaOnevisionConfig(
        text_config=hf.Qwen2Config(**_text(tokenizer, hidden)),
        vision_config=hf.SiglipVisionConfig(
            hidden_size=HIDDEN, intermediate_size=2 * HIDDEN, num_hidden_layers=2, num_attention_heads=4,
            image_size=side, patch_size=14, vision_use_head=False,
        ),
        image_grid_pinpoints=[[side, side]],
        vision_feature_layer=-1,
        **_ids(tokenizer, image_token_id="<image>", video_token_id="<video>"),
    )  # fmt: skip
    size = {"height": side, "width": side}
    processor = hf.LlavaOnevisionProcessor(
        image_processor=hf.LlavaOnevisionImageProcessor(size=size, image_grid_pinpoints=[[side, side]]),
        video_processor=hf.LlavaOnevisionVideoProcessor(size=size),
        tokenizer=tokenizer,
        num_image_tokens=(side // 14) ** 2,
        vision_feature_select_strategy="full",
        chat_template=PLAIN_TEMPLATE,
    )
    return hf.LlavaOnevisionForConditionalGeneration(config), processor


def _internvl(hidden: int = HIDDEN) -> tuple[Any, Any]:
    import transformers as hf

    tokenizer = _tokenizer(
        start_image_token="<img>",
        end_image_token="</img>",
        context_image_token="<IMG_CONTEXT>",
        video_token="<video>",
    )
    side = 28
    config = hf.InternVLConfig(
        text_config=hf.Qwen2Config(**_text(tokenizer, hidden)),
        vision_config=hf.InternVLVisionConfig(
            hidden_size=HIDDEN, intermediate_size=2 * HIDDEN, num_hidden_layers=2, num_attention_heads=4,
            image_size=[side, side], patch_size=[14, 14],
        ),
        image_seq_length=1,
        downsample_ratio=0.5,
        **_ids(tokenizer, image_token_id="<IMG_CONTEXT>"),
    )  # fmt: skip
    size = {"height": side, "width": side}
    processor = hf.InternVLProcessor(
        image_processor=hf.GotOcr2ImageProcessor(size=size),
        video_processor=hf.InternVLVideoProcessor(size=size),
        tokenizer=tokenizer,
        image_seq_length=1,
        chat_template=PLAIN_TEMPLATE,
    )
    return hf.InternVLForConditionalGeneration(config), processor


FAMILIES: dict[str, Callable[..., tuple[Any, Any]]] = {
    "qwen2_vl": _qwen2_vl,
    "qwen2_5_vl": _qwen2_5_vl,
    "qwen3_vl": _qwen3_vl,
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

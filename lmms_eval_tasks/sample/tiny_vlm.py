"""A Qwen-VL of a few hundred thousand random weights: the whole real path of a run, without a download or a GPU."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HIDDEN = 32
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}"
    "{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'text' %}{{ part['text'] }}"
    "{% elif part['type'] == 'video' %}<|vision_start|><|video_pad|><|vision_end|>"
    "{% elif part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% endif %}{% endfor %}{% endif %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
DEFAULT_SYSTEM = (
    "{% if messages[0]['role'] != 'system' %}<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n{% endif %}"
)
"""How the released chat template begins; ms-swift trains with that message."""
_NAMES = ("endoftext", "im_start", "im_end", "vision_start", "vision_end", "vision_pad", "image_pad", "video_pad")
SPECIAL = tuple(f"<|{name}|>" for name in _NAMES)
RELEASED_AT = 151643
"""Where the special tokens of the released tokenizer begin."""
_NOT_OURS = ("object_ref_start", "object_ref_end", "box_start", "box_end", "quad_start", "quad_end")
RELEASED = (*SPECIAL[:3], *(f"<|{name}|>" for name in _NOT_OURS), *SPECIAL[3:])
"""The special tokens in the order of the released tokenizer, in which the video's is 151656."""


def write_tiny_vlm(
    out: Path,
    seed: int = 0,
    language: Mapping[str, Any] | None = None,
    vision: Mapping[str, Any] | None = None,
    dtype: str = "float32",
    released_ids: bool = False,
    family: str = "qwen2_5_vl",
) -> Path:
    """Write a checkpoint with two layers and random weights, under 2 MB, that lmms-eval's adapters load."""
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    text = "which option is right, (A) the ball, (B) the box, (C) the ramp, (D) the arm or (E)?"
    tokenizer.train_from_iterator(
        (f"Question {number}: {text}" for number in range(2000)),
        trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=[] if released_ids else list(SPECIAL),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    if released_ids:
        # Words that no text has, up to where special tokens begin.
        trained = json.loads(tokenizer.to_str())["model"]
        unused = {f"<no word {number}>": number for number in range(len(trained["vocab"]), RELEASED_AT)}
        tokenizer.model = models.BPE(trained["vocab"] | unused, list(map(tuple, trained["merges"])))
        tokenizer.add_special_tokens(list(RELEASED))
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=list(SPECIAL[1:]),
        extra_special_tokens={"image_token": "<|image_pad|>", "video_token": "<|video_pad|>"},
    )
    ids = {token: fast.convert_tokens_to_ids(token) for token in SPECIAL}
    is_third = family == "qwen3_vl"
    name = "Qwen3VL" if is_third else "Qwen2_5_VL"
    width = {"hidden_size": HIDDEN, "intermediate_size": 2 * HIDDEN}
    heads = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    rope = {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 10000.0}
    ends = {f"{token}_id": ids[str(getattr(fast, token))] for token in ("eos_token", "pad_token")}
    of_text = {**width, **heads, **ends, "bos_token_id": ids["<|endoftext|>"], "rope_parameters": rope}
    of_text |= {"vocab_size": len(fast), "max_position_embeddings": 8192}
    of_vision: dict[str, Any] = {**width, "depth": 2, "num_heads": 4, "out_hidden_size": HIDDEN}
    if is_third:
        rope["mrope_interleaved"] = True
        of_text["head_dim"] = HIDDEN // 4
        of_vision |= {"patch_size": 16, "deepstack_visual_indexes": [0, 1], "num_position_embeddings": 64}
    else:
        of_vision["fullatt_block_indexes"] = [1]
    shown = {"image_token": "image_pad", "video_token": "video_pad"}
    shown |= {f"vision_{side}_token": f"vision_{side}" for side in ("start", "end")}
    config = getattr(transformers, f"{name}Config")(
        text_config={**of_text, **(language or {})},
        vision_config={**of_vision, **(vision or {})},
        **{f"{token}_id": ids[f"<|{pad}|>"] for token, pad in shown.items()},
    )
    torch.manual_seed(seed)
    network = getattr(transformers, f"{name}ForConditionalGeneration")
    network._from_config(config, dtype=getattr(torch, dtype)).save_pretrained(out)
    videos = transformers.Qwen3VLVideoProcessor if is_third else transformers.Qwen2VLVideoProcessor
    getattr(transformers, f"{name}Processor")(
        image_processor=transformers.Qwen2VLImageProcessor(patch_size=config.vision_config.patch_size),
        video_processor=videos(),
        tokenizer=fast,
        chat_template=DEFAULT_SYSTEM + CHAT_TEMPLATE if released_ids else CHAT_TEMPLATE,
    ).save_pretrained(out)
    return out

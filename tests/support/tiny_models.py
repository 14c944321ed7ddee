"""Checkpoints of a few thousand random weights, one per family: the real path of a run, without a download or a GPU.

They say nothing about the world; they stand in for real ones where loading, encoding and denoising are to be seen
working. Most families differ in their components' sizes only, which `_PIPELINES` lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch

HIDDEN = 32
VOCABULARY = 320
TEXT_LENGTH = 77

Sizes = dict[str, int]
"""Height, width, frames and fps at which a tiny model runs fast."""
Component = tuple[str, dict[str, Any]]
"""Name of a class of diffusers or transformers and its arguments."""

_FOUR = (8, 8, 8, 8)
_ONES = (1, 1, 1, 1, 1)
_HEADS = {"num_attention_heads": 2, "num_layers": 1}
_T5 = {"d_model": HIDDEN, "d_kv": 8, "d_ff": 37, "num_layers": 2, "num_heads": 4, "pad_token_id": 0}
_SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1}
_TEXT = {"intermediate_size": 37, "num_attention_heads": 4, **_SPECIAL}
_CLIP = {"hidden_size": HIDDEN, "num_hidden_layers": 2, "max_position_embeddings": TEXT_LENGTH, **_TEXT}
_BETAS = {"beta_start": 0.00085, "beta_end": 0.012}
_FLOW = "FlowMatchEulerDiscreteScheduler"

# The order of the components is that in which their random weights are drawn.
_PIPELINES: dict[str, tuple[str, dict[str, Component]]] = {
    "wan": ("WanPipeline", {
        "text_encoder": ("UMT5EncoderModel", _T5),
        "vae": ("AutoencoderKLWan", {"base_dim": 3, "z_dim": 16, "dim_mult": [1, 1, 1, 1], "num_res_blocks": 1}),
        "scheduler": ("UniPCMultistepScheduler", {
            "prediction_type": "flow_prediction", "use_flow_sigmas": True, "flow_shift": 3.0,
        }),
        "transformer": ("WanTransformer3DModel", {
            **_HEADS, "num_layers": 2, "attention_head_dim": 12, "patch_size": (1, 2, 2), "in_channels": 16,
            "out_channels": 16, "text_dim": HIDDEN, "freq_dim": 32, "ffn_dim": 32, "rope_max_seq_len": 32,
        }),
    }),
    "cogvideox": ("CogVideoXPipeline", {
        "text_encoder": ("T5EncoderModel", _T5),
        "vae": ("AutoencoderKLCogVideoX", {
            "block_out_channels": _FOUR, "latent_channels": 4, "layers_per_block": 1, "norm_num_groups": 2,
        }),
        "transformer": ("CogVideoXTransformer3DModel", {
            **_HEADS, "attention_head_dim": 16, "in_channels": 4, "out_channels": 4, "time_embed_dim": 2,
            "text_embed_dim": HIDDEN, "sample_width": 8, "sample_height": 8, "sample_frames": 9, "patch_size": 2,
            "max_text_seq_length": 226, "use_rotary_positional_embeddings": True,
        }),
        "scheduler": ("CogVideoXDDIMScheduler", {
            **_BETAS, "beta_schedule": "scaled_linear", "prediction_type": "v_prediction",
            "rescale_betas_zero_snr": True, "snr_shift_scale": 1.0, "timestep_spacing": "trailing",
        }),
    }),
    "ltx": ("LTXConditionPipeline", {
        "text_encoder": ("T5EncoderModel", _T5),
        "vae": ("AutoencoderKLLTXVideo", {
            "latent_channels": 8, "block_out_channels": _FOUR, "decoder_block_out_channels": _FOUR,
            "layers_per_block": _ONES, "decoder_layers_per_block": _ONES,
        }),
        "transformer": ("LTXVideoTransformer3DModel", {
            **_HEADS, "attention_head_dim": 16, "in_channels": 8, "out_channels": 8, "cross_attention_dim": 32,
            "caption_channels": HIDDEN,
        }),
        "scheduler": (_FLOW, {
            "use_dynamic_shifting": True, "base_shift": 0.95, "max_shift": 2.05, "shift_terminal": 0.1,
        }),
    }),
    "mochi": ("MochiPipeline", {
        "text_encoder": ("T5EncoderModel", _T5),
        "vae": ("AutoencoderKLMochi", {
            "latent_channels": 12, "encoder_block_out_channels": (32, 32, 32, 32),
            "decoder_block_out_channels": (32, 32, 32, 32), "layers_per_block": _ONES,
        }),
        "transformer": ("MochiTransformer3DModel", {
            **_HEADS, "num_layers": 2, "attention_head_dim": 8, "patch_size": 2, "pooled_projection_dim": 16,
            "in_channels": 12, "text_embed_dim": HIDDEN, "time_embed_dim": 4, "max_sequence_length": 16,
        }),
        "scheduler": (_FLOW, {"invert_sigmas": True}),
    }),
    "hunyuan": ("HunyuanVideoPipeline", {
        "text_encoder": ("LlamaModel", {"hidden_size": 16, "num_hidden_layers": 3, **_TEXT}),
        "text_encoder_2": ("CLIPTextModel", {"projection_dim": HIDDEN, **_CLIP}),
        "vae": ("AutoencoderKLHunyuanVideo", {
            "latent_channels": 4, "block_out_channels": _FOUR, "layers_per_block": 1, "norm_num_groups": 4,
        }),
        "transformer": ("HunyuanVideoTransformer3DModel", {
            **_HEADS, "attention_head_dim": 10, "in_channels": 4, "out_channels": 4, "num_single_layers": 1,
            "num_refiner_layers": 1, "patch_size": 1, "text_embed_dim": 16, "pooled_projection_dim": HIDDEN,
            "rope_axes_dim": (2, 4, 4),
        }),
        "scheduler": (_FLOW, {"shift": 7.0}),
    }),
    "hunyuan1.5": ("HunyuanVideo15Pipeline", {
        "text_encoder": ("Qwen2_5_VLTextModel", {
            "hidden_size": 16, "num_hidden_layers": 3, "num_key_value_heads": 2, **_TEXT,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [1, 1, 0]},
        }),
        "text_encoder_2": ("T5EncoderModel", _T5),
        "vae": ("AutoencoderKLHunyuanVideo15", {
            "latent_channels": 4, "block_out_channels": (16, 16, 16, 16, 16), "layers_per_block": 1,
        }),
        "transformer": ("HunyuanVideo15Transformer3DModel", {
            **_HEADS, "attention_head_dim": 16, "in_channels": 9, "out_channels": 4, "num_refiner_layers": 1,
            "text_embed_dim": 16, "text_embed_2_dim": HIDDEN, "image_embed_dim": 8, "rope_axes_dim": (4, 6, 6),
            "task_type": "t2v",
        }),
        "scheduler": (_FLOW, {"shift": 5.0}),
    }),
}  # fmt: skip


def _corpus() -> Iterator[str]:
    for number in range(200):
        yield f"clip {number}: a ball falls and bounces, a box slides, a pendulum swings, a cup breaks on the floor."


def tiny_tokenizer() -> Any:
    """A byte-level tokenizer of 320 words, of the kind that every family's pipeline takes."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<pad>", "</s>", "<unk>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_corpus(), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=TEXT_LENGTH,
    )


def _component(name: str, arguments: dict[str, Any]) -> Any:
    """A component of diffusers, or a text encoder of transformers, which takes its arguments as a configuration."""
    import diffusers
    import transformers

    if hasattr(diffusers, name):
        return getattr(diffusers, name)(**arguments)
    text_model: Any = getattr(transformers, name)
    return text_model(text_model.config_class(vocab_size=VOCABULARY, **arguments))


def _build(
    kind: str, pipeline: str = "", changes: dict[str, dict[str, Any]] | None = None, second: bool = False, **more: Any
) -> Any:
    """A pipeline of the table, maybe of another class, with other arguments of components, or a second denoiser."""
    import diffusers

    default, components = _PIPELINES[kind]
    parts = {
        name: _component(cls, {**arguments, **(changes or {}).get(name, {})})
        for name, (cls, arguments) in components.items()
    }
    if second:
        parts["transformer_2"] = _component(*components["transformer"])
    tokenizers = {name.replace("text_encoder", "tokenizer"): tiny_tokenizer() for name in parts if "encoder" in name}
    return getattr(diffusers, pipeline or default)(**{**tokenizers, **parts, **more})


def _hunyuan_1_5() -> Any:
    from diffusers import ClassifierFreeGuidance
    from transformers import ByT5Tokenizer

    pipeline = _build("hunyuan1.5", guider=ClassifierFreeGuidance(guidance_scale=6.0), tokenizer_2=ByT5Tokenizer())
    pipeline.tokenizer.chat_template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    return pipeline


def _animatediff(large: bool) -> Any:
    import diffusers

    more = {
        "addition_embed_type": "text_time", "addition_time_embed_dim": 8, "use_linear_projection": True,
        "projection_class_embeddings_input_dim": 8 * 6 + HIDDEN, "transformer_layers_per_block": (1, 1),
    }  # fmt: skip
    images = diffusers.UNet2DConditionModel(
        block_out_channels=(8, 16), layers_per_block=1, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), cross_attention_dim=2 * HIDDEN if large else HIDDEN,
        attention_head_dim=4, norm_num_groups=2, **(more if large else {}),
    )  # fmt: skip
    motion = diffusers.MotionAdapter(
        block_out_channels=(8, 16), motion_layers_per_block=1, motion_norm_num_groups=2, motion_num_attention_heads=2,
        use_motion_mid_block=not large,
    )  # fmt: skip
    # A new motion module's last layer is zero; at random it makes the order of frames matter.
    for module in motion.modules():
        if isinstance(module, torch.nn.Linear):
            torch.nn.init.normal_(module.weight, std=0.2)
    vae = {
        "block_out_channels": _FOUR, "down_block_types": ("DownEncoderBlock2D",) * 4,
        "up_block_types": ("UpDecoderBlock2D",) * 4, "latent_channels": 4, "norm_num_groups": 2,
    }  # fmt: skip
    clip = {"projection_dim": HIDDEN, **_CLIP}
    parts: dict[str, Any] = {
        "tokenizer": tiny_tokenizer(),
        "text_encoder": _component("CLIPTextModel", clip),
        "vae": _component("AutoencoderKL", vae),
        "unet": diffusers.UNetMotionModel.from_unet2d(images, motion),
        "motion_adapter": motion,
        "scheduler": _component("DDIMScheduler", {**_BETAS, "beta_schedule": "linear", "clip_sample": False}),
    }
    if not large:
        return diffusers.AnimateDiffPipeline(**parts)
    second = _component("CLIPTextModelWithProjection", clip)
    return diffusers.AnimateDiffSDXLPipeline(tokenizer_2=tiny_tokenizer(), text_encoder_2=second, **parts)


_SMALL = {"height": 32, "width": 32, "frames": 9, "fps": 8}
_LTX = {"height": 64, "width": 64, "frames": 17, "fps": 8}
_WAN = partial(_build, "wan", boundary_ratio=None, expand_timesteps=False)
_COGVIDEOX_2B: dict[str, dict[str, Any]] = {
    "transformer": {"use_rotary_positional_embeddings": False},
    "scheduler": {"snr_shift_scale": 3.0},
}
_COGVIDEOX_1_5 = {"transformer": {"patch_size_t": 2, "patch_bias": False}}

BUILDERS: dict[str, tuple[Callable[[], Any], Sizes]] = {
    "wan2.1-1.3b": (_WAN, _SMALL),
    "wan2.1-14b": (_WAN, _SMALL),
    "wan2.2-ti2v-5b": (partial(_WAN, expand_timesteps=True), _SMALL),
    "wan2.2-a14b": (partial(_WAN, second=True, boundary_ratio=0.875), _SMALL),
    "cogvideox-2b": (partial(_build, "cogvideox", changes=_COGVIDEOX_2B), _SMALL),
    "cogvideox-5b": (partial(_build, "cogvideox"), _SMALL),
    "cogvideox1.5-5b": (partial(_build, "cogvideox", changes=_COGVIDEOX_1_5), _SMALL),
    "ltx-2b": (partial(_build, "ltx", "LTXPipeline"), _LTX),
    "ltx-13b": (partial(_build, "ltx"), _LTX),
    "mochi-1": (partial(_build, "mochi"), {**_SMALL, "frames": 13}),
    "hunyuanvideo": (partial(_build, "hunyuan"), _SMALL),
    "hunyuanvideo-1.5": (_hunyuan_1_5, _SMALL),
    "animatediff-sd1.5": (partial(_animatediff, large=False), {**_SMALL, "frames": 8}),
    "animatediff-sdxl": (partial(_animatediff, large=True), {**_SMALL, "frames": 8}),
}
"""Family to what builds its tiny pipeline and the sizes to run it at."""


def write_tiny_model(family: str, out: Path, seed: int = 0) -> Path:
    """Write a family's tiny checkpoint to a folder, in diffusers' layout."""
    torch.manual_seed(seed)
    pipeline = BUILDERS[family][0]()
    # Small models start so near zero that all losses look alike.
    for name in ("transformer", "transformer_2", "unet"):
        network = getattr(pipeline, name, None)
        if network is not None:
            for parameter in network.parameters():
                if parameter.ndim > 1 and not parameter.any():
                    torch.nn.init.normal_(parameter, std=0.1)
    pipeline.save_pretrained(out)
    return out


def tiny_checkpoint(root: Path, family: str) -> Path:
    """A family's tiny checkpoint below a folder, written where it is not there yet."""
    folder = root / family
    return folder if (folder / "model_index.json").is_file() else write_tiny_model(family, folder)


def tiny_engine(root: Path, family: str, batch: int | None = 20, offload: str = "false", **choices: Any) -> Any:
    """An engine on the CPU, in float32 and at the tiny model's own sizes unless chosen otherwise."""
    from lmms_eval_tasks.models.video_diffusion.denoising import Engine, Placement
    from lmms_eval_tasks.models.video_diffusion.model import load_adapter
    from lmms_eval_tasks.models.video_diffusion.settings import check_geometry, read_settings

    pretrained = str(tiny_checkpoint(root, family))
    settings = read_settings(family, {"pretrained": pretrained, "dtype": "float32", **BUILDERS[family][1], **choices})
    adapter = load_adapter(settings)
    settings = check_geometry(settings, adapter.temporal_compression, adapter.size_multiple)
    return Engine(adapter, settings, Placement(torch.device("cpu"), offload), batch)

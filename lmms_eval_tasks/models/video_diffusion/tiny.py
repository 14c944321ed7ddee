"""Checkpoints of a few thousand random weights, one per family: the real path of a run, without a download or a GPU.

They say nothing about the world; they stand in for real ones where loading, encoding and denoising are to be seen
working.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

HIDDEN = 32
TEXT_LENGTH = 77
_WORDS = {
    "vocab_size": 320,
    "intermediate_size": 37,
    "num_attention_heads": 4,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 1,
}
"""What the text encoders have in common that go by `tiny_tokenizer`."""

Sizes = dict[str, int]
"""Height, width, frames and fps at which a tiny model runs fast."""


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
        vocab_size=320,
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


def _t5(kind: str = "T5EncoderModel") -> Any:
    import transformers

    config = {"T5EncoderModel": "T5Config", "UMT5EncoderModel": "UMT5Config"}[kind]
    return getattr(transformers, kind)(
        getattr(transformers, config)(
            vocab_size=320, d_model=HIDDEN, d_kv=8, d_ff=37, num_layers=2, num_heads=4, pad_token_id=0
        )
    )


def _clip(projection: int | None = None) -> Any:
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection

    config = CLIPTextConfig(
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        max_position_embeddings=TEXT_LENGTH,
        projection_dim=projection or HIDDEN,
        **_WORDS,
    )
    return CLIPTextModelWithProjection(config) if projection else CLIPTextModel(config)


def _wan(experts: bool = False, per_token_time: bool = False) -> Any:
    from diffusers import AutoencoderKLWan, UniPCMultistepScheduler, WanPipeline, WanTransformer3DModel

    def network() -> Any:
        return WanTransformer3DModel(
            patch_size=(1, 2, 2),
            num_attention_heads=2,
            attention_head_dim=12,
            in_channels=16,
            out_channels=16,
            text_dim=HIDDEN,
            freq_dim=32,
            ffn_dim=32,
            num_layers=2,
            rope_max_seq_len=32,
        )

    return WanPipeline(
        tokenizer=tiny_tokenizer(),
        text_encoder=_t5("UMT5EncoderModel"),
        vae=AutoencoderKLWan(base_dim=3, z_dim=16, dim_mult=[1, 1, 1, 1], num_res_blocks=1),
        scheduler=UniPCMultistepScheduler(prediction_type="flow_prediction", use_flow_sigmas=True, flow_shift=3.0),
        transformer=network(),
        transformer_2=network() if experts else None,
        boundary_ratio=0.875 if experts else None,
        expand_timesteps=per_token_time,
    )


def _cogvideox(version: str) -> Any:
    from diffusers import (
        AutoencoderKLCogVideoX,
        CogVideoXDDIMScheduler,
        CogVideoXPipeline,
        CogVideoXTransformer3DModel,
    )

    rotary = version != "2b"
    return CogVideoXPipeline(
        tokenizer=tiny_tokenizer(),
        text_encoder=_t5(),
        vae=AutoencoderKLCogVideoX(
            block_out_channels=(8, 8, 8, 8), latent_channels=4, layers_per_block=1, norm_num_groups=2
        ),
        transformer=CogVideoXTransformer3DModel(
            num_attention_heads=2,
            attention_head_dim=16,
            in_channels=4,
            out_channels=4,
            time_embed_dim=2,
            text_embed_dim=HIDDEN,
            num_layers=1,
            sample_width=8,
            sample_height=8,
            sample_frames=9,
            patch_size=2,
            patch_size_t=2 if version == "1.5-5b" else None,
            patch_bias=version != "1.5-5b",
            max_text_seq_length=226,
            use_rotary_positional_embeddings=rotary,
        ),
        scheduler=CogVideoXDDIMScheduler(
            beta_start=0.00085,
            beta_end=0.012,
            beta_schedule="scaled_linear",
            prediction_type="v_prediction",
            rescale_betas_zero_snr=True,
            snr_shift_scale=1.0 if rotary else 3.0,
            timestep_spacing="trailing",
        ),
    )


def _ltx(conditioned: bool) -> Any:
    from diffusers import (
        AutoencoderKLLTXVideo,
        FlowMatchEulerDiscreteScheduler,
        LTXConditionPipeline,
        LTXPipeline,
        LTXVideoTransformer3DModel,
    )

    return (LTXConditionPipeline if conditioned else LTXPipeline)(
        tokenizer=tiny_tokenizer(),
        text_encoder=_t5(),
        vae=AutoencoderKLLTXVideo(
            latent_channels=8,
            block_out_channels=(8, 8, 8, 8),
            decoder_block_out_channels=(8, 8, 8, 8),
            layers_per_block=(1, 1, 1, 1, 1),
            decoder_layers_per_block=(1, 1, 1, 1, 1),
        ),
        transformer=LTXVideoTransformer3DModel(
            in_channels=8,
            out_channels=8,
            num_attention_heads=2,
            attention_head_dim=16,
            cross_attention_dim=32,
            num_layers=1,
            caption_channels=HIDDEN,
        ),
        scheduler=FlowMatchEulerDiscreteScheduler(
            use_dynamic_shifting=True, base_shift=0.95, max_shift=2.05, shift_terminal=0.1
        ),
    )


def _mochi() -> Any:
    from diffusers import AutoencoderKLMochi, FlowMatchEulerDiscreteScheduler, MochiPipeline, MochiTransformer3DModel

    return MochiPipeline(
        tokenizer=tiny_tokenizer(),
        text_encoder=_t5(),
        vae=AutoencoderKLMochi(
            latent_channels=12,
            encoder_block_out_channels=(32, 32, 32, 32),
            decoder_block_out_channels=(32, 32, 32, 32),
            layers_per_block=(1, 1, 1, 1, 1),
        ),
        transformer=MochiTransformer3DModel(
            patch_size=2,
            num_attention_heads=2,
            attention_head_dim=8,
            num_layers=2,
            pooled_projection_dim=16,
            in_channels=12,
            text_embed_dim=HIDDEN,
            time_embed_dim=4,
            max_sequence_length=16,
        ),
        scheduler=FlowMatchEulerDiscreteScheduler(invert_sigmas=True),
    )


def _hunyuan() -> Any:
    from diffusers import (
        AutoencoderKLHunyuanVideo,
        FlowMatchEulerDiscreteScheduler,
        HunyuanVideoPipeline,
        HunyuanVideoTransformer3DModel,
    )
    from transformers import LlamaConfig, LlamaModel

    return HunyuanVideoPipeline(
        tokenizer=tiny_tokenizer(),
        text_encoder=LlamaModel(LlamaConfig(hidden_size=16, num_hidden_layers=3, **_WORDS)),
        tokenizer_2=tiny_tokenizer(),
        text_encoder_2=_clip(),
        vae=AutoencoderKLHunyuanVideo(
            latent_channels=4, block_out_channels=(8, 8, 8, 8), layers_per_block=1, norm_num_groups=4
        ),
        transformer=HunyuanVideoTransformer3DModel(
            in_channels=4,
            out_channels=4,
            num_attention_heads=2,
            attention_head_dim=10,
            num_layers=1,
            num_single_layers=1,
            num_refiner_layers=1,
            patch_size=1,
            text_embed_dim=16,
            pooled_projection_dim=HIDDEN,
            rope_axes_dim=(2, 4, 4),
        ),
        scheduler=FlowMatchEulerDiscreteScheduler(shift=7.0),
    )


def _animatediff(large: bool) -> Any:
    from diffusers import (
        AnimateDiffPipeline,
        AnimateDiffSDXLPipeline,
        AutoencoderKL,
        DDIMScheduler,
        MotionAdapter,
        UNet2DConditionModel,
        UNetMotionModel,
    )

    channels = (8, 16)
    more: dict[str, Any] = {}
    if large:
        more = {
            "addition_embed_type": "text_time",
            "addition_time_embed_dim": 8,
            "projection_class_embeddings_input_dim": 8 * 6 + HIDDEN,
            "use_linear_projection": True,
            "transformer_layers_per_block": (1, 1),
        }
    images = UNet2DConditionModel(
        block_out_channels=channels,
        layers_per_block=1,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=2 * HIDDEN if large else HIDDEN,
        attention_head_dim=4,
        norm_num_groups=2,
        **more,
    )
    motion = MotionAdapter(
        block_out_channels=channels,
        motion_layers_per_block=1,
        motion_norm_num_groups=2,
        motion_num_attention_heads=2,
        use_motion_mid_block=not large,
    )
    # A new motion module's last layer is zero; at random it makes the order of frames matter.
    for module in motion.modules():
        if isinstance(module, torch.nn.Linear):
            torch.nn.init.normal_(module.weight, std=0.2)
    parts: dict[str, Any] = {
        "tokenizer": tiny_tokenizer(),
        "text_encoder": _clip(),
        "vae": AutoencoderKL(
            block_out_channels=(8, 8, 8, 8),
            down_block_types=("DownEncoderBlock2D",) * 4,
            up_block_types=("UpDecoderBlock2D",) * 4,
            latent_channels=4,
            norm_num_groups=2,
        ),
        "unet": UNetMotionModel.from_unet2d(images, motion),
        "motion_adapter": motion,
        "scheduler": DDIMScheduler(beta_start=0.00085, beta_end=0.012, beta_schedule="linear", clip_sample=False),
    }
    if large:
        return AnimateDiffSDXLPipeline(tokenizer_2=tiny_tokenizer(), text_encoder_2=_clip(HIDDEN), **parts)
    return AnimateDiffPipeline(**parts)


_WAN = {"height": 32, "width": 32, "frames": 9, "fps": 8}
_LTX = {"height": 64, "width": 64, "frames": 17, "fps": 8}
_ANIMATEDIFF = {"height": 32, "width": 32, "frames": 8, "fps": 8}

BUILDERS: dict[str, tuple[Callable[[], Any], Sizes]] = {
    "wan2.1-1.3b": (_wan, _WAN),
    "wan2.1-14b": (_wan, _WAN),
    "wan2.2-ti2v-5b": (lambda: _wan(per_token_time=True), _WAN),
    "wan2.2-a14b": (lambda: _wan(experts=True), _WAN),
    "cogvideox-2b": (lambda: _cogvideox("2b"), _WAN),
    "cogvideox-5b": (lambda: _cogvideox("5b"), _WAN),
    "cogvideox1.5-5b": (lambda: _cogvideox("1.5-5b"), _WAN),
    "ltx-2b": (lambda: _ltx(conditioned=False), _LTX),
    "ltx-13b": (lambda: _ltx(conditioned=True), _LTX),
    "mochi-1": (_mochi, {"height": 32, "width": 32, "frames": 13, "fps": 8}),
    "hunyuanvideo": (_hunyuan, _WAN),
    "animatediff-sd1.5": (lambda: _animatediff(large=False), _ANIMATEDIFF),
    "animatediff-sdxl": (lambda: _animatediff(large=True), _ANIMATEDIFF),
}
"""Family to what builds its tiny pipeline and the sizes to run it at."""


def write_tiny_model(family: str, out: Path, seed: int = 0) -> Path:
    """Write a family's tiny checkpoint in diffusers' layout.

    Args:
        family: Name of a row of the table.
        out: Folder for the checkpoint.
        seed: Seed of the weights.

    Returns:
        The folder.
    """
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

"""The families: what each overrides of `Adapter`, after its own diffusers pipeline."""

from __future__ import annotations

import math
from typing import Any

import diffusers
import torch

from lmms_eval_tasks.models.video_diffusion.adapter import Adapter, Text, expand, load_pipeline, posterior_mean
from lmms_eval_tasks.models.video_diffusion.noising import Flow
from lmms_eval_tasks.models.video_diffusion.settings import DenoisingSettings
from lmms_eval_tasks.utils.answers.losses_protocol import TRAIN_STEPS

IMAGES_AT_ONCE = 8


class Wan(Adapter):
    """Wan 2.1 and 2.2 (``WanPipeline``): flow matching."""

    denoiser_names = ("transformer", "transformer_2")
    flow = Flow()

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        if "transformer_2" in self.denoisers:
            self.boundary = self.pipe.config.boundary_ratio

    def network_inputs(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> dict[str, Any]:
        """The network's arguments; the time once for each token where the checkpoint takes it so."""
        inputs = super().network_inputs(noisy, timesteps, text)
        if self.pipe.config.expand_timesteps:
            tokens = noisy[0, 0].numel() // math.prod(self.pipe.transformer.config.patch_size)
            inputs["timestep"] = timesteps[:, None].expand(-1, tokens)
        return inputs


class CogVideoX(Adapter):
    """CogVideoX 2B, 5B and 1.5-5B (``CogVideoXPipeline``): DDPM with v-prediction, ending in pure noise."""

    def padded_latents(self, latent_frames: int) -> int:
        """Return the number of copies of the first latent frame that go before it."""
        return -latent_frames % (self.pipe.transformer.config.patch_size_t or 1)

    def encode_frames(self, frames: torch.Tensor) -> torch.Tensor:
        """Encode one window, with the copies in front."""
        latents = super().encode_frames(frames)
        copies = latents[:, :, :1].expand(-1, -1, self.padded_latents(latents.shape[2]), -1, -1)
        return torch.cat([copies, latents], dim=2)

    def network_inputs(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> dict[str, Any]:
        """The network's arguments, with rotary position embeddings where it takes them."""
        rotary = None
        if self.pipe.transformer.config.use_rotary_positional_embeddings:
            frames, height, width = noisy.shape[2:]
            scale = self.spatial_compression
            rotary = self.pipe._prepare_rotary_positional_embeddings(
                height * scale, width * scale, frames, noisy.device
            )
        inputs = super().network_inputs(noisy.transpose(1, 2), timesteps.long(), text)
        return {**inputs, "image_rotary_emb": rotary}

    def predict(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> torch.Tensor:
        """The v of each clip."""
        return super().predict(noisy, timesteps, text).transpose(1, 2)


class Ltx(Adapter):
    """LTX-Video 2B and 13B: flow matching on packed latents; the network takes the frame rate."""

    text_outputs = ("embeds", "mask")
    compression_names = ("vae_temporal_compression_ratio", "vae_spatial_compression_ratio")
    flow = Flow()

    @classmethod
    def load(cls, settings: DenoisingSettings) -> Adapter:
        """Load a checkpoint; denoiser and VAE come from the family's single file where its row names one."""
        file = settings.family.single_file
        if not file or settings.own_weights:
            return super().load(settings)
        transformer = diffusers.LTXVideoTransformer3DModel.from_single_file(file, dtype=getattr(torch, settings.dtype))
        vae = diffusers.AutoencoderKLLTXVideo.from_single_file(file, dtype=getattr(torch, settings.vae_dtype))
        return cls(load_pipeline(settings, transformer=transformer, vae=vae), settings.family, settings.fps)

    def network_inputs(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> dict[str, Any]:
        """The network's arguments; each place of a latent frame is a token, with its position in seconds and pixels."""
        frames, height, width = noisy.shape[2:]
        temporal, spatial = self.temporal_compression, self.spatial_compression
        inputs = super().network_inputs(noisy.flatten(2).transpose(1, 2), timesteps, text)
        inputs |= {"num_frames": frames, "height": height, "width": width}
        if not hasattr(self.pipe, "_scale_video_ids"):
            return {**inputs, "rope_interpolation_scale": (temporal / self.fps, spatial, spatial)}
        axes = [torch.arange(size, device=noisy.device, dtype=torch.float32) for size in (frames, height, width)]
        time, row, column = torch.meshgrid(*axes, indexing="ij")
        seconds = (time * temporal + 1 - temporal).clamp(min=0) / self.fps
        positions = torch.stack([seconds, row * spatial, column * spatial]).flatten(1)[None]
        return {**inputs, "video_coords": expand(positions, len(noisy))}

    def predict(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> torch.Tensor:
        """Velocity towards noise."""
        return super().predict(noisy, timesteps, text).transpose(1, 2).reshape(noisy.shape)


class Mochi(Adapter):
    """Mochi 1 (``MochiPipeline``): flow matching whose time runs from noise to data, as its velocity does."""

    text_outputs = ("embeds", "mask")
    compression_names = ("vae_temporal_scale_factor", "vae_spatial_scale_factor")
    flow = Flow(towards="data")

    def network_inputs(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> dict[str, Any]:
        """The network's arguments, at its own time."""
        return super().network_inputs(noisy, TRAIN_STEPS - timesteps, text)


class HunyuanVideo(Adapter):
    """HunyuanVideo (``HunyuanVideoPipeline``): flow matching."""

    text_encoder_names = ("text_encoder", "text_encoder_2")
    text_outputs = ("embeds", "pooled", "mask")
    guidance_flags = ()
    flow = Flow()

    def network_inputs(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> dict[str, Any]:
        """The network's arguments, with the strength of guidance where it takes one."""
        guidance = None
        if self.pipe.transformer.config.guidance_embeds:
            strength = float(self.family.options.get("embedded_guidance", 1.0)) * TRAIN_STEPS
            guidance = torch.full((len(noisy),), strength, dtype=noisy.dtype, device=noisy.device)
        text = {**text, "mask": text["mask"].to(noisy.dtype)}
        inputs = super().network_inputs(noisy, timesteps, text)
        return {**inputs, "pooled_projections": text["pooled"], "guidance": guidance}


class HunyuanVideo15(Adapter):
    """HunyuanVideo 1.5 (``HunyuanVideo15Pipeline``): flow matching."""

    text_encoder_names = ("text_encoder", "text_encoder_2")
    text_outputs = ("embeds", "mask", "quoted_embeds", "quoted_mask")
    flow = Flow()

    def encode_text(self, caption: str, device: torch.device) -> dict[str, torch.Tensor]:
        """Encode one caption; how long it may be is the pipeline's."""
        return dict(zip(self.text_outputs, self.pipe.encode_prompt(caption, device=device), strict=True))

    def network_inputs(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> dict[str, Any]:
        """The network's arguments, without a picture."""
        config = self.pipe.transformer.config
        picture = noisy.new_zeros(len(noisy), config.in_channels - noisy.shape[1], *noisy.shape[2:])
        features = noisy.new_zeros(len(noisy), self.pipe.vision_num_semantic_tokens, config.image_embed_dim)
        return {
            **super().network_inputs(torch.cat([noisy, picture], dim=1), timesteps, text),
            "encoder_hidden_states_2": text["quoted_embeds"],
            "encoder_attention_mask_2": text["quoted_mask"],
            "image_embeds": features,
        }


class AnimateDiff(Adapter):
    """AnimateDiff on Stable Diffusion 1.5 and XL: DDPM on the latents of single images, joined by a motion module."""

    denoiser_names = ("unet",)
    text_encoder_names = ("text_encoder", "text_encoder_2")
    compression_names = ("", "vae_scale_factor")
    temporal_compression = 1

    @classmethod
    def load(cls, settings: DenoisingSettings) -> Adapter:
        """Load a whole pipeline, or an image model with the family's motion module and noise schedule."""
        checkpoint = {"pretrained_model_name_or_path": settings.pretrained, "revision": settings.revision}
        index = diffusers.DiffusionPipeline.load_config(**checkpoint)
        if str(index["_class_name"]).startswith("AnimateDiff"):
            return super().load(settings)
        options = settings.family.options
        scheduler = diffusers.DDIMScheduler.from_pretrained(
            **checkpoint, subfolder="scheduler", beta_schedule=options["beta_schedule"]
        )
        motion = diffusers.MotionAdapter.from_pretrained(
            options["motion_adapter"], dtype=getattr(torch, settings.dtype)
        )
        large = "text_encoder_2" in index
        pipeline = diffusers.AnimateDiffSDXLPipeline if large else diffusers.AnimateDiffPipeline
        pipe = load_pipeline(settings, pipeline, motion_adapter=motion, scheduler=scheduler)
        return cls(pipe, settings.family, settings.fps)

    @property
    def size_multiple(self) -> int:
        """Number of which height and width must be multiples: the VAE's scale times the network's own halvings."""
        halvings = len(self.pipe.unet.config.block_out_channels) - 1
        return self.spatial_compression << halvings

    def encode_text(self, caption: str, device: torch.device) -> dict[str, torch.Tensor]:
        """Encode one caption; XL's second encoder also gives one vector for all of it."""
        once = {} if len(self.text_encoders) > 1 else {"num_images_per_prompt": 1}
        embeds, _, *pooled = self.pipe.encode_prompt(caption, device=device, do_classifier_free_guidance=False, **once)
        return {"embeds": embeds, "pooled": pooled[0]} if pooled else {"embeds": embeds}

    def encode_frames(self, frames: torch.Tensor) -> torch.Tensor:
        """Encode one window, a few pictures at a time."""
        pictures = frames[0].transpose(0, 1)
        mean = torch.cat([posterior_mean(self.pipe.vae, part) for part in pictures.split(IMAGES_AT_ONCE)])
        return (mean * self.pipe.vae.config.scaling_factor).transpose(0, 1)[None]

    def network_inputs(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> dict[str, Any]:
        """The network's arguments; XL takes the size of a clip that was neither resized nor cropped."""
        added = None
        if "pooled" in text:
            height, width = (size * self.spatial_compression for size in noisy.shape[3:])
            ids = torch.tensor([[height, width, 0, 0, height, width]], device=noisy.device, dtype=noisy.dtype)
            added = {"text_embeds": text["pooled"], "time_ids": expand(ids, len(noisy))}
        return {
            "sample": noisy,
            "timestep": timesteps.long(),
            "encoder_hidden_states": text["embeds"].repeat_interleave(noisy.shape[2], dim=0),
            "added_cond_kwargs": added,
        }


ADAPTERS: dict[str, type[Adapter]] = {
    "wan": Wan,
    "cogvideox": CogVideoX,
    "ltx": Ltx,
    "mochi": Mochi,
    "hunyuan": HunyuanVideo,
    "hunyuan1.5": HunyuanVideo15,
    "animatediff": AnimateDiff,
}
"""By the name that a row of `families.json` gives."""

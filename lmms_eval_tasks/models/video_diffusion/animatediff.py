"""AnimateDiff on Stable Diffusion 1.5 and XL: DDPM on single-image latents, frames joined by a motion module."""

from __future__ import annotations

from typing import Any

import torch
from diffusers import AnimateDiffPipeline, AnimateDiffSDXLPipeline, DDIMScheduler, DiffusionPipeline, MotionAdapter

from lmms_eval_tasks.models.video_diffusion.adapter import Adapter, Text, expand, load_pipeline, posterior_mean
from lmms_eval_tasks.models.video_diffusion.settings import DenoisingSettings

IMAGES_AT_ONCE = 8


class AnimateDiff(Adapter):
    """Reads ``AnimateDiffPipeline`` and ``AnimateDiffSDXLPipeline`` folders, and image models that it makes move."""

    denoiser_names = ("unet",)
    text_encoder_names = ("text_encoder", "text_encoder_2")
    compression_names = ("", "vae_scale_factor")

    @classmethod
    def load(cls, settings: DenoisingSettings) -> Adapter:
        """Load a whole pipeline, or an image model with the family's motion module and noise schedule."""
        checkpoint = {"pretrained_model_name_or_path": settings.pretrained, "revision": settings.revision}
        index = DiffusionPipeline.load_config(**checkpoint)
        if str(index["_class_name"]).startswith("AnimateDiff"):
            return super().load(settings)
        options = settings.family.options
        scheduler = DDIMScheduler.from_pretrained(
            **checkpoint, subfolder="scheduler", beta_schedule=options["beta_schedule"]
        )
        motion = MotionAdapter.from_pretrained(options["motion_adapter"], dtype=getattr(torch, settings.dtype))
        pipeline = AnimateDiffSDXLPipeline if "text_encoder_2" in index else AnimateDiffPipeline
        pipe = load_pipeline(settings, pipeline, motion_adapter=motion, scheduler=scheduler)
        return cls(pipe, settings.family, settings.fps)

    @property
    def temporal_compression(self) -> int:
        """Every frame is a latent frame."""
        return 1

    @property
    def size_multiple(self) -> int:
        """What height and width must be a multiple of: the VAE's scale and the network's own halvings."""
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
        mean = torch.cat([posterior_mean(self.vae, part) for part in pictures.split(IMAGES_AT_ONCE)])
        return (mean * self.vae.config.scaling_factor).transpose(0, 1)[None]

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


ADAPTER = AnimateDiff

"""AnimateDiff on Stable Diffusion 1.5 and XL: DDPM on single-image latents, frames joined by a motion module."""

from __future__ import annotations

import torch
from diffusers import AnimateDiffPipeline, AnimateDiffSDXLPipeline, DDIMScheduler, DiffusionPipeline, MotionAdapter

from lmms_eval_tasks.models.video_diffusion.adapter import (
    Adapter,
    Source,
    Text,
    ddpm_noising,
    expand,
    load_pipeline,
    posterior_mean,
)
from lmms_eval_tasks.models.video_diffusion.families import Family

IMAGES_AT_ONCE = 8


class AnimateDiff(Adapter):
    """Reads ``AnimateDiffPipeline`` and ``AnimateDiffSDXLPipeline`` folders, and image models that it makes move."""

    denoiser_names = ("unet",)
    text_encoder_names = ("text_encoder", "text_encoder_2")

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.noising = ddpm_noising(self.pipe.scheduler)

    @classmethod
    def load(cls, family: Family, source: Source, fps: float) -> Adapter:
        """Load a whole pipeline, or an image model with the family's motion module and noise schedule."""
        index = DiffusionPipeline.load_config(source.pretrained, revision=source.revision)
        if str(index["_class_name"]).startswith("AnimateDiff"):
            return cls(load_pipeline(source), family, fps)
        kind = AnimateDiffSDXLPipeline if "text_encoder_2" in index else AnimateDiffPipeline
        scheduler = DDIMScheduler.from_pretrained(
            source.pretrained,
            subfolder="scheduler",
            revision=source.revision,
            beta_schedule=family.options["beta_schedule"],
        )
        motion = MotionAdapter.from_pretrained(family.options["motion_adapter"], dtype=source.dtype)
        pipe = kind.from_pretrained(
            source.pretrained,
            motion_adapter=motion,
            scheduler=scheduler,
            dtype=source.dtypes,
            revision=source.revision,
        )
        return cls(pipe, family, fps)

    @property
    def temporal_compression(self) -> int:
        """Every frame is a latent frame."""
        return 1

    @property
    def size_multiple(self) -> int:
        """What height and width must be a multiple of: the VAE's scale and the network's own halvings."""
        return int(self.pipe.vae_scale_factor * 2 ** (len(self.pipe.unet.config.block_out_channels) - 1))

    @property
    def _is_xl(self) -> bool:
        return getattr(self.pipe, "text_encoder_2", None) is not None

    def encode_text(self, caption: str, device: torch.device) -> dict[str, torch.Tensor]:
        """Encode one caption; XL's second encoder also gives one vector for all of it."""
        if not self._is_xl:
            embeds, _ = self.pipe.encode_prompt(caption, device, 1, False)
            return {"embeds": embeds}
        embeds, _, pooled, _ = self.pipe.encode_prompt(caption, device=device, do_classifier_free_guidance=False)
        return {"embeds": embeds, "pooled": pooled}

    def encode_frames(self, frames: torch.Tensor) -> torch.Tensor:
        """Encode one window, a few pictures at a time."""
        pictures = frames[0].transpose(0, 1)
        mean = torch.cat([posterior_mean(self.pipe.vae, part) for part in pictures.split(IMAGES_AT_ONCE)])
        return (mean * self.pipe.vae.config.scaling_factor).transpose(0, 1)[None]

    def predict(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> torch.Tensor:
        """Noise (or what the schedule says is predicted); XL is told that the clip was neither resized nor cropped."""
        network = self.pipe.unet
        batch, frames = noisy.shape[0], noisy.shape[2]
        added = None
        if self._is_xl:
            height, width = (size * self.pipe.vae_scale_factor for size in noisy.shape[3:])
            ids = torch.tensor([[height, width, 0, 0, height, width]], device=noisy.device, dtype=network.dtype)
            pooled = expand(text["pooled"], batch).to(network.dtype)
            added = {"text_embeds": pooled, "time_ids": expand(ids, batch)}
        embeds = expand(text["embeds"], batch).to(network.dtype).repeat_interleave(frames, dim=0)
        said: torch.Tensor = network(
            noisy.to(network.dtype),
            timesteps.long(),
            encoder_hidden_states=embeds,
            added_cond_kwargs=added,
            return_dict=False,
        )[0]
        return said.float()


ADAPTER = AnimateDiff

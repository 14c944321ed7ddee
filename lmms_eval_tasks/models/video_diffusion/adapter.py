"""What is particular to a family of models; see `Adapter`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from diffusers import DiffusionPipeline

from lmms_eval_tasks.models.video_diffusion.noising import Flow, Noising, scheduler_noising
from lmms_eval_tasks.models.video_diffusion.settings import DenoisingSettings, Family
from lmms_eval_tasks.utils.answers.losses_protocol import TRAIN_STEPS

Text = Mapping[str, torch.Tensor]
"""Encoded captions: named tensors whose first dimension is the batch."""


class Adapter:
    """One family: how it encodes captions and frames, how noise enters, and how its network is called."""

    denoiser_names: tuple[str, ...] = ("transformer",)
    text_encoder_names: tuple[str, ...] = ("text_encoder",)
    text_outputs: tuple[str, ...] = ("embeds",)
    guidance_flags: tuple[str, ...] = ("do_classifier_free_guidance",)
    compression_names: tuple[str, str] = ("vae_scale_factor_temporal", "vae_scale_factor_spatial")
    flow: Flow | None = None

    def __init__(self, pipe: Any, family: Family, fps: float) -> None:
        self.pipe, self.family, self.fps = pipe, family, fps
        self.noising: Noising = self.flow or scheduler_noising(pipe.scheduler)
        self.boundary: float | None = None

    @classmethod
    def load(cls, settings: DenoisingSettings) -> Adapter:
        """Load a checkpoint through diffusers' own ``from_pretrained``."""
        return cls(load_pipeline(settings), settings.family, settings.fps)

    @property
    def temporal_compression(self) -> int:
        """Frames per latent frame after the first."""
        return int(getattr(self.pipe, self.compression_names[0]))

    @property
    def spatial_compression(self) -> int:
        """Pixels per latent, in height and in width."""
        return int(getattr(self.pipe, self.compression_names[1]))

    @property
    def size_multiple(self) -> int:
        """Number of which height and width must be multiples."""
        patch = self.pipe.transformer.config.patch_size
        return self.spatial_compression * int(patch if isinstance(patch, int) else patch[-1])

    @property
    def denoisers(self) -> dict[str, torch.nn.Module]:
        """The denoising networks by name."""
        return self._modules(self.denoiser_names)

    @property
    def text_encoders(self) -> list[torch.nn.Module]:
        return list(self._modules(self.text_encoder_names).values())

    def _modules(self, names: tuple[str, ...]) -> dict[str, torch.nn.Module]:
        return {name: module for name in names if (module := getattr(self.pipe, name, None)) is not None}

    def expert(self, timestep: float) -> str:
        """Name of the network that denoises at a timestep of 0 to 1000."""
        low = self.boundary is not None and timestep < self.boundary * TRAIN_STEPS
        return self.denoiser_names[1 if low else 0]

    def padded_latents(self, latent_frames: int) -> int:
        """Return the number of latent frames `encode_frames` puts before a window's own; they never enter the loss."""
        return 0

    def encode_text(self, caption: str, device: torch.device) -> dict[str, torch.Tensor]:
        """Encode one caption by the pipeline's `encode_prompt`: tensors named by `text_outputs`, for a batch of one."""
        flags = dict.fromkeys(self.guidance_flags, False)
        encoded = self.pipe.encode_prompt(caption, max_sequence_length=self.family.text_tokens, device=device, **flags)
        return dict(zip(self.text_outputs, encoded, strict=False))

    def encode_frames(self, frames: torch.Tensor) -> torch.Tensor:
        """Encode a window of shape (1, 3, frames, height, width), values -1 to 1, to its normalised posterior mean."""
        mean = posterior_mean(self.pipe.vae, frames)
        # A VAE keeps its statistics in its configuration or, as LTX-Video's does, beside its weights.
        statistics = {**self.pipe.vae.config, **dict(self.pipe.vae.named_buffers())}
        centre, spread = statistics.get("latents_mean"), statistics.get("latents_std")
        if centre is not None and spread is not None:
            mean = (mean - _per_channel(centre, mean)) / _per_channel(spread, mean)
        return mean * statistics.get("scaling_factor", 1.0)

    def predict(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> torch.Tensor:
        """Return the network's prediction from noisy latents, float32 of the same shape."""
        network: Any = self.denoisers[self.expert(float(timesteps[0]))]
        batch = {name: expand(tensor, len(noisy)) for name, tensor in text.items()}
        batch = {
            name: tensor.to(network.dtype) if tensor.is_floating_point() else tensor for name, tensor in batch.items()
        }
        inputs = self.network_inputs(noisy.to(network.dtype), timesteps, batch)
        prediction: torch.Tensor = network(**inputs, return_dict=False)[0]
        return prediction.float()

    def network_inputs(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> dict[str, Any]:
        """The network's arguments, by name."""
        inputs = {"hidden_states": noisy, "timestep": timesteps, "encoder_hidden_states": text["embeds"]}
        return {**inputs, "encoder_attention_mask": text["mask"]} if "mask" in text else inputs


def load_pipeline(settings: DenoisingSettings, pipeline: Any = DiffusionPipeline, **components: Any) -> Any:
    """A run's checkpoint as a diffusers pipeline, each part in the precision in which it is used."""
    dtypes = {"default": getattr(torch, settings.dtype), "vae": getattr(torch, settings.vae_dtype)}
    return pipeline.from_pretrained(settings.pretrained, dtype=dtypes, revision=settings.revision, **components)


def posterior_mean(vae: Any, frames: torch.Tensor) -> torch.Tensor:
    """The VAE's mean for frames, float32."""
    mean: torch.Tensor = vae.encode(frames.to(vae.dtype)).latent_dist.mean
    return mean.float()


def expand(tensor: torch.Tensor, batch: int) -> torch.Tensor:
    """A tensor for a batch of one, repeated for a larger one without a copy."""
    return tensor.expand(batch, *tensor.shape[1:])


def _per_channel(values: Any, like: torch.Tensor) -> torch.Tensor:
    return torch.as_tensor(values, dtype=torch.float32, device=like.device).view(1, -1, 1, 1, 1)

"""What a family of models has to say about itself; see `Adapter`."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from diffusers import DiffusionPipeline

from lmms_eval_tasks.models.video_diffusion.families import Family
from lmms_eval_tasks.models.video_diffusion.noising import Ddpm, Noising

Text = Mapping[str, torch.Tensor]
"""Encoded caption: named tensors whose first dimension is 1."""


@dataclass(frozen=True)
class Source:
    """Where the weights come from and in which precision they are used.

    Attributes:
        pretrained: Hub id, or folder in diffusers' layout.
        dtype: Precision of the denoiser and the text encoders.
        vae_dtype: Precision of the VAE.
        revision: Branch, tag or commit of a hub id.
        own_weights: Whether `pretrained` was given by the user, so that nothing of the family's row is added to it.
    """

    pretrained: str
    dtype: torch.dtype
    vae_dtype: torch.dtype
    revision: str | None = None
    own_weights: bool = False

    @property
    def dtypes(self) -> dict[str, torch.dtype]:
        """Precisions as diffusers takes them; weights are read in the one that they are used in."""
        return {"default": self.dtype, "vae": self.vae_dtype}


class Adapter(abc.ABC):
    """One family: how it encodes text and frames, how noise enters, what its network predicts and how it is called.

    A subclass sets `noising` and implements `size_multiple`, `encode_text`, `encode_frames` and `predict`; its module
    names it `ADAPTER`. Latents have the shape (batch, channels, latent frames, height, width) everywhere outside
    `predict`. The modules may be on any device when they are called; inputs are then on the same one.

    Attributes:
        pipe: The model's diffusers pipeline, never called as a whole.
        family: Its row.
        fps: Frame rate of the windows, for families whose network is told.
        noising: How noise enters.
        boundary: Noise level below which the second of two networks denoises; None where there is one.
    """

    denoiser_names: tuple[str, ...] = ("transformer",)
    text_encoder_names: tuple[str, ...] = ("text_encoder",)
    noising: Noising
    boundary: float | None = None

    def __init__(self, pipe: Any, family: Family, fps: float) -> None:
        self.pipe, self.family, self.fps = pipe, family, fps

    @classmethod
    def load(cls, family: Family, source: Source, fps: float) -> Adapter:
        """Load a checkpoint through diffusers' own ``from_pretrained``.

        Raises:
            OSError, ValueError: as diffusers does, where there is no such checkpoint or it is not whole.
        """
        return cls(load_pipeline(source), family, fps)

    @property
    def temporal_compression(self) -> int:
        """Frames per latent frame after the first."""
        return int(self.pipe.vae.temporal_compression_ratio)

    @property
    @abc.abstractmethod
    def size_multiple(self) -> int:
        """What height and width must be a multiple of."""

    @property
    def denoisers(self) -> dict[str, torch.nn.Module]:
        """The denoising networks by name."""
        return {name: module for name in self.denoiser_names if (module := getattr(self.pipe, name, None)) is not None}

    @property
    def text_encoders(self) -> list[torch.nn.Module]:
        """The text encoders."""
        return [module for name in self.text_encoder_names if (module := getattr(self.pipe, name, None)) is not None]

    @property
    def vae(self) -> torch.nn.Module:
        """The VAE."""
        module: torch.nn.Module = self.pipe.vae
        return module

    def expert(self, timestep: float) -> str:
        """Name of the network that denoises at a timestep of 0 to 1000."""
        return self.denoiser_names[0]

    def padded_latents(self, latent_frames: int) -> int:
        """How many latent frames `encode_frames` puts before a window's own, which never enter the loss."""
        return 0

    def encode_prompt(self, caption: str, device: torch.device) -> Any:
        """What the pipeline's own method of this name gives for one caption, without guidance."""
        return self.pipe.encode_prompt(
            caption,
            do_classifier_free_guidance=False,
            max_sequence_length=self.family.text_tokens,
            device=device,
        )

    @abc.abstractmethod
    def encode_text(self, caption: str, device: torch.device) -> dict[str, torch.Tensor]:
        """Encode one caption, without guidance."""

    @abc.abstractmethod
    def encode_frames(self, frames: torch.Tensor) -> torch.Tensor:
        """Encode a window of shape (1, 3, frames, height, width), values -1 to 1, to its normalised posterior mean."""

    @abc.abstractmethod
    def predict(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> torch.Tensor:
        """What the network says about noisy latents, float32 of the same shape.

        Args:
            noisy: Float32 latents.
            timesteps: One per clip, 0 to 1000; all of one expert.
            text: The caption, for a batch of one.
        """


def load_pipeline(source: Source, **components: Any) -> Any:
    """The pipeline that a checkpoint's own index names, with some components given."""
    return DiffusionPipeline.from_pretrained(
        source.pretrained, dtype=source.dtypes, revision=source.revision, **components
    )


def posterior_mean(vae: Any, frames: torch.Tensor) -> torch.Tensor:
    """The VAE's mean for frames, float32."""
    mean: torch.Tensor = vae.encode(frames.to(vae.dtype)).latent_dist.mean
    return mean.float()


def per_channel(values: Any, like: torch.Tensor) -> torch.Tensor:
    """Numbers of channels in the shape of latents."""
    return torch.as_tensor(values, dtype=torch.float32, device=like.device).view(1, -1, 1, 1, 1)


def expand(tensor: torch.Tensor, batch: int) -> torch.Tensor:
    """A tensor for a batch of one, for a larger one."""
    return tensor.expand(batch, *tensor.shape[1:])


def ddpm_noising(scheduler: Any) -> Ddpm:
    """The DDPM process of a diffusers scheduler."""
    predicts = {"epsilon": "epsilon", "v_prediction": "v", "sample": "sample"}[scheduler.config.prediction_type]
    return Ddpm(scheduler.alphas_cumprod.float(), predicts)  # type: ignore[arg-type]

"""How noise enters a clip and what a network is trained to predict from it: DDPM and flow matching."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from lmms_eval_tasks.utils.answers.losses_protocol import TRAIN_STEPS, Process


def _spread(values: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return values.to(like.device, torch.float32).view(-1, *[1] * (like.ndim - 1))


@dataclass(frozen=True)
class Ddpm:
    """``x_t = a x + s e`` with ``a² = alphas_cumprod[t]`` and ``a² + s² = 1``; whole timesteps 0 to 999."""

    alphas_cumprod: torch.Tensor
    predicts: Literal["epsilon", "v", "sample"] = "epsilon"
    process: Process = "ddpm"

    def _scales(self, timesteps: torch.Tensor, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        signal = self.alphas_cumprod.to(timesteps.device, torch.float32)[timesteps.long()]
        return _spread(signal.sqrt(), like), _spread((1 - signal).sqrt(), like)

    def add_noise(self, clean: torch.Tensor, noise: torch.Tensor, timesteps: torch.Tensor) -> torch.Tensor:
        """The noisy clips at their timesteps."""
        scale, spread = self._scales(timesteps, clean)
        return scale * clean + spread * noise

    def target(self, clean: torch.Tensor, noise: torch.Tensor, timesteps: torch.Tensor) -> torch.Tensor:
        """Return the target the network is trained to predict: noise, v or clean clip."""
        if self.predicts != "v":
            return noise if self.predicts == "epsilon" else clean
        scale, spread = self._scales(timesteps, clean)
        return scale * noise - spread * clean

    def as_noise(self, prediction: torch.Tensor, noisy: torch.Tensor, timesteps: torch.Tensor) -> torch.Tensor:
        """The noise that a prediction implies; ``e = a v + s x_t`` for v."""
        scale, spread = self._scales(timesteps, noisy)
        if self.predicts == "epsilon":
            return prediction
        if self.predicts == "v":
            return scale * prediction + spread * noisy
        return (noisy - scale * prediction) / spread


@dataclass(frozen=True)
class Flow:
    """``x_t = (1 - σ) x + σ e`` with ``σ = t / 1000``, any t in between."""

    towards: Literal["noise", "data"] = "noise"
    process: Process = "flow"
    predicts: str = "velocity"

    def add_noise(self, clean: torch.Tensor, noise: torch.Tensor, timesteps: torch.Tensor) -> torch.Tensor:
        """The noisy clips at their timesteps."""
        level = _spread(timesteps / TRAIN_STEPS, clean)
        return (1 - level) * clean + level * noise

    def target(self, clean: torch.Tensor, noise: torch.Tensor, timesteps: torch.Tensor) -> torch.Tensor:
        """Return the target the network is trained to predict: the velocity, the same at all timesteps."""
        return noise - clean if self.towards == "noise" else clean - noise

    def as_noise(self, prediction: torch.Tensor, noisy: torch.Tensor, timesteps: torch.Tensor) -> torch.Tensor:
        """The noise that a velocity implies: ``e = x_t + (1 - σ)(e - x)``."""
        level = _spread(timesteps / TRAIN_STEPS, noisy)
        velocity = prediction if self.towards == "noise" else -prediction
        return noisy + (1 - level) * velocity


Noising = Ddpm | Flow


def scheduler_noising(scheduler: Any) -> Ddpm:
    """The DDPM process of a diffusers scheduler."""
    predicts = {"epsilon": "epsilon", "v_prediction": "v", "sample": "sample"}[scheduler.config.prediction_type]
    return Ddpm(scheduler.alphas_cumprod.float(), predicts)  # type: ignore[arg-type]


def draw_noise(seeds: Sequence[int], like: torch.Tensor) -> torch.Tensor:
    """Gaussian noise for a batch, the noise of each seed by itself, in float32."""
    noise = torch.empty((len(seeds), *like.shape[1:]), dtype=torch.float32, pin_memory=like.device.type == "cuda")
    for row, seed in enumerate(seeds):
        torch.randn(like.shape, generator=torch.Generator("cpu").manual_seed(seed), out=noise[row : row + 1])
    return noise.to(like.device, non_blocking=True)

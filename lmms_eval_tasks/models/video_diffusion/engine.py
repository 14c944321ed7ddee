"""The protocol on a loaded model: a pair of clips in, its denoising losses out.

Each file is decoded once and each of its windows encoded once. All noisy clips of a pair (windows, timesteps, draws)
then go through the network in batches. A batch is denoised for the forward clip and for its reversal with the same
noise, the same caption and the same composition, so that equal clips have equal losses to the last bit and exchanging
the two files exchanges their losses.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from lmms_eval_tasks.models.failures import cause_of, free_memory, is_out_of_memory
from lmms_eval_tasks.models.video_diffusion.adapter import Adapter
from lmms_eval_tasks.models.video_diffusion.encoding import ClipFile, EncodedPair, UnequalClips, encode_pair
from lmms_eval_tasks.models.video_diffusion.placement import Placement
from lmms_eval_tasks.models.video_diffusion.settings import DenoisingSettings
from lmms_eval_tasks.models.video_diffusion.store import ClipPair
from lmms_eval_tasks.utils.data.release import UnreadableClip
from lmms_eval_tasks.utils.denoising.protocol import ShortClip, choose_timesteps, combine_losses, noise_seed
from lmms_eval_tasks.utils.denoising.response import (
    DenoisingResponse,
    Directed,
    ItemError,
    settings_digest,
)

FIRST_BATCH = 20
ERROR_KINDS = {UnreadableClip: "unreadable_clip", UnequalClips: "unequal_clips", ShortClip: "short_clip"}
"""What can be wrong with a pair's files, as `DenoisingResponse.error` names it."""

logger = logging.getLogger(__name__)


class Unit(NamedTuple):
    """One noisy clip: a window at a timestep with one draw of noise."""

    window: int
    timestep: int
    draw: int


class Engine:
    """Measures pairs with one model.

    Args:
        adapter: The model.
        settings: The run's choices.
        placement: Where its parts are.
        batch: Noisy clips at once; None finds the largest that fits, halving whenever memory runs out.
        versions: What is written into each answer.
    """

    def __init__(
        self,
        adapter: Adapter,
        settings: DenoisingSettings,
        placement: Placement,
        batch: int | None = None,
        versions: Mapping[str, str] | None = None,
    ) -> None:
        self.adapter, self.settings, self.placement = adapter, settings, placement
        self.fixed_batch = batch is not None
        self.batch = batch or FIRST_BATCH
        self.versions = dict(versions or {})
        protocol = settings.protocol
        self.timesteps = choose_timesteps(
            adapter.noising.process, protocol.spacing, protocol.steps, settings.family.train_shift
        )
        facts = {
            **settings.as_json(),
            "predicts": adapter.noising.predicts,
            "boundary": adapter.boundary,
            "parameters": sum(part.numel() for net in adapter.denoisers.values() for part in net.parameters()),
        }
        # A model that is given another name keeps its answers.
        self.digest = settings_digest(facts)
        self.facts = {**facts, "model": settings.name}
        self._texts: dict[str, dict[str, torch.Tensor]] = {}
        self._traced: set[str] = set()

    def shown_caption(self, caption: str) -> str:
        """The text that the model reads for a caption: itself, or nothing under ``prompt=null``."""
        return "" if self.settings.prompt == "null" else caption

    def encode_captions(self, captions: Iterable[str]) -> None:
        """Encode captions that were not encoded before, then move the text encoders off the device.

        Encoded captions are kept in main memory: about 4 MB each with the largest text encoders in bfloat16.
        """
        new = {self.shown_caption(caption) for caption in captions} - self._texts.keys()
        if self.settings.prompt == "forward":
            new.discard("")
        if not new:
            return
        self.placement.bring(*self.adapter.text_encoders)
        with torch.no_grad():
            for caption in sorted(new):
                encoded = self.adapter.encode_text(caption, self.placement.device)
                self._texts[caption] = {name: tensor.cpu() for name, tensor in encoded.items()}
        self.placement.send_away(*self.adapter.text_encoders)

    def measure(self, pair: ClipPair) -> DenoisingResponse:
        """The losses of a pair, or why there are none; never raises because of a pair."""
        if not self.shown_caption(pair.caption) and self.settings.prompt == "forward":
            message = f"Expected a caption for {pair.item_id}, but got none; or run prompt=null."
            return self.refuse(pair.item_id, "no_caption", message)
        try:
            with torch.no_grad():
                return self._measure(pair)
        except tuple(ERROR_KINDS) as error:
            return self.refuse(pair.item_id, ERROR_KINDS.get(type(error), "failed"), str(error))
        except Exception as error:
            free_memory()
            if is_out_of_memory(error):
                return self.refuse(pair.item_id, "out_of_memory", self._out_of_memory_advice())
            message = f"{type(error).__name__}: {error}"
            if (cause := cause_of(message, pair.item_id)) not in self._traced:
                self._traced.add(cause)
                logger.exception(f"{pair.item_id} could not be measured")
            return self.refuse(pair.item_id, "failed", message)

    def refuse(self, item_id: str, kind: str, message: str) -> DenoisingResponse:
        """The answer about a pair that has no losses."""
        logger.warning(f"{item_id} is unscored: {message}")
        return self._respond(item_id, error=ItemError(kind=kind, message=message))

    def _respond(self, item_id: str, **fields: Any) -> DenoisingResponse:
        return DenoisingResponse(
            item_id=item_id, settings=self.facts, settings_digest=self.digest, versions=self.versions, **fields
        )

    def _out_of_memory_advice(self) -> str:
        if self.fixed_batch and self.batch > 1:
            return f"Memory ran out at batch={self.batch}; give a smaller number, or batch=auto."
        return "Memory ran out at batch 1; give offload=true (or offload=layers), tiling=true, or a smaller size."

    def _measure(self, pair: ClipPair) -> DenoisingResponse:
        self.encode_captions([pair.caption])
        files = ClipFile(pair.forward), ClipFile(pair.backward)
        encoded = encode_pair(*files, self.adapter, self.settings, self.placement)
        caption = self._texts[self.shown_caption(pair.caption)]
        text = {name: tensor.to(self.placement.device) for name, tensor in caption.items()}
        shape = (len(encoded.windows), len(self.timesteps), self.settings.protocol.draws)
        seeds = np.zeros(shape, dtype=np.int64)
        for unit in np.ndindex(shape):
            seeds[unit] = self._seed(pair.item_id, Unit(*unit))
        losses = {
            direction: [[sum(draws) / len(draws) for draws in row] for row in unit_losses.tolist()]
            for direction, unit_losses in self._denoise_within_memory(encoded, text, seeds).items()
        }
        counted, rule = [window.latents for window in encoded.windows], self.settings.protocol.combine
        return self._respond(
            pair.item_id,
            loss=Directed(**{name: combine_losses(table, counted, rule) for name, table in losses.items()}),
            losses=Directed(**losses),
            timesteps=list(self.timesteps),
            windows=encoded.windows,
            seeds=seeds.tolist(),
            frames=encoded.frames,
        )

    def _seed(self, item_id: str, unit: Unit) -> int:
        timestep = 0 if self.settings.protocol.shared_noise else unit.timestep
        return noise_seed(self.settings.seed, item_id, unit.window, timestep, unit.draw)

    def _denoise_within_memory(
        self, pair: EncodedPair, text: Mapping[str, torch.Tensor], seeds: NDArray[np.int64]
    ) -> dict[str, NDArray[np.float64]]:
        """Denoise all units; out of memory starts the pair again at half the batch, which both directions share."""
        while True:
            try:
                return self._denoise(pair, text, seeds)
            except Exception as error:
                if not is_out_of_memory(error) or self.fixed_batch or self.batch == 1:
                    raise
            free_memory()
            self.batch = max(1, min(self.batch, seeds.size) // 2)
            logger.info(f"memory ran out; denoising {self.batch} at once from here on")

    def _batches(self, latents: list[torch.Tensor], units: Iterable[Unit]) -> Iterator[tuple[str, list[Unit]]]:
        """Units that can be denoised together: one network, one shape; each network's come one after the other."""

        def kind(unit: Unit) -> tuple[str, tuple[int, ...]]:
            return self.adapter.expert(self.timesteps[unit.timestep]), tuple(latents[unit.window].shape)

        for (expert, _), group in groupby(sorted(units, key=kind), key=kind):
            together = list(group)
            for first in range(0, len(together), self.batch):
                yield expert, together[first : first + self.batch]

    def _denoise(
        self, pair: EncodedPair, text: Mapping[str, torch.Tensor], seeds: NDArray[np.int64]
    ) -> dict[str, NDArray[np.float64]]:
        """Losses of all units in either direction, of the shape of `seeds`: windows, timesteps, draws."""
        noising = self.adapter.noising
        losses = {direction: np.zeros(seeds.shape) for direction in pair.latents}
        units = [Unit(*unit) for unit in np.ndindex(seeds.shape)]
        for expert, batch in self._batches(pair.latents["forward"], units):
            self.placement.bring(self.adapter.denoisers[expert])
            noise = torch.cat([seeded_noise(int(seeds[unit]), pair.latents["forward"][unit.window]) for unit in batch])
            timesteps = torch.tensor(
                [self.timesteps[unit.timestep] for unit in batch], dtype=torch.float32, device=noise.device
            )
            for direction, windows in pair.latents.items():
                clean = torch.cat([windows[unit.window] for unit in batch])
                noisy = noising.add_noise(clean, noise, timesteps)
                prediction = self.adapter.predict(noisy, timesteps, text)
                if self.settings.target == "noise":
                    error = noising.as_noise(prediction, noisy, timesteps) - noise
                else:
                    error = prediction - noising.target(clean, noise, timesteps)
                for row, unit in enumerate(batch):
                    counted = error[row, :, pair.skipped[unit.window] :]
                    losses[direction][unit] = float(counted.double().square().mean())
        return losses


def seeded_noise(seed: int, like: torch.Tensor) -> torch.Tensor:
    """Gaussian noise of a tensor's shape; made in main memory in float32, so that every device gets the same."""
    generator = torch.Generator("cpu").manual_seed(seed)
    return torch.randn(like.shape, generator=generator, dtype=torch.float32).to(like.device)

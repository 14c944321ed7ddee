"""The protocol on a loaded model: a pair of clips in, its denoising losses out.

Each file is decoded once and each of its windows encoded once. All noisy clips of a pair (windows, timesteps, draws)
then go through the network in batches. A batch is denoised for the forward clip and for its reversal with the same
noise, the same caption and the same composition, so that equal clips have equal losses to the last bit and exchanging
the two files exchanges their losses.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import torch

from lmms_eval_tasks.models.video_diffusion.adapter import Adapter
from lmms_eval_tasks.models.video_diffusion.frames import ClipFile, UnreadableClip, to_pixels
from lmms_eval_tasks.models.video_diffusion.placement import Placement, free_memory, is_out_of_memory
from lmms_eval_tasks.models.video_diffusion.settings import Settings
from lmms_eval_tasks.utils.denoising.protocol import (
    Plan,
    ShortClip,
    available_frames,
    centred_positions,
    choose_timesteps,
    combine_losses,
    leading_positions,
    noise_seed,
    plan_windows,
)
from lmms_eval_tasks.utils.denoising.response import (
    DenoisingResponse,
    Directed,
    FramesRecord,
    ItemError,
    WindowRecord,
    settings_digest,
)

FIRST_BATCH = 20
UNEQUAL_FRAMES = 2
UNEQUAL_PART = 0.05

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pair:
    """A clip, its reversal and the forward clip's caption."""

    item_id: str
    forward: Path
    backward: Path
    caption: str


@dataclass(frozen=True)
class Unit:
    """One noisy clip: a window at a timestep with one draw of noise."""

    window: int
    timestep: int
    draw: int


class Unscored(Exception):
    """A pair cannot be measured; `kind` is a word for programs and the text a sentence for people."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


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
        settings: Settings,
        placement: Placement,
        batch: int | None = None,
        versions: Mapping[str, str] | None = None,
    ) -> None:
        self.adapter, self.settings, self.placement = adapter, settings, placement
        self.fixed_batch = batch is not None
        self.batch = batch or FIRST_BATCH
        self.versions = dict(versions or {})
        self.timesteps = choose_timesteps(
            adapter.noising.process,
            settings.protocol.spacing,
            settings.protocol.steps,
            settings.family.train_shift,
        )
        self.facts = {
            **settings.as_json(),
            "predicts": adapter.noising.predicts,
            "boundary": adapter.boundary,
            "parameters": sum(part.numel() for net in adapter.denoisers.values() for part in net.parameters()),
        }
        self.digest = settings_digest(self.facts)
        self._texts: dict[str, dict[str, torch.Tensor]] = {}

    def shown_caption(self, caption: str) -> str:
        """The text that the model reads for a caption: itself, or nothing under ``prompt=null``."""
        return "" if self.settings.prompt == "null" else caption

    def encode_captions(self, captions: Iterable[str]) -> None:
        """Encode captions that were not encoded before, then let the text encoders leave the device.

        They are kept in main memory: about 4 MB each with the largest text encoders in bfloat16.
        """
        wanted = {self.shown_caption(caption) for caption in captions} - self._texts.keys()
        if self.settings.prompt == "forward":
            wanted.discard("")
        if not wanted:
            return
        self.placement.bring(*self.adapter.text_encoders)
        with torch.no_grad():
            for caption in sorted(wanted):
                encoded = self.adapter.encode_text(caption, self.placement.device)
                self._texts[caption] = {name: tensor.cpu() for name, tensor in encoded.items()}
        self.placement.send_away(*self.adapter.text_encoders)

    def measure(self, pair: Pair) -> DenoisingResponse:
        """The losses of a pair, or why there are none; never raises because of a pair."""
        try:
            with torch.no_grad():
                return self._measure(pair)
        except Unscored as error:
            return self.refuse(pair.item_id, error.kind, str(error))
        except UnreadableClip as error:
            return self.refuse(pair.item_id, "unreadable_clip", str(error))
        except ShortClip as error:
            return self.refuse(pair.item_id, "short_clip", str(error))
        except Exception as error:
            free_memory()
            if is_out_of_memory(error):
                return self.refuse(pair.item_id, "out_of_memory", self._out_of_memory_advice())
            logger.exception(f"{pair.item_id} could not be measured")
            return self.refuse(pair.item_id, "failed", f"{type(error).__name__}: {error}")

    def refuse(self, item_id: str, kind: str, message: str) -> DenoisingResponse:
        """The answer about a pair that has no losses."""
        logger.warning(f"{item_id} is unscored: {message}")
        return DenoisingResponse(
            item_id=item_id,
            error=ItemError(kind=kind, message=message),
            settings=self.facts,
            settings_digest=self.digest,
            versions=self.versions,
        )

    def _out_of_memory_advice(self) -> str:
        if self.fixed_batch and self.batch > 1:
            return f"Memory ran out at batch={self.batch}; give a smaller number, or batch=auto."
        return "Memory ran out at batch 1; give offload=true (or offload=layers), tiling=true, or a smaller size."

    def _measure(self, pair: Pair) -> DenoisingResponse:
        caption = self.shown_caption(pair.caption)
        if not caption and self.settings.prompt == "forward":
            raise Unscored("no_caption", f"Expected a caption for {pair.item_id}, but got none; or run prompt=null.")
        self.encode_captions([pair.caption])
        plan, latents, shown = self._encode({"forward": ClipFile(pair.forward), "backward": ClipFile(pair.backward)})
        text = {name: tensor.to(self.placement.device) for name, tensor in self._texts[caption].items()}
        units = [
            Unit(window, timestep, draw)
            for window in range(len(plan.windows))
            for timestep in range(len(self.timesteps))
            for draw in range(self.settings.protocol.draws)
        ]
        found = self._denoise_within_memory(pair.item_id, plan, latents, text, units)
        losses = {direction: self._tabulate(plan, values) for direction, values in found.items()}
        counted = [
            int(latent.shape[2]) - self._skipped(plan, window, latent)
            for window, latent in enumerate(latents["forward"])
        ]
        rule = self.settings.protocol.combine
        return DenoisingResponse(
            item_id=pair.item_id,
            loss=Directed(**{name: combine_losses(table, counted, rule) for name, table in losses.items()}),
            losses=Directed(**losses),
            timesteps=list(self.timesteps),
            windows=[
                WindowRecord(
                    start=window.start,
                    stop=window.stop,
                    borrowed=window.borrowed,
                    skipped=window.skipped,
                    latents=latent_frames,
                )
                for window, latent_frames in zip(plan.windows, counted, strict=True)
            ],
            seeds=[
                [
                    [
                        self._seed(pair.item_id, Unit(window, timestep, draw))
                        for draw in range(self.settings.protocol.draws)
                    ]
                    for timestep in range(len(self.timesteps))
                ]
                for window in range(len(plan.windows))
            ],
            frames=shown,
            settings=self.facts,
            settings_digest=self.digest,
            versions=self.versions,
        )

    def _encode(self, files: Mapping[str, ClipFile]) -> tuple[Plan, dict[str, list[torch.Tensor]], FramesRecord]:
        """Decode both files and encode their windows."""
        forward, backward = files["forward"], files["backward"]
        most = max(forward.frames, backward.frames)
        if abs(forward.frames - backward.frames) > max(UNEQUAL_FRAMES, UNEQUAL_PART * most):
            raise Unscored(
                "unequal_clips",
                f"Expected {forward.path.name} and {backward.path.name} to be one clip and its reversal, but they have "
                f"{forward.frames} and {backward.frames} frames.",
            )
        settings = self.settings
        height, width = settings.size_for(*max((file.height, file.width) for file in files.values()))
        centred = settings.protocol.anchor == "centre"
        # One rate for both, so that files whose headers differ a little still show the same pictures.
        rate = (forward.fps + backward.fps) / 2
        steps = {name: (rate if centred else file.fps) / settings.fps for name, file in files.items()}
        leading = {name: leading_positions(file.frames, steps[name]) for name, file in files.items()}
        available = min(
            available_frames(file.frames, steps[name]) if centred else len(leading[name])
            for name, file in files.items()
        )
        plan = plan_windows(available, settings.frames, self.adapter.temporal_compression, settings.protocol.windows)
        latents = {}
        for name, file in files.items():
            chosen = centred_positions(file.frames, steps[name], plan.used) if centred else leading[name]
            latents[name] = self._encode_windows(file.read(chosen[: plan.used], height, width), plan)
        shown = FramesRecord(
            forward=forward.frames,
            backward=backward.frames,
            file_fps=forward.fps,
            used=plan.used,
            fps=settings.fps,
            height=height,
            width=width,
        )
        return plan, latents, shown

    def _encode_windows(self, frames: torch.Tensor, plan: Plan) -> list[torch.Tensor]:
        self.placement.bring(self.adapter.vae)
        return [
            self.adapter.encode_frames(to_pixels(frames[window.start : window.stop], self.placement.device))
            for window in plan.windows
        ]

    def _skipped(self, plan: Plan, window: int, latent: torch.Tensor) -> int:
        """Latent frames of a window that stay out of the loss: what saw borrowed frames, and the family's padding."""
        own = plan.windows[window]
        latent_frames = 1 + (own.stop - own.start - 1) // self.adapter.temporal_compression
        padded = int(latent.shape[2]) - latent_frames
        if padded != self.adapter.padded_latents(latent_frames):
            raise RuntimeError(
                f"Expected {latent_frames + self.adapter.padded_latents(latent_frames)} latent frames for "
                f"{own.stop - own.start} frames, but the VAE gave {latent.shape[2]}."
            )
        return padded + own.skipped

    def _seed(self, item_id: str, unit: Unit) -> int:
        timestep = 0 if self.settings.protocol.shared_noise else unit.timestep
        return noise_seed(self.settings.seed, item_id, unit.window, timestep, unit.draw)

    def _noise(self, item_id: str, unit: Unit, like: torch.Tensor) -> torch.Tensor:
        """Noise of one unit; made in main memory in float32, so that every device gets the same."""
        generator = torch.Generator("cpu").manual_seed(self._seed(item_id, unit))
        return torch.randn(like.shape, generator=generator, dtype=torch.float32).to(like.device)

    def _denoise_within_memory(
        self,
        item_id: str,
        plan: Plan,
        latents: Mapping[str, list[torch.Tensor]],
        text: Mapping[str, torch.Tensor],
        units: list[Unit],
    ) -> dict[str, dict[Unit, float]]:
        """Denoise all units; out of memory starts the pair again at half the batch, which both directions share."""
        while True:
            try:
                return self._denoise(item_id, plan, latents, text, units)
            except Exception as error:
                if not is_out_of_memory(error) or self.fixed_batch or self.batch == 1:
                    raise
            free_memory()
            self.batch = max(1, min(self.batch, len(units)) // 2)
            logger.info(f"memory ran out; denoising {self.batch} at once from here on")

    def _batches(self, latents: list[torch.Tensor], units: list[Unit]) -> Iterator[tuple[str, list[Unit]]]:
        """Units that can be denoised together: one network, one shape; each network's come one after the other."""

        def kind(unit: Unit) -> tuple[str, tuple[int, ...]]:
            return self.adapter.expert(self.timesteps[unit.timestep]), tuple(latents[unit.window].shape)

        for (expert, _), group in groupby(sorted(units, key=kind), key=kind):
            together = list(group)
            for first in range(0, len(together), self.batch):
                yield expert, together[first : first + self.batch]

    def _denoise(
        self,
        item_id: str,
        plan: Plan,
        latents: Mapping[str, list[torch.Tensor]],
        text: Mapping[str, torch.Tensor],
        units: list[Unit],
    ) -> dict[str, dict[Unit, float]]:
        noising = self.adapter.noising
        found: dict[str, dict[Unit, float]] = {direction: {} for direction in latents}
        for expert, batch in self._batches(latents["forward"], units):
            self.placement.bring(self.adapter.denoisers[expert])
            noise = torch.cat([self._noise(item_id, unit, latents["forward"][unit.window]) for unit in batch])
            timesteps = torch.tensor(
                [self.timesteps[unit.timestep] for unit in batch], dtype=torch.float32, device=noise.device
            )
            for direction, windows in latents.items():
                clean = torch.cat([windows[unit.window] for unit in batch])
                noisy = noising.add_noise(clean, noise, timesteps)
                said = self.adapter.predict(noisy, timesteps, text)
                if self.settings.target == "noise":
                    error = noising.as_noise(said, noisy, timesteps) - noise
                else:
                    error = said - noising.target(clean, noise, timesteps)
                for row, unit in enumerate(batch):
                    skipped = self._skipped(plan, unit.window, windows[unit.window])
                    found[direction][unit] = float(error[row, :, skipped:].double().square().mean())
        return found

    def _tabulate(self, plan: Plan, found: Mapping[Unit, float]) -> list[list[float]]:
        """Losses by window and timestep, averaged over draws."""
        draws = self.settings.protocol.draws
        return [
            [
                sum(found[Unit(window, timestep, draw)] for draw in range(draws)) / draws
                for timestep in range(len(self.timesteps))
            ]
            for window in range(len(plan.windows))
        ]

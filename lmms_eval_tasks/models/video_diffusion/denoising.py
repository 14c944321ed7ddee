"""From an item's clips to their denoising losses: decoded, encoded and denoised, with answers kept on disk."""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from lmms_eval_tasks.models.base import Work, cause_of, free_memory, is_out_of_memory
from lmms_eval_tasks.models.clip_reading import OpenClip, Reading
from lmms_eval_tasks.models.video_diffusion.protocol import (
    ShortClip,
    Window,
    available_frames,
    centred_positions,
    choose_timesteps,
    leading_positions,
    noise_seed,
    plan_windows,
)
from lmms_eval_tasks.models.video_diffusion.settings import DenoisingSettings
from lmms_eval_tasks.utils.answers.losses import (
    ClipLosses,
    DenoisingResponse,
    Directed,
    FramesRecord,
    ItemError,
    WindowRecord,
    combine_by_timestep,
    combine_losses,
    read_clip_losses,
    read_denoising,
    settings_digest,
)
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm
from lmms_eval_tasks.utils.core.files import file_sha256
from lmms_eval_tasks.utils.core.store import KeptValues
from lmms_eval_tasks.utils.data.release import UnreadableClip

if TYPE_CHECKING:
    from lmms_eval_tasks.models.video_diffusion.adapters import Adapter

Answer = DenoisingResponse | ClipLosses

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class AskedClips:
    item_id: str
    clips: tuple[Path, ...]
    caption: str
    noise: str
    form: AnswerForm

    @classmethod
    def pair(cls, item_id: str, forward: Path, backward: Path, caption: str) -> AskedClips:
        """A clip, its reversal and the forward clip's caption, with noise of their own."""
        return cls(item_id, (forward, backward), caption, item_id, AnswerForm.LOSSES)

    @classmethod
    def of_group(cls, item_id: str, group_id: str, clips: tuple[Path, ...]) -> AskedClips:
        """Clips without a caption, with the noise of all clips of their group."""
        return cls(item_id, clips, "", group_id, AnswerForm.CLIP_LOSSES)

    def read(self, text: object) -> Answer | None:
        if self.form is AnswerForm.CLIP_LOSSES:
            return read_clip_losses(text, len(self.clips))
        answer = read_denoising(text)
        return answer if answer is not None and answer.item_id == self.item_id else None


class AnswerStore:
    """Keeps answers below a folder for each form and settings; several processes may share it."""

    def __init__(self, root: Path | None, digests: Mapping[AnswerForm, str]) -> None:
        self.root, self._digests = root, digests
        self._values = {form: KeptValues(root / name) for form, name in digests.items()} if root else {}

    def _key(self, asked: AskedClips) -> str | None:
        """Return the key of an answer, made of settings, item, noise, caption and the content of the clips."""
        if self.root is None:
            return None
        try:
            clips = [file_sha256(clip) for clip in asked.clips]
        except OSError:
            return None
        named = [self._digests[asked.form], asked.form.value, asked.item_id, asked.noise, asked.caption, *clips]
        return hashlib.sha256(json.dumps(named).encode()).hexdigest()

    def get(self, asked: AskedClips) -> Answer | None:
        """The answer kept about clips; None where there is none, or it cannot be read."""
        key = self._key(asked)
        kept = None if key is None else self._values[asked.form].find(key)
        return asked.read(kept.get("answer")) if kept else None

    def put(self, asked: AskedClips, answer: Answer) -> None:
        if (key := self._key(asked)) is None:
            return
        try:
            self._values[asked.form].keep(key, {"item": asked.item_id, "answer": answer.to_json()})
        except OSError as error:
            logger.warning(f"the answer about {asked.item_id} cannot be kept and would be measured again: {error}")

    def close(self) -> None:
        for values in self._values.values():
            try:
                values.close()
            except OSError as error:
                logger.warning(f"the last answers may not be on the disk: {error}")


class Placement:
    """Brings the part that is needed to the device."""

    def __init__(self, device: torch.device, offload: str = "false") -> None:
        self.device, self.offload = device, offload
        self._here: list[torch.nn.Module] = []
        self._hooked: list[torch.nn.Module] = []

    def bring(self, *modules: torch.nn.Module) -> None:
        """Make some modules ready to be called; with offload=true, all others leave the device first."""
        if self.offload == "layers":
            from accelerate import cpu_offload

            for module in modules:
                if module not in self._hooked:
                    cpu_offload(module, execution_device=self.device)
                    self._hooked.append(module)
            return
        if self.offload == "true":
            self.send_away(*(module for module in self._here if module not in modules))
        for module in modules:
            if module not in self._here:
                module.to(self.device)
                self._here.append(module)

    def send_away(self, *modules: torch.nn.Module) -> None:
        """Move modules that are no longer needed to main memory; layers that come one by one are there already."""
        for module in modules:
            if module in self._here:
                module.to("cpu")
                self._here.remove(module)
        free_memory()


FRAMES_AT_ONCE = 16
UNEQUAL_FRAMES = 2
UNEQUAL_PART = 0.05


class ClipFile:
    def __init__(self, path: Path, room: Reading[Any] | None = None) -> None:
        self.path = path
        if not path.is_file():
            raise UnreadableClip(f"Expected a clip at {path}, but there is no such file.")
        self._reader = OpenClip(path, room)
        self.frames, self.fps = self._reader.count, self._reader.fps
        self.height, self.width = (int(size) for size in self._reader.read([0]).shape[1:3])
        if self.fps <= 0:
            raise UnreadableClip(f"Expected {path} to have a frame rate above 0, but got {self.fps}.")

    def read(self, positions: Sequence[float], height: int, width: int) -> torch.Tensor:
        parts = []
        for first in range(0, len(positions), FRAMES_AT_ONCE):
            some = positions[first : first + FRAMES_AT_ONCE]
            numbers = sorted({number for position in some for number in (math.floor(position), math.ceil(position))})
            pictures = torch.from_numpy(self._reader.read(numbers))
            low = pictures[[numbers.index(math.floor(position)) for position in some]].float()
            high = pictures[[numbers.index(math.ceil(position)) for position in some]].float()
            parts.append(cover((low + high).div_(2).permute(0, 3, 1, 2), height, width))
        return torch.cat(parts)


def cover(frames: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Scale frames (n, 3, h, w) of 0-255 until they cover a size, keep the middle, and round to uint8."""
    scale = max(height / frames.shape[2], width / frames.shape[3])
    size = (max(height, round(frames.shape[2] * scale)), max(width, round(frames.shape[3] * scale)))
    if size != tuple(frames.shape[2:]):
        frames = torch.nn.functional.interpolate(frames, size=size, mode="bicubic", antialias=True)
    top, left = (size[0] - height) // 2, (size[1] - width) // 2
    return frames[:, :, top : top + height, left : left + width].round().clamp(0, 255).to(torch.uint8)


def to_pixels(frames: torch.Tensor, device: torch.device) -> torch.Tensor:
    """uint8 frames (n, 3, h, w) to a window (1, 3, n, h, w) of -1 to 1."""
    return frames.to(device).float().div(127.5).sub(1).transpose(0, 1)[None]


Latents = list[list[torch.Tensor]]
"""``[clip][window]``, as the network takes them."""


class UnequalClips(ValueError):
    """The losses of files cannot be compared: two are not one clip and its reversal, or their shapes differ."""


@dataclass(frozen=True)
class DecodedClips:
    """Clips as they are encoded, all cut alike."""

    windows: Sequence[Window]
    pictures: Sequence[torch.Tensor]
    files: list[int]
    file_fps: float


def check_reversal(files: Sequence[ClipFile]) -> None:
    """Refuse two files that are not one clip and its reversal."""
    forward, backward = files
    most = max(forward.frames, backward.frames)
    if abs(forward.frames - backward.frames) > max(UNEQUAL_FRAMES, UNEQUAL_PART * most):
        raise UnequalClips(
            f"Expected {forward.path.name} and {backward.path.name} to be one clip and its reversal, but they have "
            f"{forward.frames} and {backward.frames} frames."
        )


def check_same_shape(files: Sequence[ClipFile]) -> None:
    shapes = [f"{file.frames} frames of {file.width}x{file.height} at {file.fps:.6g} a second" for file in files]
    if len(set(shapes)) > 1:
        found = ", ".join(f"{file.path.name} has {shape}" for file, shape in zip(files, shapes, strict=True))
        raise UnequalClips(f"Expected clips of the same frames, size and rate, but {found}.")


def decode_clips(
    files: Sequence[ClipFile], settings: DenoisingSettings, compression: int, room: Reading[Any] | None = None
) -> DecodedClips:
    height, width = settings.size_for(*max((file.height, file.width) for file in files))
    centred = settings.protocol.anchor == "centre"
    # One rate for all, so that files whose headers differ a little still show the same pictures.
    rate = sum(file.fps for file in files) / len(files)
    steps = [(rate if centred else file.fps) / settings.fps for file in files]
    leading = [leading_positions(file.frames, step) for file, step in zip(files, steps, strict=True)]
    available = min(
        available_frames(file.frames, step) if centred else len(lead)
        for file, step, lead in zip(files, steps, leading, strict=True)
    )
    windows = plan_windows(available, settings.frames, compression, settings.protocol.windows)
    used = windows[-1].stop
    pictures = []
    for file, step, lead in zip(files, steps, leading, strict=True):
        positions = centred_positions(file.frames, step, used) if centred else lead
        pictures.append(file.read(positions[:used], height, width))
    if room is not None:
        room.settle(sum(one.nbytes for one in pictures))
    return DecodedClips(windows, pictures, [file.frames for file in files], files[0].fps)


def encode_clips(clips: DecodedClips, adapter: Adapter, placement: Placement) -> tuple[list[WindowRecord], Latents]:
    """The windows that all clips have, and of each clip their latents."""
    placement.bring(adapter.pipe.vae)
    latents = [
        [
            adapter.encode_frames(to_pixels(pictures[window.start : window.stop], placement.device))
            for window in clips.windows
        ]
        for pictures in clips.pictures
    ]
    # All have the same windows, and a model encodes windows of one length to one number of latent frames.
    records = []
    for window, part in zip(clips.windows, latents[0], strict=True):
        frames = window.stop - window.start
        own = 1 + (frames - 1) // adapter.temporal_compression
        whole = own + adapter.padded_latents(own)
        if part.shape[2] != whole:
            raise RuntimeError(f"Expected {whole} latent frames for {frames} frames, but the VAE gave {part.shape[2]}.")
        records.append(WindowRecord(**asdict(window), latents=own - window.skipped))
    return records, latents


FIRST_BATCH = 20
ERROR_KINDS = {UnreadableClip: "unreadable_clip", UnequalClips: "unequal_clips", ShortClip: "short_clip"}
"""What can be wrong with an item's files, as an answer's error names it."""


class Unit(NamedTuple):
    """One noisy clip: a window at a timestep with one draw of noise."""

    window: int
    timestep: int
    draw: int


class Engine:
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
        # Clips that are compared without a caption are asked with the empty text.
        by_form = {
            AnswerForm.LOSSES: facts,
            AnswerForm.CLIP_LOSSES: {**facts, "prompt": "null", "answers": AnswerForm.CLIP_LOSSES.value},
        }
        # A model that is given another name keeps its answers.
        self.digests = {form: settings_digest(known) for form, known in by_form.items()}
        self.settings_of = {form: {**known, "model": settings.name} for form, known in by_form.items()}
        self.work = Work()
        self._texts: dict[str, dict[str, torch.Tensor]] = {}
        self._traced: set[str] = set()

    def shown_caption(self, caption: str) -> str:
        """The text that the model reads for a caption: itself, or nothing under ``prompt=null``."""
        return "" if self.settings.prompt == "null" else caption

    def lacks_caption(self, asked: AskedClips) -> bool:
        """Whether a pair cannot be asked, for its caption is to be read and it has none."""
        return asked.form is AnswerForm.LOSSES and self.settings.prompt == "forward" and not asked.caption

    def encode_captions(self, items: Iterable[AskedClips]) -> None:
        """Encode captions that were not encoded before, then move the text encoders off the device."""
        wanted = {self.shown_caption(asked.caption) for asked in items if not self.lacks_caption(asked)}
        new = wanted - self._texts.keys()
        if not new:
            return
        self.placement.bring(*self.adapter.text_encoders)
        with torch.no_grad():
            for caption in sorted(new):
                encoded = self.adapter.encode_text(caption, self.placement.device)
                self._texts[caption] = {name: tensor.cpu() for name, tensor in encoded.items()}
        self.placement.send_away(*self.adapter.text_encoders)

    def read_clips(self, asked: AskedClips, room: Reading[Any] | None = None) -> DecodedClips:
        """The frames of an item's clips; for several threads at once."""
        files = [ClipFile(clip, room) for clip in asked.clips]
        check = check_same_shape if asked.form is AnswerForm.CLIP_LOSSES else check_reversal
        check(files)
        return decode_clips(files, self.settings, self.adapter.temporal_compression, room)

    def measure(self, asked: AskedClips, decoded: Callable[[], DecodedClips] | None = None) -> Answer:
        """The losses of an item's clips, or why there are none; never raises because of an item."""
        if self.lacks_caption(asked):
            message = f"Expected a caption for {asked.item_id}, but got none; or run prompt=null."
            return self.refuse(asked, "no_caption", message)
        try:
            with torch.no_grad():
                return self._measure(asked, decoded or (lambda: self.read_clips(asked)))
        except tuple(ERROR_KINDS) as error:
            return self.refuse(asked, ERROR_KINDS.get(type(error), "failed"), str(error))
        except Exception as error:
            free_memory()
            if is_out_of_memory(error):
                advice = "batch 1; give offload=true (or offload=layers), tiling=true, or a smaller size."
                if self.fixed_batch and self.batch > 1:
                    advice = f"batch={self.batch}; give a smaller number, or batch=auto."
                return self.refuse(asked, "out_of_memory", f"Memory ran out at {advice}")
            message = f"{type(error).__name__}: {error}"
            if (cause := cause_of(message, asked.item_id)) not in self._traced:
                self._traced.add(cause)
                logger.exception(f"{asked.item_id} could not be measured")
            return self.refuse(asked, "failed", message)

    def refuse(self, asked: AskedClips, kind: str, message: str) -> Answer:
        logger.warning(f"{asked.item_id} is unscored: {message}")
        known = {**self._origin(asked), "error": ItemError(kind=kind, message=message)}
        if asked.form is AnswerForm.CLIP_LOSSES:
            return ClipLosses(**known)
        return DenoisingResponse(item_id=asked.item_id, versions=self.versions, **known)

    def _origin(self, asked: AskedClips) -> dict[str, Any]:
        return {"settings": self.settings_of[asked.form], "settings_digest": self.digests[asked.form]}

    def _measure(self, asked: AskedClips, decoded: Callable[[], DecodedClips]) -> Answer:
        self.encode_captions([asked])
        clips = decoded()
        with self.work.measure("encoding", self.placement.device):
            windows, latents = encode_clips(clips, self.adapter, self.placement)
        counted = [window.latents for window in windows]
        caption = self._texts[self.shown_caption(asked.caption)]
        text = {name: tensor.to(self.placement.device) for name, tensor in caption.items()}
        shape = (len(windows), len(self.timesteps), self.settings.protocol.draws)
        seeds = np.zeros(shape, dtype=np.int64)
        for window, timestep, draw in np.ndindex(shape):
            shared = 0 if self.settings.protocol.shared_noise else timestep
            seeds[window, timestep, draw] = noise_seed(self.settings.seed, asked.noise, window, shared, draw)
        with self.work.measure("denoising", self.placement.device):
            losses = self._denoise_within_memory(latents, counted, text, seeds)
        tables = [[[sum(draws) / len(draws) for draws in row] for row in one.tolist()] for one in losses]
        rule = self.settings.protocol.combine
        whole = [combine_losses(table, counted, rule) for table in tables]
        known = {**self._origin(asked), "timesteps": list(self.timesteps)}
        used = windows[-1].stop
        height, width = clips.pictures[0].shape[2:]
        if asked.form is AnswerForm.CLIP_LOSSES:
            details: dict[str, Any] = {
                "windows": [window.model_dump() for window in windows],
                "seeds": seeds.tolist(),
                "frames": used,
                "size": [height, width],
                "versions": self.versions,
            }
            curves = [combine_by_timestep(table, counted, rule) for table in tables]
            return ClipLosses(losses=whole, curves=curves, details=details, **known)
        return DenoisingResponse(
            item_id=asked.item_id,
            loss=Directed(forward=whole[0], backward=whole[1]),
            losses=Directed(forward=tables[0], backward=tables[1]),
            windows=windows,
            seeds=seeds.tolist(),
            frames=FramesRecord(
                forward=clips.files[0],
                backward=clips.files[1],
                file_fps=clips.file_fps,
                used=used,
                fps=self.settings.fps,
                height=height,
                width=width,
            ),
            versions=self.versions,
            **known,
        )

    def _denoise_within_memory(
        self, latents: Latents, counted: Sequence[int], text: Mapping[str, torch.Tensor], seeds: NDArray[np.int64]
    ) -> list[NDArray[np.float64]]:
        """Denoise all units; out of memory starts the item again at half the batch, which all of its clips share."""
        while True:
            try:
                return self._denoise(latents, counted, text, seeds)
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
        self, latents: Latents, counted: Sequence[int], text: Mapping[str, torch.Tensor], seeds: NDArray[np.int64]
    ) -> list[NDArray[np.float64]]:
        """Losses of all units of each clip, of the shape of `seeds`: windows, timesteps, draws."""
        noising = self.adapter.noising
        losses = [np.zeros(seeds.shape) for _ in latents]
        # They stay where they are computed, so that nothing waits for the device before the end.
        measured: dict[tuple[int, Unit], torch.Tensor] = {}
        first = latents[0]
        units = [Unit(*unit) for unit in np.ndindex(seeds.shape)]
        for expert, batch in self._batches(first, units):
            self.placement.bring(self.adapter.denoisers[expert])
            noise = draw_noise([int(seeds[unit]) for unit in batch], first[batch[0].window])
            timesteps = torch.tensor(
                [self.timesteps[unit.timestep] for unit in batch], dtype=torch.float32, device=noise.device
            )
            for clip, windows in enumerate(latents):
                clean = torch.cat([windows[unit.window] for unit in batch])
                noisy = noising.add_noise(clean, noise, timesteps)
                prediction = self.adapter.predict(noisy, timesteps, text)
                if self.settings.target == "noise":
                    error = noising.as_noise(prediction, noisy, timesteps) - noise
                else:
                    error = prediction - noising.target(clean, noise, timesteps)
                for row, unit in enumerate(batch):
                    own = error[row, :, error.shape[2] - counted[unit.window] :]
                    measured[clip, unit] = own.double().square().mean()
        for (clip, unit), loss in zip(measured, torch.stack([*measured.values()]).tolist(), strict=True):
            losses[clip][unit] = loss
        return losses


def draw_noise(seeds: Sequence[int], like: torch.Tensor) -> torch.Tensor:
    """Gaussian noise for a batch, the noise of each seed by itself, in float32."""
    noise = torch.empty((len(seeds), *like.shape[1:]), dtype=torch.float32, pin_memory=like.device.type == "cuda")
    for row, seed in enumerate(seeds):
        torch.randn(like.shape, generator=torch.Generator("cpu").manual_seed(seed), out=noise[row : row + 1])
    return noise.to(like.device, non_blocking=True)

"""Denoising losses of an item's clips on a loaded model, with answers on disk from which a killed run goes on."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from lmms_eval_tasks.models.base import Work, cause_of, free_memory, is_out_of_memory
from lmms_eval_tasks.models.clip_reading import ClipRoom
from lmms_eval_tasks.models.video_diffusion.adapters import Adapter, draw_noise
from lmms_eval_tasks.models.video_diffusion.latents import (
    ClipFile,
    DecodedClips,
    EncodedClips,
    Placement,
    UnequalClips,
    check_reversal,
    check_same_shape,
    decode_clips,
    encode_clips,
)
from lmms_eval_tasks.models.video_diffusion.protocol import ShortClip, choose_timesteps, noise_seed
from lmms_eval_tasks.models.video_diffusion.settings import DenoisingSettings
from lmms_eval_tasks.utils.answers.losses import (
    ClipLosses,
    DenoisingResponse,
    Directed,
    FramesRecord,
    ItemError,
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

Answer = DenoisingResponse | ClipLosses


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

    def read(self, text: str) -> Answer | None:
        if self.form is AnswerForm.CLIP_LOSSES:
            return read_clip_losses(text, len(self.clips))
        answer = read_denoising(text)
        return answer if answer is not None and answer.item_id == self.item_id else None


class AnswerStore:
    """Keeps answers below a folder for each form and settings; several processes may share it."""

    def __init__(self, root: Path | None, digests: Mapping[AnswerForm, str]) -> None:
        self.root, self._digests = root, digests
        self._values = {form: KeptValues(root / name) for form, name in digests.items()} if root else {}
        self._known: dict[str, Any] = {}
        """Key to an answer's text; read when it is first asked for."""
        self._read: set[AnswerForm] = set()

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
        if key is None:
            return None
        if asked.form not in self._read:
            self._read.add(asked.form)
            self._known |= {name: value.get("answer") for name, value in self._values[asked.form].read().items()}
        text = self._known.get(key)
        return asked.read(text) if isinstance(text, str) else None

    def put(self, asked: AskedClips, answer: Answer) -> None:
        key = self._key(asked)
        if key is None:
            return
        text = answer.to_json()
        try:
            self._values[asked.form].keep(key, {"item": asked.item_id, "answer": text})
            self._known[key] = text
        except OSError as error:
            logger.warning(f"the answer about {asked.item_id} cannot be kept and would be measured again: {error}")

    def close(self) -> None:
        for values in self._values.values():
            try:
                values.close()
            except OSError as error:
                logger.warning(f"the last answers may not be on the disk: {error}")


FIRST_BATCH = 20
ERROR_KINDS = {UnreadableClip: "unreadable_clip", UnequalClips: "unequal_clips", ShortClip: "short_clip"}
"""What can be wrong with an item's files, as an answer's error names it."""

Table = list[list[float]]
"""The losses of a clip, ``[window][timestep]``."""

logger = logging.getLogger(__name__)


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

    def read_clips(self, asked: AskedClips, room: ClipRoom | None = None) -> DecodedClips:
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
                return self.refuse(asked, "out_of_memory", self._out_of_memory_advice())
            message = f"{type(error).__name__}: {error}"
            if (cause := cause_of(message, asked.item_id)) not in self._traced:
                self._traced.add(cause)
                logger.exception(f"{asked.item_id} could not be measured")
            return self.refuse(asked, "failed", message)

    def refuse(self, asked: AskedClips, kind: str, message: str) -> Answer:
        logger.warning(f"{asked.item_id} is unscored: {message}")
        error = ItemError(kind=kind, message=message)
        known: dict[str, Any] = {
            "error": error,
            "settings": self.settings_of[asked.form],
            "settings_digest": self.digests[asked.form],
        }
        if asked.form is AnswerForm.CLIP_LOSSES:
            return ClipLosses(**known)
        return DenoisingResponse(item_id=asked.item_id, versions=self.versions, **known)

    def _out_of_memory_advice(self) -> str:
        if self.fixed_batch and self.batch > 1:
            return f"Memory ran out at batch={self.batch}; give a smaller number, or batch=auto."
        return "Memory ran out at batch 1; give offload=true (or offload=layers), tiling=true, or a smaller size."

    def _measure(self, asked: AskedClips, decoded: Callable[[], DecodedClips]) -> Answer:
        self.encode_captions([asked])
        clips = decoded()
        with self.work.measure("encoding", self.placement.device):
            encoded = encode_clips(clips, self.adapter, self.placement)
        caption = self._texts[self.shown_caption(asked.caption)]
        text = {name: tensor.to(self.placement.device) for name, tensor in caption.items()}
        shape = (len(encoded.windows), len(self.timesteps), self.settings.protocol.draws)
        seeds = np.zeros(shape, dtype=np.int64)
        for unit in np.ndindex(shape):
            seeds[unit] = self._seed(asked.noise, Unit(*unit))
        with self.work.measure("denoising", self.placement.device):
            losses = self._denoise_within_memory(encoded, text, seeds)
        tables = [
            [[sum(draws) / len(draws) for draws in row] for row in unit_losses.tolist()] for unit_losses in losses
        ]
        answer = self._clip_losses if asked.form is AnswerForm.CLIP_LOSSES else self._pair_losses
        return answer(asked, encoded, tables, seeds.tolist())

    def _pair_losses(
        self, asked: AskedClips, encoded: EncodedClips, tables: Sequence[Table], seeds: list[list[list[int]]]
    ) -> DenoisingResponse:
        """The answer about a clip and its reversal, from the losses of each by window and timestep."""
        counted, rule = [window.latents for window in encoded.windows], self.settings.protocol.combine
        forward, backward = (combine_losses(table, counted, rule) for table in tables)
        return DenoisingResponse(
            item_id=asked.item_id,
            loss=Directed(forward=forward, backward=backward),
            losses=Directed(forward=tables[0], backward=tables[1]),
            timesteps=list(self.timesteps),
            windows=encoded.windows,
            seeds=seeds,
            frames=FramesRecord(
                forward=encoded.files[0],
                backward=encoded.files[1],
                file_fps=encoded.file_fps,
                used=encoded.used,
                fps=self.settings.fps,
                height=encoded.size[0],
                width=encoded.size[1],
            ),
            settings=self.settings_of[asked.form],
            settings_digest=self.digests[asked.form],
            versions=self.versions,
        )

    def _clip_losses(
        self, asked: AskedClips, encoded: EncodedClips, tables: Sequence[Table], seeds: list[list[list[int]]]
    ) -> ClipLosses:
        """The answer about the clips of an item, from the losses of each by window and timestep."""
        counted, rule = [window.latents for window in encoded.windows], self.settings.protocol.combine
        details: dict[str, Any] = {
            "windows": [window.model_dump() for window in encoded.windows],
            "seeds": seeds,
            "frames": encoded.used,
            "size": list(encoded.size),
            "versions": self.versions,
        }
        return ClipLosses(
            losses=[combine_losses(table, counted, rule) for table in tables],
            timesteps=list(self.timesteps),
            curves=[combine_by_timestep(table, counted, rule) for table in tables],
            settings=self.settings_of[asked.form],
            settings_digest=self.digests[asked.form],
            details=details,
        )

    def _seed(self, noise: str, unit: Unit) -> int:
        timestep = 0 if self.settings.protocol.shared_noise else unit.timestep
        return noise_seed(self.settings.seed, noise, unit.window, timestep, unit.draw)

    def _denoise_within_memory(
        self, clips: EncodedClips, text: Mapping[str, torch.Tensor], seeds: NDArray[np.int64]
    ) -> list[NDArray[np.float64]]:
        """Denoise all units; out of memory starts the item again at half the batch, which all of its clips share."""
        while True:
            try:
                return self._denoise(clips, text, seeds)
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
        self, clips: EncodedClips, text: Mapping[str, torch.Tensor], seeds: NDArray[np.int64]
    ) -> list[NDArray[np.float64]]:
        """Losses of all units of each clip, of the shape of `seeds`: windows, timesteps, draws."""
        noising = self.adapter.noising
        losses = [np.zeros(seeds.shape) for _ in clips.latents]
        measured: list[tuple[int, Unit]] = []
        # They stay where they are computed, so that nothing waits for the device before the end.
        on_device: list[torch.Tensor] = []
        first = clips.latents[0]
        units = [Unit(*unit) for unit in np.ndindex(seeds.shape)]
        for expert, batch in self._batches(first, units):
            self.placement.bring(self.adapter.denoisers[expert])
            noise = draw_noise([int(seeds[unit]) for unit in batch], first[batch[0].window])
            timesteps = torch.tensor(
                [self.timesteps[unit.timestep] for unit in batch], dtype=torch.float32, device=noise.device
            )
            for clip, windows in enumerate(clips.latents):
                clean = torch.cat([windows[unit.window] for unit in batch])
                noisy = noising.add_noise(clean, noise, timesteps)
                prediction = self.adapter.predict(noisy, timesteps, text)
                if self.settings.target == "noise":
                    error = noising.as_noise(prediction, noisy, timesteps) - noise
                else:
                    error = prediction - noising.target(clean, noise, timesteps)
                for row, unit in enumerate(batch):
                    counted = error[row, :, clips.skipped[unit.window] :]
                    on_device.append(counted.double().square().mean())
                    measured.append((clip, unit))
        for (clip, unit), loss in zip(measured, torch.stack(on_device).tolist(), strict=True):
            losses[clip][unit] = loss
        return losses

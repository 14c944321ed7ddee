"""What a model would be shown for items of a task: frames, tokens, positions and the prompt, before it is loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from lmms_eval_tasks.host.shown_inputs import (
    ProcessedBatch,
    ProcessedItem,
    WeightlessModel,
    build_adapter,
    default_checkpoint,
    find_items,
    prepare_to_show,
)
from lmms_eval_tasks.models.shared_prefix.positions import REFERENCE_TYPES, Positions, find_positions
from lmms_eval_tasks.sample.tiny_vlm import write_tiny_vlm
from lmms_eval_tasks.utils.data.frames import PyavFrames
from lmms_eval_tasks.utils.data.release import UnreadableClip

if TYPE_CHECKING:
    import numpy as np

SAMPLING = ("nframes", "fps", "max_frames")
"""How a message says which frames of a clip are to be taken, as qwen-vl-utils reads it."""
CLOSE = 0.01
"""By which share two rates may differ that are meant to be one."""


@dataclass(frozen=True, eq=False)
class ShownClip:
    """What is shown of one clip."""

    name: str
    count: int
    rate: float
    asked: str
    indices: Sequence[int]
    size: tuple[int, int]
    tokens: int
    library: str
    stated: float | None
    pictures: np.ndarray[Any, Any]
    faults: Sequence[str] = ()

    @property
    def times(self) -> list[float]:
        """The time of each frame, in seconds."""
        return [index / self.rate for index in self.indices] if self.rate > 0 else [0.0] * len(self.indices)


@dataclass(frozen=True, eq=False)
class ShownItem:
    """What a model is shown of one item."""

    item_id: str
    clips: Sequence[ShownClip]
    tokens: int
    prompt: str
    first_text: int | None
    reference: int | None


@dataclass(frozen=True, eq=False)
class ShownTask:
    """What a model is shown of a task."""

    task: str
    items: Sequence[ShownItem]
    together: int
    stands_in: str | None
    faults: Sequence[str]


def show_task(model: str, arguments: str, task: str, batch_size: int = 1, item: str | None = None) -> ShownTask:
    """Let a model of lmms-eval process items of a prepared task as a run does, without its weights."""
    asked = find_items(task, model, batch_size, item)
    checkpoint = default_checkpoint(model, arguments)
    stands_in = None
    with TemporaryDirectory() as folder, _quiet_transformers():
        if checkpoint is None or not _has_configuration(checkpoint):
            stands_in = checkpoint or "a checkpoint, of which none is named"
            family = "qwen3_vl" if "qwen3" in f"{model} {checkpoint}".lower() else "qwen2_5_vl"
            tiny = write_tiny_vlm(Path(folder), family=family)
            arguments = ",".join(part for part in (arguments, f"pretrained={tiny}") if part)
        adapter = build_adapter(model, arguments, len(asked.rows))
        prepare_to_show(adapter, asked)
        places = range(len(asked.rows))
        batch = adapter.process(asked, places)
        alone = [adapter.process(asked, [place]) for place in places] if len(places) > 1 else [batch]
    faults = [_explain(one) for one in alone if one.failure]
    if batch.failure and len(places) > 1 and not faults:
        faults = [f"{_explain(batch)} Each of these {len(places)} items alone can be shown: they cannot go together."]
    shown = alone if batch.failure else [ProcessedBatch([one], ()) for one in batch.items]
    items = [
        _read_item(adapter, item, own.items[0] if own.items else None)
        for one, own in zip(shown, alone, strict=True)
        for item in one.items
    ]
    return ShownTask(asked.name, items, 1 if batch.failure else len(places), stands_in, faults)


@contextmanager
def _quiet_transformers() -> Iterator[None]:
    """Without the warnings and progress bars of transformers, in a `with` block."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def _has_configuration(checkpoint: str) -> bool:
    from transformers import AutoConfig

    try:
        AutoConfig.from_pretrained(checkpoint)
    except (OSError, ValueError):
        return False
    return True


def _explain(batch: ProcessedBatch) -> str:
    """Why a batch cannot be processed, beside how many frames its clips have."""
    asked = []
    for video in (video for videos in batch.videos for video in videos):
        try:
            has = f"has {PyavFrames(Path(video['video'])).count}"
        except (UnreadableClip, OSError):
            has = "cannot be read"
        asked.append(f"{Path(video['video']).name}: {_sampling(video)} is asked for, and it {has}")
    frames = f" Frames of each clip: {'; '.join(asked)}." if asked else ""
    return f"{batch.failure}.{frames}".replace("..", ".")


def _sampling(video: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {video[name]:g}" for name in SAMPLING if name in video) or "all frames"


def _read_item(adapter: WeightlessModel, item: ProcessedItem, alone: ProcessedItem | None) -> ShownItem:
    inputs, network = item.inputs, adapter.network
    ids = inputs["input_ids"][0].tolist()
    pads = {network.config.image_token_id, network.config.video_token_id}
    shown = [place for place, token in enumerate(ids) if token in pads]
    positions: dict[Positions, int] = {}
    if shown:
        kind = network.config.model_type
        known = {name: value for name, value in inputs.items() if not name.startswith("pixel_values")}
        for whose in Positions if kind in REFERENCE_TYPES else (Positions.LIBRARY,):
            found = find_positions(network, known, whose)
            positions[whose] = int(found.reshape(-1, len(ids))[-1, shown[-1] + 1])
    return ShownItem(
        item.item_id,
        _read_clips(adapter, item, alone),
        len(ids),
        _render(adapter.processor.tokenizer, ids, pads),
        positions.get(Positions.LIBRARY),
        positions.get(Positions.REFERENCE),
    )


def _render(tokenizer: Any, ids: Sequence[int], pads: set[int]) -> str:
    """A prompt's text, with a run of the same placeholders as one of them and their number."""
    parts = []
    for pad, run in groupby(ids, key=lambda token: token if token in pads else None):
        tokens = list(run)
        parts.append(tokenizer.batch_decode([tokens if pad is None else [pad]])[0] + (f"*{len(tokens)}" if pad else ""))
    return "".join(parts)


def _read_clips(adapter: WeightlessModel, item: ProcessedItem, alone: ProcessedItem | None) -> list[ShownClip]:
    processor, start, clips = adapter.processor.video_processor, 0, []
    for number, (video, known) in enumerate(zip(item.videos, item.metadata, strict=True)):
        grid = item.inputs["video_grid_thw"][number].tolist()
        patches = grid[0] * grid[1] * grid[2]
        pictures = _draw(item.inputs["pixel_values_videos"][start : start + patches], grid, processor)
        start += patches
        seconds = item.inputs.get("second_per_grid_ts")
        indices = _indices(known)
        stated = None if seconds is None else processor.temporal_patch_size / float(seconds[number])
        given = known["fps"] * len(indices) / known["total_num_frames"]
        faults = _faults(video, len(indices), given, stated)
        if alone is not None and indices != (single := _indices(alone.metadata[number])):
            faults.append(f"alone it would be shown {len(single)} frames, {_sampling(alone.videos[number])}")
        indices += indices[-1:] * (len(pictures) - len(indices))
        clips.append(
            ShownClip(
                Path(video["video"]).name,
                int(known["total_num_frames"]),
                float(known["fps"]),
                _sampling(video),
                indices,
                (pictures.shape[2], pictures.shape[1]),
                patches // processor.merge_size**2,
                str(known.get("video_backend", "not known")),
                stated,
                pictures,
                faults,
            )
        )
    return clips


def _indices(known: Mapping[str, Any]) -> list[int]:
    return [int(index) for index in known["frames_indices"]]


def _faults(video: Mapping[str, Any], count: int, given: float, stated: float | None) -> list[str]:
    """Where a clip's frames are not as asked for, or not what the model's inputs state; rates are frames per second."""
    faults = []
    if "nframes" in video and count != video["nframes"]:
        faults.append(f"{video['nframes']:g} frames are asked for, and {count} are shown")
    if "fps" in video and abs(given - video["fps"]) > 0.05 * video["fps"]:
        faults.append(f"{video['fps']:g} frames a second are asked for, and {given:.2f} are shown")
    if stated is not None and abs(stated - given) > CLOSE * given:
        faults.append(f"the model's inputs state {stated:.2f} frames a second, and {given:.2f} are shown")
    return faults


def _draw(pixels: Any, grid: Sequence[int], processor: Any) -> np.ndarray[Any, Any]:
    """The frames that a processor of the Qwen-VL families has cut into patches.

    Args:
        pixels: float (patches, colours times frames times rows times columns of a patch).
        grid: Patches in time, height and width.
        processor: Its sizes, and how it scaled colours.

    Returns:
        uint8 (T, H, W, 3) RGB.

    Source: ``patchify`` of ``video_processing_qwen2_vl.py`` of transformers 5.24, which this undoes.
    """
    import torch

    side, merge, deep = processor.patch_size, processor.merge_size, processor.temporal_patch_size
    times, rows, columns = grid
    cut = pixels.float().reshape(times, rows // merge, columns // merge, merge, merge, 3, deep, side, side)
    frames = cut.permute(0, 6, 1, 3, 7, 2, 4, 8, 5).reshape(times * deep, rows * side, columns * side, 3)
    colours = frames * torch.tensor(processor.image_std) + torch.tensor(processor.image_mean)
    whole: np.ndarray[Any, Any] = (colours * 255).round().clamp(0, 255).to(torch.uint8).numpy()
    return whole

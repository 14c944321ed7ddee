"""Frames, tokens, positions and prompts that a model would be shown, as the output of `check` and a contact sheet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata
from io import BytesIO
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from lmms_eval_tasks.host.model.identity import ModelFacts
from lmms_eval_tasks.host.tasks.running import state_of
from lmms_eval_tasks.models.shared_prefix.inputs import REFERENCE_TYPES, find_positions
from lmms_eval_tasks.preview.inputs import (
    ProcessedBatch,
    ProcessedItem,
    WeightlessModel,
    build_adapter,
    default_checkpoint,
    find_items,
)
from lmms_eval_tasks.sample.tiny_vlm import write_tiny_vlm
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.output import text_table
from lmms_eval_tasks.utils.data.clips import PyavFrames
from lmms_eval_tasks.utils.data.release import UnreadableClip

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console


ACROSS = 8
"""Frames of a row."""
WIDEST = 240
"""Columns of a frame; a larger one is scaled down, and a smaller one stays as it is."""
GAP, LINE = 6, 14
"""Between frames, and of a line of text, in pixels."""


SAMPLING = ("nframes", "fps", "max_frames")
"""How a message says which frames of a clip are to be taken, as qwen-vl-utils reads it."""
CLOSE = 0.01
"""By which share two rates may differ that are meant to be one."""


@dataclass(frozen=True, eq=False)
class ShownClip:
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
        return [index / self.rate for index in self.indices] if self.rate > 0 else [0.0] * len(self.indices)


@dataclass(frozen=True, eq=False)
class ShownItem:
    item_id: str
    clips: Sequence[ShownClip]
    tokens: int
    prompt: str
    first_text: int | None
    reference: int | None


@dataclass(frozen=True, eq=False)
class ShownTask:
    task: str
    items: Sequence[ShownItem]
    together: int
    stands_in: str | None
    faults: Sequence[str]


def show_task(model: str, arguments: str, task: str, batch_size: int = 1, item: str | None = None) -> ShownTask:
    """Let a model of lmms-eval process items of a prepared task as a run does, without its weights."""
    from transformers import AutoConfig

    asked = find_items(task, model, batch_size, item)
    checkpoint = default_checkpoint(model, arguments)
    stands_in = None
    with TemporaryDirectory() as folder, _quiet_transformers():
        known: Any = None
        with suppress(OSError, ValueError):
            known = checkpoint is not None and AutoConfig.from_pretrained(checkpoint)
        if not known:
            stands_in = checkpoint or "a checkpoint that nothing names"
            family = "qwen3_vl" if "qwen3" in f"{model} {checkpoint}".lower() else "qwen2_5_vl"
            tiny = write_tiny_vlm(Path(folder), family=family)
            arguments = ",".join(part for part in (arguments, f"pretrained={tiny}") if part)
        adapter = build_adapter(model, arguments, len(asked.rows))
        if state := state_of(asked.task):
            state.begin(ModelFacts(adapter.model))  # some models read a clip's frames in another order
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


def _explain(batch: ProcessedBatch) -> str:
    """Return the reason a batch cannot be processed, with the number of frames of its clips."""
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
    first_text: dict[bool, int] = {}
    if shown:
        for of_reference in {False, network.config.model_type in REFERENCE_TYPES}:
            found = find_positions(network, inputs, of_reference)
            first_text[of_reference] = int(found.reshape(-1, len(ids))[-1, shown[-1] + 1])
    return ShownItem(
        item.item_id,
        _read_clips(adapter, item, alone),
        len(ids),
        _render(adapter.processor.tokenizer, ids, pads),
        first_text.get(False),
        first_text.get(True),
    )


def _render(tokenizer: Any, ids: Sequence[int], pads: set[int]) -> str:
    """Return a prompt's text, with a run of the same placeholders as one of them and their number."""
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
        indices = [int(index) for index in known["frames_indices"]]
        stated = None if seconds is None else processor.temporal_patch_size / float(seconds[number])
        given = known["fps"] * len(indices) / known["total_num_frames"]
        faults = _faults(video, len(indices), given, stated)
        if alone is not None and indices != (single := list(map(int, alone.metadata[number]["frames_indices"]))):
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


def _faults(video: Mapping[str, Any], count: int, given: float, stated: float | None) -> list[str]:
    """Describe frames of a clip that are not as requested or not as the model's inputs state; rates are in frames per
    second."""
    faults = []
    if "nframes" in video and count != video["nframes"]:
        faults.append(f"{video['nframes']:g} frames are asked for, and {count} are shown")
    if "fps" in video and abs(given - video["fps"]) > 0.05 * video["fps"]:
        faults.append(f"{video['fps']:g} frames a second are asked for, and {given:.2f} are shown")
    if stated is not None and abs(stated - given) > CLOSE * given:
        faults.append(f"the model's inputs state {stated:.2f} frames a second, and {given:.2f} are shown")
    return faults


def _draw(pixels: Any, grid: Sequence[int], processor: Any) -> np.ndarray[Any, Any]:
    """Return the frames, uint8 (T, H, W, 3) RGB, that a processor of the Qwen-VL families has cut into patches.

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


RELEASED_WITH = "transformers 4.57"


def print_shown(console: Console, model: str, shown: ShownTask) -> None:
    batch = f"{len(shown.items)} items, {'in one batch' if shown.together > 1 else 'each alone'}"
    one = shown.items[0].item_id if len(shown.items) == 1 else None
    console.print(f"\n{model} on {shown.task}: {f'the item {one}' if one else batch}", style="bold")
    if shown.stands_in:
        console.print(
            f"warning: the configuration of {shown.stands_in} is not at hand, and that of a tiny random model of the "
            "same family stands in. Frames, sizes and tokens a frame are the same; the tokens and the template of the "
            "text are not.",
            style="yellow",
            soft_wrap=True,
        )
    if any(item.clips for item in shown.items):
        table = text_table(None, "clip", "frames", "asked for", "shown", "size", "tokens", "a frame", "a second")
        for clip in (clip for item in shown.items for clip in item.clips):
            count, (width, height) = len(clip.indices), clip.size
            table.add_row(
                clip.name, str(clip.count), clip.asked, str(count), f"{width}x{height}", str(clip.tokens),
                f"{clip.tokens / count:g}", "-" if clip.stated is None else f"{clip.stated:.2f}",
            )  # fmt: skip
        console.print(table)
    for item in shown.items:
        _print_item(console, item)


def write_sheet(path: Path, shown: ShownTask) -> bool:
    """Write the frames of every clip as one PNG; the same clips give the same bytes, and none gives no file."""
    from PIL import Image

    sheets = [_lay_out(item, clip) for item in shown.items for clip in item.clips]
    if not sheets:
        return False
    whole = Image.new("RGB", (max(sheet.width for sheet in sheets), sum(sheet.height for sheet in sheets)), "white")
    top = 0
    for sheet in sheets:
        whole.paste(sheet, (0, top))
        top += sheet.height
    file = BytesIO()
    whole.save(file, "PNG")
    write_file(path, file.getvalue())
    return True


def _lay_out(item: ShownItem, clip: ShownClip) -> Any:
    """Return a picture of a clip's frames, each with its place and time, below the clip's name."""
    from PIL import Image, ImageDraw

    width, height = clip.size
    scale = min(1.0, WIDEST / width)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    count = len(clip.pictures)
    across, rows = min(ACROSS, count), -(-count // ACROSS)
    cell = size[0] + GAP, size[1] + LINE + GAP
    sheet = Image.new("RGB", (GAP + max(across * cell[0], WIDEST), LINE + 2 * GAP + rows * cell[1]), "white")
    draw = ImageDraw.Draw(sheet)
    title = f"{item.item_id}: {clip.name}, {len(clip.indices)} of {clip.count} frames"
    draw.text((GAP, GAP), title.encode("ascii", "replace").decode(), "black")  # every font has these characters
    for number, (picture, index, time) in enumerate(zip(clip.pictures, clip.indices, clip.times, strict=True)):
        left, top = GAP + number % ACROSS * cell[0], LINE + 2 * GAP + number // ACROSS * cell[1]
        sheet.paste(Image.fromarray(picture).resize(size), (left, top))
        draw.text((left, top + size[1]), f"{index}: {time:.2f} s", "black")
    return sheet


def _print_item(console: Console, item: ShownItem) -> None:
    console.print(f"\n{item.item_id}: {item.tokens} tokens", style="bold")
    for clip in item.clips:
        console.print(f"Frames of {clip.name}, decoded by {clip.library}: {', '.join(map(str, clip.indices))}")
        console.print(f"At seconds: {', '.join(f'{time:.2f}' for time in clip.times)}")
        for fault in clip.faults:
            console.print(f"warning: {clip.name}: {fault}.", style="yellow", soft_wrap=True)
    if item.first_text is not None:
        here = f"transformers {metadata.version('transformers')}"
        console.print(f"Position of the first text token after the clip: {item.first_text} by {here}.")
        if item.reference is not None:
            same = "the same" if item.reference == item.first_text else str(item.reference)
            console.print(f"By {RELEASED_WITH}, which the weights were released with: {same}.")
        else:
            console.print("No version of transformers is known that gives these weights another position.")
    console.print("Prompt:")
    console.print(item.prompt, soft_wrap=True, style="dim")

"""Loading of a checkpoint, and its inputs and positions: from chat messages, by family as lmms-eval's adapters do."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from threading import Lock
from typing import Annotated, Any

import numpy as np
import torch
from lmms_eval.protocol import ChatMessages
from transformers import BatchFeature
from transformers.utils import is_flash_attn_2_available

from lmms_eval_tasks.host.model.readers import OPENED, read_opened
from lmms_eval_tasks.models.base import Arguments, Words
from lmms_eval_tasks.models.clip_reading import OpenClip, Reading, Stopped
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.forms import OneOf
from lmms_eval_tasks.utils.data.release import UnreadableClip

TEXT = ("input_ids", "attention_mask", "mm_token_type_ids")
"""Names of what a processor returns about a text; all else is about what is shown."""
GROWTH = 6.0
"""Bytes that a byte of a frame needs: twice itself while it is decoded, and a number of 32 bits."""


AUTO = "auto"


class PrefixArguments(Arguments):
    """Arguments of `shared_prefix`, most of them by the names of lmms-eval's adapters."""

    pretrained: Words
    mode: Annotated[str, OneOf((AUTO, "fast", "safe"))] = AUTO
    positions: Annotated[str, OneOf(("library", "reference"))] = "library"
    dtype: str = AUTO
    revision: Words | None = None
    device_map: str | None = None
    attn_implementation: str | None = None
    use_cache: bool = True
    max_num_frames: int = 32
    fps: float | None = None
    min_pixels: int = 256 * 28 * 28
    max_pixels: int = 1605632
    total_pixels: int | None = None
    system_prompt: Words = "You are a helpful assistant."
    enable_thinking: bool | None = None
    decode_workers: Any = None


@dataclass(frozen=True)
class ShownText:
    text: Mapping[str, torch.Tensor]

    @cached_property
    def ids(self) -> list[int]:
        return list(map(int, self.text["input_ids"][0]))


@dataclass(frozen=True)
class ProcessedClip:
    media: Mapping[str, Any]
    texts: tuple[ShownText, ...]


OpenClips = Callable[[str | Path], OpenClip]
"""Opens each clip once."""


class PlainInputs:
    """Any family whose processor takes frames and a chat template; for several threads at once."""

    def __init__(self, processor: Any, settings: PrefixArguments) -> None:
        self.processor, self.settings = processor, settings
        self._texts = Lock()
        """A tokenizer is for one thread at a time."""

    def process(self, questions: Sequence[ChatMessages], room: Reading[Any] | None = None) -> ProcessedClip:
        """Decode and process what questions about one clip show, once, and each question's text."""
        clips = cache(lambda clip: OpenClip(clip, room, GROWTH))
        processor = self._processor_for_one_clip()
        media: dict[str, Any] = {}
        texts = []
        shown: dict[str, Any] | None = None
        for messages in questions:
            hf_messages = self.hf_messages(messages, clips)
            shown = self.load(hf_messages, clips) if shown is None else shown
            text = self.render(hf_messages)
            with self._texts:
                inputs = processor(text=[text], **shown, return_tensors="pt")
            texts.append(ShownText({name: inputs[name] for name in TEXT if name in inputs}))
            media = media or {name: value for name, value in inputs.items() if name not in TEXT}
        if room is not None:
            room.settle(sum(value.nbytes for value in media.values() if isinstance(value, torch.Tensor)))
        return ProcessedClip(media, tuple(texts))

    def _processor_for_one_clip(self) -> Any:
        """The processor, which does the work on pictures and videos once and while other threads use the tokenizer."""
        processor = copy.copy(self.processor)
        for name in ("_process_videos", "_process_images"):
            if hasattr(processor, name):
                setattr(processor, name, _once(getattr(self.processor, name), self._texts))
        return processor

    def hf_messages(self, messages: ChatMessages, clips: OpenClips) -> list[dict[str, Any]]:
        return list(messages.to_hf_messages())

    def render(self, hf_messages: list[dict[str, Any]]) -> str:
        """The prompt, with a placeholder for what is shown."""
        return str(self.processor.apply_chat_template(hf_messages, tokenize=False, add_generation_prompt=True))

    def load(self, hf_messages: list[dict[str, Any]], clips: OpenClips) -> dict[str, Any]:
        """Decode what is shown; the processor's arguments beside the text."""
        parts = [part for message in hf_messages for part in message["content"]]
        videos = [part["video"] for part in parts if part["type"] == "video"]
        images = [part["image"] for part in parts if part["type"] == "image"]
        shown: dict[str, Any] = {"images": images} if images else {}
        if videos:
            frames, metadata = zip(*(self._read_frames(clips(video)) for video in videos), strict=True)
            shown |= {"videos": list(frames), "video_metadata": list(metadata), "do_sample_frames": False}
        return shown

    def _read_frames(self, reader: OpenClip) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
        wanted = self.settings.max_num_frames
        if self.settings.fps is not None and reader.fps > 0:
            wanted = min(wanted, max(1, round(reader.count / reader.fps * self.settings.fps)))
        positions = np.linspace(0, reader.count - 1, min(wanted, reader.count)).round().astype(int).tolist()
        metadata = {
            "total_num_frames": reader.count,
            "fps": reader.fps,
            "duration": reader.count / reader.fps if reader.fps > 0 else None,
            "frames_indices": positions,
        }
        return reader.read(positions), metadata


def _once(method: Any, lock: Lock) -> Any:
    """A method that is called the first time only, and without the lock that its caller holds."""
    results: list[Any] = []

    def call(*arguments: Any, **named: Any) -> Any:
        if not results:
            lock.release()
            try:
                results.append(method(*arguments, **named))
            finally:
                lock.acquire()
        processed, replacements = results[0]
        return copy.copy(processed), list(replacements)

    return call


class QwenInputs(PlainInputs):
    """Qwen2-VL and Qwen2.5-VL, as lmms-eval 0.7.3's ``chat/qwen2_5_vl.py`` asks them, by qwen-vl-utils."""

    def hf_messages(self, messages: ChatMessages, clips: OpenClips) -> list[dict[str, Any]]:
        """Messages with the frames and pixels of each clip; a clip shorter than that is shown whole."""
        _, videos, _ = messages.extract_media()
        return list(messages.to_hf_messages(video_kwargs=self._sampling(videos, clips)))

    def _sampling(self, videos: Sequence[Any], clips: OpenClips) -> dict[str, Any]:
        settings = self.settings
        limits = {"max_pixels": settings.max_pixels, "min_pixels": settings.min_pixels}
        if settings.fps is not None:
            return {**limits, "fps": settings.fps}
        return {**limits, "nframes": max(2, self._fewest_frames(videos, clips) // 2 * 2)}

    def _fewest_frames(self, videos: Sequence[Any], clips: OpenClips) -> int:
        return min([self.settings.max_num_frames, *(clips(video).count for video in videos)])

    def load(self, hf_messages: list[dict[str, Any]], clips: OpenClips) -> dict[str, Any]:
        images, videos, metadata, _ = _fetch(hf_messages, clips)
        return {"images": images, "videos": videos, "video_metadata": metadata}


class Qwen3Inputs(QwenInputs):
    """Qwen3-VL, as lmms-eval 0.7.3's ``chat/qwen3_vl.py`` asks it, by qwen-vl-utils."""

    def hf_messages(self, messages: ChatMessages, clips: OpenClips) -> list[dict[str, Any]]:
        """Messages after the system's, with the frames and pixels of each clip."""
        system = {"role": "system", "content": [{"type": "text", "text": self.settings.system_prompt}]}
        whole = ChatMessages(messages=[system, *(message.model_dump() for message in messages.messages)])
        return super().hf_messages(whole, clips)

    def _sampling(self, videos: Sequence[Any], clips: OpenClips) -> dict[str, Any]:
        settings = self.settings
        sampled: dict[str, Any] = {"min_pixels": settings.min_pixels}
        if settings.fps is not None:
            sampled |= {"fps": settings.fps, "max_frames": settings.max_num_frames}
        elif settings.total_pixels is not None:
            sampled["max_frames"] = settings.max_num_frames
        else:
            sampled["nframes"] = self._fewest_frames(videos, clips)
        if settings.total_pixels is not None:
            return sampled | {"total_pixels": settings.total_pixels}
        return sampled | {"max_pixels": settings.max_pixels}

    def render(self, hf_messages: list[dict[str, Any]]) -> str:
        thinking = self.settings.enable_thinking
        chosen = {} if thinking is None else {"enable_thinking": thinking}
        text: str = self.processor.apply_chat_template(
            hf_messages, tokenize=False, add_generation_prompt=True, **chosen
        )
        return text

    def load(self, hf_messages: list[dict[str, Any]], clips: OpenClips) -> dict[str, Any]:
        shown = [part["video"] for message in hf_messages for part in message["content"] if part["type"] == "video"]
        images, videos, metadata, sampled = _fetch(hf_messages, clips, image_patch_size=16)
        limits = {**self._sampling(shown, clips), **sampled}
        return {"images": images, "videos": videos, "video_metadata": metadata, **limits, "do_resize": False}


def _fetch(hf_messages: list[dict[str, Any]], clips: OpenClips, **chosen: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Pictures, videos, the videos' metadata, and further arguments of the processor, by qwen-vl-utils."""
    from qwen_vl_utils import process_vision_info

    read_opened()
    parts = [part for message in hf_messages for part in message["content"]]
    opened = [{**part, OPENED: clips(part["video"])} if part["type"] == "video" else part for part in parts]
    try:
        images, videos, sampled = process_vision_info(
            [{"role": "user", "content": opened}], return_video_kwargs=True, return_video_metadata=True, **chosen
        )
    except (UnreadableClip, Stopped):
        raise
    except Exception as error:  # such as too few frames
        raise UnreadableClip(f"Expected clips that can be decoded, but {type(error).__name__}: {error}") from error
    frames, metadata = zip(*videos, strict=True) if videos else (None, None)
    return images, frames and list(frames), metadata and list(metadata), sampled


FAMILIES: Mapping[str, type[PlainInputs]] = {
    "qwen2_vl": QwenInputs,
    "qwen2_5_vl": QwenInputs,
    "qwen3_vl": Qwen3Inputs,
    "qwen3_vl_moe": Qwen3Inputs,
}
"""The model type of a checkpoint's configuration to how its inputs are made; the others are `PlainInputs`."""


def to_device(values: Mapping[str, Any], device: torch.device) -> dict[str, Any]:
    return dict(BatchFeature(dict(values)).to(device))


FLASH = "flash_attention_2"


def load_checkpoint(arguments: PrefixArguments, device_map: str | Mapping[str, Any]) -> tuple[Any, Any, PlainInputs]:
    """The model, its tokenizer, and what makes its inputs."""
    from transformers import AutoModelForImageTextToText, AutoProcessor, AutoTokenizer

    devices = [device_map] if isinstance(device_map, str) else device_map.values()
    on_gpu = torch.cuda.is_available() and not all(str(device).startswith("cpu") for device in devices)
    given = {"pretrained_model_name_or_path": arguments.pretrained, "revision": arguments.revision}
    dtype = arguments.dtype
    if dtype == AUTO:
        dtype = "float16" if on_gpu and not torch.cuda.is_bf16_supported() else "bfloat16"

    def load(attention: str | None) -> Any:
        chosen = {} if attention is None else {"attn_implementation": attention}
        return AutoModelForImageTextToText.from_pretrained(**given, dtype=dtype, device_map=device_map, **chosen).eval()

    asked = arguments.attn_implementation
    attention = asked or (FLASH if on_gpu and is_flash_attn_2_available() else None)
    try:
        try:
            model = load(attention)
        except (ValueError, ImportError):
            if asked or attention is None:
                raise
            model = load(None)
        kind = FAMILIES.get(model.config.model_type, PlainInputs)
        is_qwen = issubclass(kind, QwenInputs)
        limits = {"max_pixels": arguments.max_pixels, "min_pixels": arguments.min_pixels} if is_qwen else {}
        processor = AutoProcessor.from_pretrained(**given, **limits)
        tokenizer = AutoTokenizer.from_pretrained(**given)
    except (OSError, ValueError, KeyError, ImportError, TypeError, AttributeError) as error:
        raise InputError(
            f"Expected {arguments.pretrained} to be a video-language model that AutoModelForImageTextToText and "
            f"AutoProcessor load, but they cannot:\n  {type(error).__name__}: {error}"
        ) from error
    if is_qwen and find_spec("qwen_vl_utils") is None:
        raise InputError(
            f"Clips for {arguments.pretrained} are read by qwen-vl-utils.\nRun:  pip install qwen-vl-utils"
        )
    family = model.config.model_type
    if arguments.positions == "reference" and family not in REFERENCE_TYPES:
        known = ", ".join(sorted(REFERENCE_TYPES))
        raise InputError(f"Expected positions=library for {family}: positions of reference are known for {known} only.")
    return model, tokenizer, kind(processor, arguments)


WORD, PICTURE, VIDEO = 0, 1, 2
"""Of `mm_token_type_ids`."""
REFERENCE_TYPES = frozenset({"qwen2_vl", "qwen2_5_vl"})
"""Model types whose positions were others when their weights were released."""


def find_positions(model: Any, inputs: Mapping[str, Any], of_reference: bool = False) -> torch.Tensor:
    """Positions of all tokens of one prompt, for `generate` and `forward`.

    Those of the installed transformers, as lmms-eval's adapters use them, or those of transformers 4.57, which the
    weights were released with.
    """
    known = without_pixels(inputs)
    holder = getattr(model, "model", None)
    before = getattr(holder, "rope_deltas", None)
    library: torch.Tensor = model._prepare_position_ids_for_generation(known["input_ids"], known)
    if holder is not None and hasattr(holder, "rope_deltas"):
        holder.rope_deltas = before
    if not of_reference:
        return library
    vision = model.config.vision_config
    found = reference_positions(
        known["mm_token_type_ids"][0].tolist(),
        known.get("image_grid_thw"),
        known.get("video_grid_thw"),
        known.get("second_per_grid_ts"),
        vision.spatial_merge_size,
        getattr(vision, "tokens_per_second", None),
    )
    return torch.cat([library[:1], found[:, None].to(library)])


def without_pixels(inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in inputs.items() if not name.startswith("pixel_values")}


def reference_positions(
    kinds: list[int],
    image_grids: Any,
    video_grids: Any,
    seconds_per_grid: Any,
    merge: int,
    tokens_per_second: float | None,
) -> torch.Tensor:
    """Positions as transformers 4.57.6 gives them to one prompt of Qwen2-VL or Qwen2.5-VL.

    Text goes on after the largest position of what stands before it, time included. A frame's time is the number of its
    grid, times whole seconds per grid and tokens per second where the model has those (Qwen2.5-VL).

    Args:
        kinds: Of each token: 0 text, 1 picture, 2 video.
        image_grids: (pictures, 3) of time, height and width in patches; `video_grids` alike.
        seconds_per_grid: Of each video; None is 1.
        merge: Patches of each side of a token.
        tokens_per_second: Positions that a second takes; None for Qwen2-VL.

    Returns:
        int64 (3, tokens) of time, height and width.

    Source: ``get_rope_index`` of ``modeling_qwen2_vl.py`` and ``modeling_qwen2_5_vl.py`` of transformers 4.57.6.
    """
    grids = {PICTURE: iter(_rows(image_grids)), VIDEO: iter(_rows(video_grids))}
    seconds = iter(_rows(seconds_per_grid))
    parts: list[torch.Tensor] = []
    start, place = 0, 0
    while place < len(kinds):
        kind = kinds[place]
        if kind == WORD:
            count = next(iter(len(list(run)) for _, run in groupby(kinds[place:])))
            part = torch.arange(count).expand(3, -1)
        else:
            times, rows, columns = next(grids[kind])
            rows, columns = rows // merge, columns // merge
            count = times * rows * columns
            step = 1
            if tokens_per_second is not None:
                step = int(next(seconds, 1)) * int(tokens_per_second) if kind == VIDEO else 0
            axes = torch.meshgrid(torch.arange(times) * step, torch.arange(rows), torch.arange(columns), indexing="ij")
            part = torch.stack([axis.flatten() for axis in axes])
        parts.append(part + start)
        start = int(parts[-1].max()) + 1
        place += count
    return torch.cat(parts, dim=1)


def _rows(values: Any) -> list[Any]:
    if values is None:
        return []
    return values.tolist() if isinstance(values, torch.Tensor) else list(values)

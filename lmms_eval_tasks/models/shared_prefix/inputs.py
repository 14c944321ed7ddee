"""Inputs of the model from chat messages, by family as lmms-eval's adapters make them, and loading of a checkpoint."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import torch
from lmms_eval.protocol import ChatMessages
from transformers import BatchFeature
from transformers.utils import is_flash_attn_2_available

from lmms_eval_tasks.host.model.readers import OPENED, read_opened
from lmms_eval_tasks.models.clip_reading import ClipRoom, OpenClip, Stopped
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.release import UnreadableClip

TEXT = ("input_ids", "attention_mask", "mm_token_type_ids")
"""Names of what a processor returns about a text; all else is about what is shown."""
GROWTH = 6.0
"""Bytes that a byte of a frame needs: twice itself while it is decoded, and a number of 32 bits."""


@dataclass(frozen=True)
class FrameSettings:
    """Settings for sampling clips, by the names of lmms-eval's adapters."""

    max_num_frames: int = 32
    fps: float | None = None
    min_pixels: int = 256 * 28 * 28
    max_pixels: int = 1605632
    total_pixels: int | None = None
    system_prompt: str = "You are a helpful assistant."
    enable_thinking: bool | None = None


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


class OpenClips:
    def __init__(self, room: ClipRoom | None = None) -> None:
        self._room = room
        self._open: dict[str | Path, OpenClip] = {}

    def __getitem__(self, clip: str | Path) -> OpenClip:
        if clip not in self._open:
            self._open[clip] = OpenClip(clip, self._room, GROWTH)
        return self._open[clip]


class PlainInputs:
    """Any family whose processor takes frames and a chat template; for several threads at once."""

    def __init__(self, processor: Any, settings: FrameSettings) -> None:
        self.processor, self.settings = processor, settings
        self._texts = Lock()
        """A tokenizer is for one thread at a time."""

    def process(self, questions: Sequence[ChatMessages], room: ClipRoom | None = None) -> ProcessedClip:
        """Decode and process what questions about one clip show, once, and each question's text."""
        clips, processor = OpenClips(room), self._processor_for_one_clip()
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
        converted: list[dict[str, Any]] = messages.to_hf_messages()
        return converted

    def render(self, hf_messages: list[dict[str, Any]]) -> str:
        """The prompt, with a placeholder for what is shown."""
        text: str = self.processor.apply_chat_template(hf_messages, tokenize=False, add_generation_prompt=True)
        return text

    def load(self, hf_messages: list[dict[str, Any]], clips: OpenClips) -> dict[str, Any]:
        """Decode what is shown; the processor's arguments beside the text."""
        parts = [part for message in hf_messages for part in message["content"]]
        videos = [part["video"] for part in parts if part["type"] == "video"]
        images = [part["image"] for part in parts if part["type"] == "image"]
        shown: dict[str, Any] = {"images": images} if images else {}
        if videos:
            frames, metadata = zip(*(self._read_frames(clips[video]) for video in videos), strict=True)
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
        converted: list[dict[str, Any]] = messages.to_hf_messages(video_kwargs=self._sampling(videos, clips))
        return converted

    def _sampling(self, videos: Sequence[Any], clips: OpenClips) -> dict[str, Any]:
        settings = self.settings
        limits = {"max_pixels": settings.max_pixels, "min_pixels": settings.min_pixels}
        return {**limits, **({"fps": settings.fps} if settings.fps is not None else self._count_frames(videos, clips))}

    def _count_frames(self, videos: Sequence[Any], clips: OpenClips) -> dict[str, int]:
        counts = [clips[video].count for video in videos]
        return {"nframes": max(2, min([self.settings.max_num_frames, *counts]) // 2 * 2)}

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
            sampled |= self._count_frames(videos, clips)
        if settings.total_pixels is not None:
            return sampled | {"total_pixels": settings.total_pixels}
        return sampled | {"max_pixels": settings.max_pixels}

    def _count_frames(self, videos: Sequence[Any], clips: OpenClips) -> dict[str, int]:
        counts = [clips[video].count for video in videos]
        return {"nframes": min([self.settings.max_num_frames, *counts])}

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
    opened = [{**part, OPENED: clips[part["video"]]} if part["type"] == "video" else part for part in parts]
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


def without_pixels(media: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in media.items() if not name.startswith("pixel_values")}


def to_device(values: Mapping[str, Any], device: torch.device) -> dict[str, Any]:
    return dict(BatchFeature(dict(values)).to(device))


AUTO = "auto"
FLASH = "flash_attention_2"


@dataclass(frozen=True)
class Checkpoint:
    model: Any
    tokenizer: Any
    inputs: PlainInputs


def load_checkpoint(
    pretrained: str,
    revision: str | None,
    dtype: str,
    device_map: str | Mapping[str, Any],
    attn_implementation: str | None,
    frames: FrameSettings,
) -> Checkpoint:
    from transformers import AutoModelForImageTextToText, AutoProcessor, AutoTokenizer

    def load(attention: str | None) -> Any:
        chosen = {} if attention is None else {"attn_implementation": attention}
        weights = _choose_dtype(on_gpu) if dtype == AUTO else dtype
        return AutoModelForImageTextToText.from_pretrained(
            pretrained, revision=revision, dtype=weights, device_map=device_map, **chosen
        ).eval()

    on_gpu = torch.cuda.is_available() and not _is_cpu(device_map)
    attention = attn_implementation or (FLASH if on_gpu and is_flash_attn_2_available() else None)
    try:
        try:
            model = load(attention)
        except (ValueError, ImportError):
            if attn_implementation or attention is None:
                raise
            model = load(None)
        kind = FAMILIES.get(model.config.model_type, PlainInputs)
        is_qwen = issubclass(kind, QwenInputs)
        limits = {"max_pixels": frames.max_pixels, "min_pixels": frames.min_pixels} if is_qwen else {}
        processor = AutoProcessor.from_pretrained(pretrained, revision=revision, **limits)
        tokenizer = AutoTokenizer.from_pretrained(pretrained, revision=revision)
    except (OSError, ValueError, KeyError, ImportError, TypeError, AttributeError) as error:
        raise InputError(
            f"Expected {pretrained} to be a video-language model that AutoModelForImageTextToText and AutoProcessor "
            f"load, but they cannot:\n  {type(error).__name__}: {error}"
        ) from error
    if is_qwen and find_spec("qwen_vl_utils") is None:
        raise InputError(f"Clips for {pretrained} are read by qwen-vl-utils.\nRun:  pip install qwen-vl-utils")
    return Checkpoint(model, tokenizer, kind(processor, frames))


def _is_cpu(device_map: str | Mapping[str, Any]) -> bool:
    devices = [device_map] if isinstance(device_map, str) else device_map.values()
    return all(str(device).startswith("cpu") for device in devices)


def _choose_dtype(on_gpu: bool) -> str:
    return "float16" if on_gpu and not torch.cuda.is_bf16_supported() else "bfloat16"

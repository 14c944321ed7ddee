"""The registered model `shared_vllm`: lmms-eval's vLLM model with clips as videos, each decoded and named once.

It was run with vLLM 0.32's own processor, caches, scheduler and engine on a CPU, with random weights: not with real
ones, on a GPU or on several ranks.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from lmms_eval.api.instance import GenerationResult, Instance
from lmms_eval.models.chat import vllm as host
from loguru import logger
from numpy.typing import NDArray
from PIL import Image
from torch import distributed as dist
from tqdm import tqdm

from lmms_eval_tasks.host.ranks import stop_if_any
from lmms_eval_tasks.models.base import Arguments, Work
from lmms_eval_tasks.models.clip_reading import ClipQuestion, OpenClip, ReadAhead, Reading, ShownVideo, group_by_clip
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.core.files import file_sha256
from lmms_eval_tasks.utils.data.clips import source_of
from lmms_eval_tasks.utils.data.release import UnreadableClip
from lmms_eval_tasks.utils.scoring.record import UnscoredReason

FORMAT = 2
"""Moves when the same settings give other frames."""
FACTOR = 2
"""Frames are taken in multiples of this: the families that vLLM runs natively merge neighbouring frames in pairs."""
LEAST_BY_RATE = 4
"""Fewest frames where a rate is asked for, as qwen-vl-utils has it."""


class VideoSampling(Arguments):
    """Settings for sampling clips, by the names of lmms-eval's vLLM model."""

    nframes: int = 32
    fps: float | None = None
    max_frame_num: int = 768
    max_pixels: int = 1605632

    def positions(self, first: int, count: int, rate: float) -> list[int]:
        """Numbers of the frames that are taken, an even number of them where there are two or more.

        From `first` on `count` frames may be taken, of `rate` frames per second. Source: ``smart_nframes`` of
        qwen-vl-utils 0.0.14, by which lmms-eval's adapters sample; a clip that has too few frames for it is taken whole
        instead of refused.
        """
        if self.fps is None:
            wanted = float(round(self.nframes / FACTOR) * FACTOR)
        else:
            most = self.max_frame_num // FACTOR * FACTOR
            wanted = min(max(count / rate * self.fps, LEAST_BY_RATE), most)
        number = max(int(min(wanted, count)) // FACTOR * FACTOR, min(FACTOR, count))
        step = (count - 1) / (number - 1) if number > 1 else 0.0
        return [first + round(step * place) for place in range(number)]


@dataclass(frozen=True)
class SampledVideo:
    frames: NDArray[np.uint8]
    metadata: dict[str, Any]
    media_id: str


def read_video(
    path: str | Path,
    sampling: VideoSampling,
    start: float | None = None,
    end: float | None = None,
    room: Reading[Any] | None = None,
) -> SampledVideo:
    file, order = source_of(path)
    reader = OpenClip(path, room)
    if reader.fps <= 0:
        raise UnreadableClip(f"Expected {file} to state how many frames a second it has, but it does not.")
    first = min(int((start or 0) * reader.fps), reader.count - 1)
    last = reader.count - 1 if end is None else max(min(int(end * reader.fps), reader.count - 1), first)
    count = last - first + 1
    positions = sampling.positions(first, count, reader.fps)
    frames = _shrink(reader.read(positions), sampling.max_pixels)
    if room is not None:
        room.settle(frames.nbytes)
    metadata = {
        "fps": reader.fps,
        "duration": count / reader.fps,
        "total_num_frames": count,
        "frames_indices": positions,
        "do_sample_frames": False,
    }
    named = [FORMAT, file_sha256(file), metadata, list(frames.shape), *filter(None, [order])]
    return SampledVideo(frames, metadata, hashlib.sha256(json.dumps(named).encode()).hexdigest())


def _shrink(frames: NDArray[np.uint8], most: int) -> NDArray[np.uint8]:
    """Frames of no more pixels than the most, in the same shape; (T, H, W, 3)."""
    import cv2

    height, width = frames.shape[1:3]
    if height * width <= most:
        return frames
    scale = math.sqrt(most / (height * width))
    size = max(1, int(width * scale)), max(1, int(height * scale))
    small = [cv2.resize(frame, size, interpolation=cv2.INTER_AREA) for frame in frames]
    return np.stack(small).astype(np.uint8, copy=False)


LEAST = (0, 32)
"""The version with which it was run. vLLM 0.24 does not yet hand the times of a video to Qwen2.5-VL's processor."""
REMEDY = "Remedy: pip install 'vllm>=0.32'"


Videos = Mapping[ShownVideo, Reading[SampledVideo]]
"""Clips that are being decoded."""


class SharedVLLM(host.VLLM):  # type: ignore[misc]
    """lmms-eval's chat model `vllm`, with each clip sent as a video under an id of its own."""

    is_simple = False
    shows_clips = True
    reads_orders = True

    def __init__(
        self,
        model: str = "Qwen/Qwen2.5-VL-3B-Instruct",
        trust_remote_code: bool = False,
        decode_workers: int | None = None,
        **arguments: Any,
    ) -> None:
        from transformers import AutoProcessor

        self._ahead, self._work = ReadAhead(decode_workers), Work()
        stop_if_any(_problem_of_vllm())
        super().__init__(model, trust_remote_code=trust_remote_code, **arguments)
        revision = arguments.get("revision")
        self.processor = AutoProcessor.from_pretrained(
            model, trust_remote_code=trust_remote_code, **({"revision": revision} if revision else {})
        )
        self.sampling = VideoSampling.model_validate(self, from_attributes=True)
        self._left_out: set[tuple[str, str]] = set()
        """Items whose clip cannot be decoded, by task and item."""

    @property
    def work(self) -> dict[str, Any]:
        """For a run card: seconds of decoding and of waiting for it, and how often a clip was decoded."""
        return self._work.as_facts()

    def generate_until(self, requests: list[Instance]) -> list[GenerationResult]:
        replies = dict(self.generate_each(requests))
        return [GenerationResult(text=replies.get(place, Reply()).text) for place in range(len(requests))]

    def generate_each(self, requests: list[Instance]) -> Iterator[tuple[int, Reply]]:
        """Replies as they come, each with the place of its request."""
        ordered = [question for group in group_by_clip(requests, self.task_dict) for question in group]
        size = self.batch_size_per_gpu
        parts = [ordered[start : start + size] for start in range(0, len(ordered), size)]
        # Ranks that share a model send together, so that one with fewer requests has to send as often.
        parts += [[]] * (self._count_rounds(len(parts)) - len(parts))
        bar = tqdm(total=len(requests), desc="shared_vllm", unit="item", disable=self.rank != 0)
        with bar:
            for part, videos in self._decode(parts):
                for question, reply in zip(part, self._send(part, videos), strict=True):
                    yield question.place, reply
                bar.update(len(part))

    def generate_until_multi_round(self, requests: list[Instance]) -> NoReturn:
        raise NotImplementedError("shared_vllm answers in one round.")

    def _count_rounds(self, own: int) -> int:
        """Return the largest number of sends by any rank of those that share a model."""
        if self._tp_world_size <= 1 or self._tp_group_cpu is None:
            return own
        counts = [0] * self._tp_world_size
        dist.all_gather_object(counts, own, group=self._tp_group_cpu)
        return max(counts)

    def _decode(self, parts: Sequence[Sequence[ClipQuestion]]) -> Iterator[tuple[Sequence[ClipQuestion], Videos]]:
        """Parts with their clips; one that is shown in a part and in the next is decoded once."""
        shown = [list(dict.fromkeys(video for question in part for video in question.videos)) for part in parts]
        new = [[video for video in these if video not in last] for last, these in pairwise([[], *shown])]
        kept: dict[ShownVideo, Reading[SampledVideo]] = {}
        with closing(self._ahead.read([video for these in new for video in these], self._read, self._work)) as readings:
            for part, these, coming in zip(parts, new, [*shown, []][1:], strict=True):
                kept |= dict(islice(readings, len(these)))
                yield part, kept
                for video in kept.keys() - set(coming):
                    kept.pop(video).release()

    def _read(self, video: ShownVideo, room: Reading[SampledVideo]) -> SampledVideo:
        self._work.count("times decoded")
        return read_video(video.path, self.sampling, video.start, video.end, room)

    def _send(self, questions: Sequence[ClipQuestion], decoded: Videos) -> list[Reply]:
        """Replies to a batch; vLLM is not asked about a clip that cannot be decoded."""
        prompts: list[tuple[dict[str, Any], dict[str, Any]]] = []
        places = []
        replies = [Reply()] * len(questions)
        for place, question in enumerate(questions):
            try:
                videos = [decoded[video].result() for video in question.videos]
            except UnreadableClip as error:
                if (question.task, question.item) not in self._left_out:
                    logger.warning("{} of {} is not asked: {}", question.item, question.task, error)
                self._left_out.add((question.task, question.item))
                replies[place] = Reply(missing=UnscoredReason.UNREADABLE_CLIP, detail=str(error))
                continue
            places.append(place)
            sampling = self._resolve_sampling_params(dict(question.generation))
            if question.seed is not None:
                sampling["seed"] = question.seed
            prompts.append((self._prompt(question, videos), sampling))
        for place, text in zip(places, self._run_tp_synced(prompts, self._ask), strict=True):
            replies[place] = Reply.of_response(text)
        return replies

    def _ask(self, prompts: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> list[str]:
        if not prompts:
            return []
        outputs = self.client.generate(
            [prompt for prompt, _ in prompts],
            sampling_params=[host.SamplingParams(**sampling) for _, sampling in prompts],
            use_tqdm=False,
        )
        return [output.outputs[0].text for output in outputs]

    def _prompt(self, question: ClipQuestion, videos: Sequence[SampledVideo]) -> dict[str, Any]:
        """One prompt as `LLM.generate` takes it.

        Source: ``TextPrompt`` of vLLM 0.32 (vllm/inputs/llm.py). ``multi_modal_uuids`` has a name for every item of
        every kind; where it is None, vLLM finds one.
        """
        messages = question.read()
        images, _, audios = messages.extract_media()
        if audios:
            raise ValueError(f"Expected texts, pictures and videos of {question.task}, but got audio.")
        template = {} if self.chat_template is None else {"chat_template": self.chat_template}
        text = self.processor.apply_chat_template(
            messages.to_hf_messages(), tokenize=False, add_generation_prompt=True, **template
        )
        prompt: dict[str, Any] = {"prompt": text}
        if images or videos:
            prompt |= {"multi_modal_data": {}, "multi_modal_uuids": {}}
        if images:
            prompt["multi_modal_data"]["image"] = [_open_picture(image) for image in images]
            prompt["multi_modal_uuids"]["image"] = [None] * len(images)
        if videos:
            prompt["multi_modal_data"]["video"] = [(video.frames, video.metadata) for video in videos]
            prompt["multi_modal_uuids"]["video"] = [video.media_id for video in videos]
            # They are part of the name by which a clip is cached, so they may not depend on what is shown beside it.
            prompt["mm_processor_kwargs"] = {"do_sample_frames": False}
        return prompt


def _problem_of_vllm() -> str | None:
    if host.LLM is None:
        return f"shared_vllm answers by vLLM, which is not installed. {REMEDY}"
    import vllm

    if vllm.__version_tuple__[:2] >= LEAST:
        return None
    return f"Expected vLLM 0.32 or later for shared_vllm, but got {vllm.__version__}, in which it was not run. {REMEDY}"


def _open_picture(picture: Any) -> Image.Image:
    image = picture if isinstance(picture, Image.Image) else Image.open(picture)
    return image.convert("RGB")

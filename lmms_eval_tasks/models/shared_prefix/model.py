"""`shared_prefix`: the registered model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from enum import Enum
from itertools import takewhile
from typing import Any, TypeVar

import torch
from lmms_eval.api.instance import GenerationResult, Instance, TokenCounts
from loguru import logger
from tqdm import tqdm

from lmms_eval_tasks.host.ranks import stop_if_any
from lmms_eval_tasks.host.throughput import PROMPT, REUSED
from lmms_eval_tasks.models.base import OwnModel
from lmms_eval_tasks.models.failures import RepeatedFailures, free_memory, is_out_of_memory
from lmms_eval_tasks.models.grouping import ClipGroup, ClipQuestion, group_by_clip
from lmms_eval_tasks.models.shared_prefix.checking import compare
from lmms_eval_tasks.models.shared_prefix.checkpoint import load_checkpoint
from lmms_eval_tasks.models.shared_prefix.generation import generation_arguments, why_alone
from lmms_eval_tasks.models.shared_prefix.inputs import FrameSettings, ProcessedClip, QwenInputs, ShownText
from lmms_eval_tasks.models.shared_prefix.positions import Positions, check_positions
from lmms_eval_tasks.models.shared_prefix.sharing import EncodedClip, PrefixSharer, SharingMode
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.wording import summarize_names
from lmms_eval_tasks.utils.data.release import UnreadableClip
from lmms_eval_tasks.utils.scoring.records import UnscoredReason

AUTO = "auto"
Answer = tuple[ClipQuestion, GenerationResult | None]
"""A question and its answer; None where there is none, which `SharedPrefix.unanswered` explains."""
Kind = TypeVar("Kind", bound=Enum)


class SharedPrefix(OwnModel):
    """Answers all questions about a clip for the cost of reading it once.

    Args:
        pretrained: A checkpoint of a video-language model that `AutoModelForImageTextToText` loads.
        mode: ``fast``, ``safe``, or ``auto``: fast where that gives the answers of plain generation.
        positions: ``library`` or ``reference``, see `Positions`.
        dtype: Type of the weights.
        revision: Of the checkpoint on the hub.
        device_map: How the weights are spread over devices, for one process; by default on one.
        attn_implementation: How attention is computed.
        use_cache: Whether keys and values are kept while an answer is generated; without, every question is alone.
        max_num_frames: See `FrameSettings`, as are the next six.
        fps: Frames per second.
        min_pixels: The least pixels of a frame.
        max_pixels: The most pixels of a frame.
        total_pixels: The most pixels of all frames.
        system_prompt: What the system says.
        enable_thinking: Passed to the chat template.
        batch_size: The most questions of a clip that are answered at once, in fast mode.
        device: Where the weights go, for one process.
        max_batch_size: Passed by lmms-eval, without meaning here.

    Attributes:
        unanswered: Task and item to why there is no answer.
    """

    is_simple = False
    shows_clips = True
    reads_orders = True

    def __init__(
        self,
        pretrained: str,
        mode: str = AUTO,
        positions: str = Positions.LIBRARY.value,
        dtype: str = "bfloat16",
        revision: str | None = None,
        device_map: str | None = None,
        attn_implementation: str | None = None,
        use_cache: bool = True,
        max_num_frames: int = FrameSettings.max_num_frames,
        fps: float | None = None,
        min_pixels: int = FrameSettings.min_pixels,
        max_pixels: int = FrameSettings.max_pixels,
        total_pixels: int | None = None,
        system_prompt: str = FrameSettings.system_prompt,
        enable_thinking: bool | None = None,
        batch_size: int | str = 1,
        device: str | None = None,
        max_batch_size: int | None = None,
    ) -> None:
        super().__init__(batch_size, device, max_batch_size)
        if self._world_size == 1 and device is not None:
            self.device = torch.device(device)
        self.max_num_frames, self.fps = max_num_frames, fps
        self.batch_size = int(batch_size)
        frames = FrameSettings(
            max_num_frames, fps, min_pixels, max_pixels, total_pixels, system_prompt, enable_thinking
        )
        message = None
        try:
            self._mode = None if mode == AUTO else _choose(SharingMode, mode, "mode")
            self._positions = _choose(Positions, positions, "positions")
            spread = device_map if self._world_size == 1 and device_map else {"": self.device}
            loaded = load_checkpoint(pretrained, revision, dtype, spread, attn_implementation, frames)
            self._model, self.tokenizer, self._inputs = loaded.model, loaded.tokenizer, loaded.inputs
            check_positions(self._model.config.model_type, self._positions)
        except InputError as error:
            message = str(error)
        stop_if_any(message)
        # Only qwen-vl-utils keeps to them, so that nobody takes the frames of other families to be of such sizes.
        has_limits = isinstance(self._inputs, QwenInputs)
        self.min_pixels = min_pixels if has_limits else None
        self.max_pixels = max_pixels if has_limits else None
        pad = self.tokenizer.pad_token_id
        self._sharer = PrefixSharer(self._model, self._positions, self.tokenizer.eos_token_id if pad is None else pad)
        self._reason = "as asked"
        self._use_cache = use_cache
        self._notes: set[str] = set()
        self.unanswered: dict[tuple[str, str], tuple[UnscoredReason, str]] = {}

    @property
    def model(self) -> Any:
        """The model of transformers."""
        return self._model

    @property
    def facts(self) -> dict[str, Any]:
        """For a run card: what is shared, why not more, and whose positions are used."""
        mode = self._mode.value if self._mode else "no clip had several questions"
        return {"mode": mode, "why": self._reason, "positions": self._positions.value}

    @property
    def work(self) -> dict[str, Any]:
        """For a run card: seconds of each stage and counts, on this rank."""
        work = self._sharer.work
        counts = {"times encoded": work.encoded, PROMPT: work.prompt_tokens, REUSED: work.reused_tokens}
        if self._mode:
            # Each rank compares for itself, and the card has the first rank's mode.
            counts[f"ranks in {self._mode.value} mode"] = 1
        return {"seconds": dict(work.seconds), "counts": counts}

    def generate_until(self, requests: list[Instance]) -> list[Any]:
        """Answer lmms-eval's requests in order; where there is no answer, an empty text."""
        answers: list[Any] = [""] * len(requests)
        for place, answer in self.generate_each(requests):
            answers[place] = "" if answer is None else answer
        return answers

    def generate_each(self, requests: Sequence[Instance]) -> Iterator[tuple[int, GenerationResult | None]]:
        """Answer requests clip by clip: places and answers as they come, None where there is no answer.

        Raises:
            RunStopped: where clip after clip fails in the same way, for no reason of its own.
        """
        groups = group_by_clip(requests, self.task_dict)
        # A clip counts by its length in the progress bar; what has none counts as one second.
        lengths = [sum(video.seconds for video in group.media.videos) or 1.0 for group in groups]
        failures = RepeatedFailures("clips")
        with self._progress(sum(lengths)) as bar:
            for number, (group, processed) in enumerate(self._process_ahead(groups), start=1):
                failure = None
                for question, answer in self._answer(group, processed):
                    failure = self.unanswered.get((question.task, question.item)) if answer is None else failure
                    yield question.place, answer
                if failure is None or failure[0] is not UnscoredReason.UNREADABLE_CLIP:
                    shared = f"They share the model, a {self._model.config.model_type} on {self.device}."
                    failures.note(failure[1] if failure else None, shared)
                bar.set_description_str(f"Clip {number:,} of {len(groups):,}", refresh=False)
                bar.update(lengths[number - 1])
        if self.unanswered:
            names = summarize_names([f"{task} {item}" for task, item in self.unanswered])
            logger.warning("{:,} questions have no answer and are unscored: {}.", len(self.unanswered), names)

    def _progress(self, seconds: float) -> Any:
        return tqdm(
            total=seconds,
            desc="Clips",
            bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}",
            disable=self._rank != 0,
        )

    def _process_ahead(self, groups: Sequence[ClipGroup]) -> Iterator[tuple[ClipGroup, Future[ProcessedClip]]]:
        """Each group as the model takes it; the next is decoded and processed while the model works on one."""
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="clips") as pool:
            coming = [pool.submit(self._process, group) for group in groups[:1]]
            for number, group in enumerate(groups, start=1):
                processed = coming.pop()
                wait([processed])
                coming += [pool.submit(self._process, after) for after in groups[number : number + 1]]
                yield group, processed

    def _process(self, group: ClipGroup) -> ProcessedClip:
        with self._sharer.work.measure("decoding"):
            return self._inputs.process([question.read() for question in group.questions])

    def _answer(self, group: ClipGroup, processed: Future[ProcessedClip]) -> list[Answer]:
        """Answers to the questions of a group; where it fails, none, and why."""
        try:
            clip = processed.result()
            self._choose_mode(group, clip)
            encoded = self._sharer.encode(clip)
        except Exception as error:  # of a decoder, a processor or the model
            return [self._leave_out(question, error) for question in group.questions]
        pending = dict(zip(group.questions, clip.texts, strict=True))
        answers: list[Answer] = []
        try:
            answers += self._answer_together(encoded, pending)
        except Exception as error:  # what was not answered is then asked alone, which takes less memory
            self._note(f"Where questions cannot be answered together, they are answered alone ({_describe(error)}).")
            free_memory()
        return answers + [
            self._answer_alone(encoded, question, text)
            for question, text in pending.items()
            if all(question is not answered for answered, _ in answers)
        ]

    def _choose_mode(self, group: ClipGroup, clip: ProcessedClip) -> None:
        """On the first clip with several questions, see whether fast mode answers as plain generation does."""
        if self._mode is not None or len(self._shareable(group.questions)) < 2:
            return
        arguments = self._arguments(group.questions[0])
        comparison = compare(self._sharer, clip, arguments)
        if comparison is None:
            self._mode, self._reason = SharingMode.SAFE, "prompts or the model's cache cannot be shared"
        else:
            self._mode = SharingMode.FAST if comparison.equal else SharingMode.SAFE
            self._reason = f"compared with plain generation: {comparison.text}"
        if self._mode is SharingMode.SAFE:
            logger.warning("shared_prefix goes on in safe mode, in which each prompt is read whole: {}.", self._reason)

    def _shareable(self, questions: Sequence[ClipQuestion]) -> list[ClipQuestion]:
        """The questions whose answers can be generated from what was read for others; says once why others cannot."""
        shareable = []
        for question in questions:
            reason = why_alone(self._arguments(question))
            if reason is None:
                shareable.append(question)
            else:
                self._note(f"Prompts are read whole for {reason}.")
        return shareable

    def _arguments(self, question: ClipQuestion) -> dict[str, Any]:
        return generation_arguments(question.generation, self.tokenizer, self._use_cache)

    def _answer_together(self, clip: EncodedClip, texts: Mapping[ClipQuestion, ShownText]) -> Iterator[Answer]:
        """Answers from a shared prefix, in batches that are generated alike; none where that cannot be."""
        shareable = self._shareable(list(texts))
        if self._mode is not SharingMode.FAST or len(shareable) < 2:
            return
        prefix = self._sharer.read_prefix(clip)
        if prefix is None:
            self._note("Prompts are read whole where they differ before the clip, or the model's cache is another.")
            return
        alike: dict[str, list[ClipQuestion]] = {}
        for question in shareable:
            alike.setdefault(repr(self._arguments(question)), []).append(question)
        for questions in alike.values():
            for first in range(0, len(questions), self.batch_size):
                batch = questions[first : first + self.batch_size]
                batch_texts = [texts[question] for question in batch]
                tokens = self._sharer.generate_together(clip, prefix, batch_texts, self._arguments(batch[0]))
                answered = tokens[:, max(len(text.ids) for text in batch_texts) :]
                yield from ((question, self._read_tokens(row)) for question, row in zip(batch, answered, strict=True))

    def _answer_alone(self, clip: EncodedClip, question: ClipQuestion, text: ShownText) -> Answer:
        try:
            tokens = self._sharer.generate_alone(clip, text, self._arguments(question))
            return question, self._read_tokens(tokens[0, len(text.ids) :])
        except Exception as error:  # of the model
            return self._leave_out(question, error)

    def _read_tokens(self, tokens: torch.Tensor) -> GenerationResult:
        """The text of an answer; a batch fills up the shorter ones after their end."""
        fillers = {self.tokenizer.eos_token_id, self.tokenizer.pad_token_id}
        count = sum(1 for _ in takewhile(lambda token: token not in fillers, tokens.tolist()))
        text = self.tokenizer.batch_decode([tokens], skip_special_tokens=True, clean_up_tokenization_spaces=False)[0]
        if self._inputs.settings.enable_thinking:
            text = text.partition("</think>")[2].strip()
        return GenerationResult(text, TokenCounts(output_tokens=min(count + 1, len(tokens))))

    def _leave_out(self, question: ClipQuestion, error: Exception) -> Answer:
        """No answer to a question, and why."""
        if is_out_of_memory(error):
            reason = UnscoredReason.OUT_OF_MEMORY
            free_memory()
        else:
            reason = UnscoredReason.UNREADABLE_CLIP if isinstance(error, UnreadableClip) else UnscoredReason.FAILED
        self.unanswered[question.task, question.item] = (reason, _describe(error))
        return question, None

    def _note(self, text: str) -> None:
        """Say something once."""
        if text not in self._notes:
            self._notes.add(text)
            logger.warning("{}", text)


def _describe(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _choose(kind: type[Kind], name: str, argument: str) -> Kind:
    """A member by its value.

    Raises:
        InputError: where there is none of it.
    """
    try:
        return kind(name)
    except ValueError:
        known = ", ".join(member.value for member in kind)
        raise InputError(f"Expected {argument} to be one of {known}, but got {name!r}.") from None

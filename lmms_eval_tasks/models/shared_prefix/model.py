"""The registered model `shared_prefix`, and the arguments of generation that tasks ask for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import torch
from lmms_eval.api.instance import Instance, TokenCounts
from loguru import logger
from tqdm import tqdm

from lmms_eval_tasks.host.asking.stages import as_output
from lmms_eval_tasks.models.base import OwnModel, RepeatedFailures, agree, describe_error, free_memory, is_out_of_memory
from lmms_eval_tasks.models.clip_reading import ClipQuestion, ReadAhead, Reading, group_by_clip
from lmms_eval_tasks.models.shared_prefix.inputs import (
    AUTO,
    PlainInputs,
    PrefixArguments,
    ProcessedClip,
    QwenInputs,
    ShownText,
    load_checkpoint,
)
from lmms_eval_tasks.models.shared_prefix.sharing import (
    Batching,
    EncodedClip,
    PrefixSharer,
    SharedQuestion,
    compare,
    read_batch_size,
    width_of,
)
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.data.release import UnreadableClip
from lmms_eval_tasks.utils.scoring.record import UnscoredReason

DEFAULTS = {"max_new_tokens": 128, "temperature": 0.0, "num_beams": 1}
"""What lmms-eval's adapters of Qwen take where a task does not say."""
SAMPLING = ("temperature", "top_p", "top_k")


def generation_arguments(asked: Mapping[str, Any], tokenizer: Any, use_cache: bool) -> dict[str, Any]:
    """Arguments of `generate` for one question, as lmms-eval's adapters of Qwen choose them."""
    chosen = {**DEFAULTS, **asked}
    is_sampled = (chosen["temperature"] or 0) > 0
    return {
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "max_new_tokens": int(chosen["max_new_tokens"]),
        "num_beams": int(chosen["num_beams"]),
        "use_cache": use_cache,
        "do_sample": is_sampled,
        **{name: chosen.get(name) if is_sampled else None for name in SAMPLING},
    }


ALONE = "Where questions cannot be answered together, they are answered alone ({})."
NO_SAFE_MODE = "mode=safe will go: leave it out. Answers that a shared prompt would change are given one by one anyway."
Answer = tuple[ClipQuestion, Reply]
Group = Sequence[ClipQuestion]
"""Questions that show the same."""
Row = tuple[ClipQuestion, SharedQuestion]


@dataclass(frozen=True)
class ReadClip:
    encoded: EncodedClip
    texts: Mapping[ClipQuestion, ShownText]
    rows: Mapping[ClipQuestion, SharedQuestion] = field(default_factory=dict)
    """Questions that go on from what was read for all of them."""


class SharedPrefix(OwnModel):
    """Answers all questions about a clip for the cost of reading it once."""

    is_simple = False
    shows_clips = True
    reads_orders = True
    form = PrefixArguments

    def __init__(self, batch_size: int | str = AUTO, device: str | None = None, **given: Any) -> None:
        super().__init__(device=device, **given)
        if self._world_size == 1 and device is not None:
            self.device = torch.device(device)
        arguments = self.arguments
        self._ahead = ReadAhead(arguments.decode_workers)
        most, (self._model, self.tokenizer, self.inputs) = agree(lambda: self._load(batch_size))
        # The weights are gone when a run card is written.
        self._attention = getattr(self._model.config, "_attn_implementation", None) or "not known"
        self.max_num_frames, self.fps = arguments.max_num_frames, arguments.fps
        # Only qwen-vl-utils keeps to them, so that nobody takes the frames of other families to be of such sizes.
        has_limits = isinstance(self.inputs, QwenInputs)
        self.min_pixels = arguments.min_pixels if has_limits else None
        self.max_pixels = arguments.max_pixels if has_limits else None
        pad = self.tokenizer.pad_token_id
        self._sharer = PrefixSharer(
            self._model, arguments.positions == "reference", self.tokenizer.eos_token_id if pad is None else pad
        )
        self._batching = Batching(most, self._sharer.device)
        self._shares: bool | None = {AUTO: None, "fast": True, "safe": False}[arguments.mode]
        """Whether questions go on from what was read for all; None until answers have been compared."""
        self._reason = "as asked"
        self._notes: set[str] = set()
        if self._shares is False:
            self._note(NO_SAFE_MODE)

    def _load(self, batch_size: int | str) -> tuple[int | None, tuple[Any, Any, PlainInputs]]:
        arguments, most = self.arguments, read_batch_size(batch_size)
        alone = self._world_size == 1
        spread = arguments.device_map if alone and arguments.device_map else {"": self.device}
        return most, load_checkpoint(arguments, spread)

    @property
    def model(self) -> Any:
        return self._model

    @property
    def facts(self) -> dict[str, Any]:
        """For a run card: what is shared, why not more, whose positions are used, and how attention is computed."""
        modes = {None: "no question could be shared", True: "fast", False: "one by one"}
        return {
            "mode": modes[self._shares],
            "why": self._reason,
            "positions": self.arguments.positions,
            "attention": self._attention,
            "questions at once": f"{'up to ' if self._batching.is_auto else ''}{self._batching.most}",
        }

    @property
    def work(self) -> dict[str, Any]:
        """For a run card: seconds of each stage and counts, on this rank."""
        facts = self._sharer.work.as_facts()
        if self._shares:
            # Each rank compares for itself, and the card has the first rank's mode.
            facts["counts"]["ranks in fast mode"] = 1
        return facts

    def generate_until(self, requests: list[Instance]) -> list[Any]:
        """Answer lmms-eval's requests in order; where there is no answer, an empty text."""
        replies = dict(self.generate_each(requests))
        return [as_output(replies.get(place, Reply())) for place in range(len(requests))]

    def generate_each(self, requests: Sequence[Instance]) -> Iterator[tuple[int, Reply]]:
        """Answer requests clip by clip: places and replies as they come."""
        groups = group_by_clip(requests, self.task_dict)
        failures, left_out = RepeatedFailures("clips"), dict[str, None]()
        with tqdm(total=len(groups), desc="shared_prefix", unit="clip", disable=self._rank != 0) as bar:
            for answers in self._answer_groups(groups):
                failure = None
                for question, reply in answers:
                    if reply.missing:
                        failure, left_out[f"{question.task} {question.item}"] = reply, None
                    yield question.place, reply
                if failure is None or failure.missing is not UnscoredReason.UNREADABLE_CLIP:
                    shared = f"They share the model, a {self._model.config.model_type} on {self.device}."
                    failures.note(failure.detail if failure else None, shared)
                bar.update()
        if left_out:
            names = summarize_names(left_out)
            logger.warning("{:,} questions have no answer and are unscored: {}.", len(left_out), names)

    def _answer_groups(self, groups: Sequence[Group]) -> Iterator[list[Answer]]:
        """Answers to the questions of each group; where a group fails, none, and why."""

        def process(group: Group, reading: Reading[ProcessedClip]) -> ProcessedClip:
            return self.inputs.process([question.read() for question in group], reading)

        waiting: list[ReadClip] = []
        with closing(self._ahead.read(groups, process, self._sharer.work)) as readings:
            for group, reading in readings:
                clip = self._try_to_read(group, reading, beside=waiting)
                if clip is None:  # memory ran out beside those that wait
                    yield from self._answer(waiting)
                    waiting = []
                    free_memory()
                    clip = self._try_to_read(group, reading)
                reading.release()
                if not isinstance(clip, ReadClip):
                    yield clip or []
                    continue
                if not clip.rows:
                    yield from self._answer([*waiting, clip])
                    waiting = []
                    continue
                new_tokens = self._arguments(group[0])["max_new_tokens"]
                rows = [row for one in (*waiting, clip) for row in one.rows.values()]
                if waiting and not self._batching.go_together(rows, new_tokens):
                    yield from self._answer(waiting)
                    waiting = []
                waiting.append(clip)
            yield from self._answer(waiting)

    def _try_to_read(
        self, group: Group, reading: Reading[ProcessedClip], beside: Sequence[ReadClip] = ()
    ) -> ReadClip | list[Answer] | None:
        """A clip as its questions are answered from; no answers, and why, where that fails."""
        try:
            clip = reading.result()
            self._compare(group, clip)
            return self._read_prefix(group, self._sharer.encode(clip), is_alone=not beside)
        except Exception as error:  # of a decoder, a processor or the model
            if beside and is_out_of_memory(error):
                return None
            return [self._leave_out(question, error) for question in group]

    def _compare(self, group: Group, clip: ProcessedClip) -> None:
        """On the first clip with a question that can share, see whether answers are those of plain generation."""
        if self._shares is not None or not clip.media or not self._shareable(group):
            return
        try:
            self._shares, self._reason = compare(self._sharer, clip, self._arguments(group[0]))
        except Exception as error:  # of the model
            if is_out_of_memory(error):
                raise
            self._shares, self._reason = False, describe_error(error)
        if not self._shares:
            self._note(f"shared_prefix answers one by one from here on, and reads each prompt whole: {self._reason}.")

    def _read_prefix(self, group: Group, encoded: EncodedClip, is_alone: bool) -> ReadClip:
        """A clip with what its questions share, where they share something."""
        texts = dict(zip(group, encoded.texts, strict=True))
        shareable, prefix = self._shareable(group), None
        if not self._shares or len(shareable) < (1 if self._batching.most > 1 else 2):
            return ReadClip(encoded, texts)
        try:
            prefix = self._sharer.read_prefix(encoded)
            if prefix is None and encoded.shown:
                self._note("Prompts are read whole where they differ before the clip, or the model's cache is another.")
        except Exception as error:  # reading each prompt by itself takes less memory
            if is_out_of_memory(error) and not is_alone:
                raise
            self._note(ALONE.format(describe_error(error)))
        rows = {one: SharedQuestion(encoded, prefix, texts[one]) for one in shareable} if prefix else {}
        return ReadClip(encoded, texts, rows)

    def _shareable(self, questions: Sequence[ClipQuestion]) -> list[ClipQuestion]:
        """The questions whose answers can be generated from what was read for others; says once why others cannot."""
        shareable = []
        for question in questions:
            arguments = self._arguments(question)
            if arguments["do_sample"]:
                self._note("Prompts are read whole for an answer that is sampled.")
            elif arguments["num_beams"] > 1:
                self._note("Prompts are read whole for an answer that is searched with beams.")
            elif not arguments["use_cache"]:
                self._note("Prompts are read whole for a model that keeps no keys and values.")
            else:
                shareable.append(question)
        return shareable

    def _arguments(self, question: ClipQuestion) -> dict[str, Any]:
        return generation_arguments(question.generation, self.tokenizer, self.arguments.use_cache)

    def _answer(self, clips: Sequence[ReadClip]) -> Iterator[list[Answer]]:
        """Answers to the questions of each of some clips, in batches that are generated alike."""
        alike: dict[str, list[Row]] = {}
        for clip in clips:
            for question, row in clip.rows.items():
                alike.setdefault(repr(self._arguments(question)), []).append((question, row))
        answers: dict[ClipQuestion, Reply] = {}
        for rows in alike.values():
            arguments = self._arguments(rows[0][0])
            size = self._batching.fitting([row for _, row in rows], arguments["max_new_tokens"])
            for first in range(0, len(rows), size):
                answers |= self._answer_together(rows[first : first + size], arguments)
        for clip in clips:
            yield [
                (question, answers[question])
                if question in answers
                else self._answer_alone(clip.encoded, question, text)
                for question, text in clip.texts.items()
            ]

    def _answer_together(self, rows: Sequence[Row], arguments: Mapping[str, Any]) -> dict[ClipQuestion, Reply]:
        """Answers to questions at once; out of memory, to each half of them; none where that does not help."""
        asked = [row for _, row in rows]
        try:
            answered = self._sharer.generate_together(asked, arguments)[:, width_of(asked) :]
            return {question: self._read_tokens(row) for (question, _), row in zip(rows, answered, strict=True)}
        except Exception as error:
            ran_out, described = is_out_of_memory(error), describe_error(error)
        free_memory()
        if not ran_out or len(rows) == 1:  # alone they take less memory
            self._note(ALONE.format(described))
            return {}
        middle = (len(rows) + 1) // 2
        self._batching.most = min(self._batching.most, middle)
        self._note("Memory ran out: fewer questions are answered at once from here on.")
        return self._answer_together(rows[:middle], arguments) | self._answer_together(rows[middle:], arguments)

    def _answer_alone(self, clip: EncodedClip, question: ClipQuestion, text: ShownText) -> Answer:
        if question.seed is not None:
            torch.manual_seed(question.seed)
        try:
            tokens = self._sharer.generate_alone(clip, text, self._arguments(question))
            return question, self._read_tokens(tokens[0, len(text.ids) :])
        except Exception as error:  # of the model
            return self._leave_out(question, error)

    def _read_tokens(self, tokens: torch.Tensor) -> Reply:
        """The reply that tokens are; a batch fills up the shorter ones after their end."""
        fillers = {self.tokenizer.eos_token_id, self.tokenizer.pad_token_id}
        count = sum(1 for _ in takewhile(lambda token: token not in fillers, tokens.tolist()))
        text = self.tokenizer.batch_decode([tokens], skip_special_tokens=True, clean_up_tokenization_spaces=False)[0]
        if self.arguments.enable_thinking:
            text = text.partition("</think>")[2].strip()
        return Reply.of_response(text, TokenCounts(output_tokens=min(count + 1, len(tokens))))

    def _leave_out(self, question: ClipQuestion, error: Exception) -> Answer:
        if is_out_of_memory(error):
            reason = UnscoredReason.OUT_OF_MEMORY
            free_memory()
        else:
            reason = UnscoredReason.UNREADABLE_CLIP if isinstance(error, UnreadableClip) else UnscoredReason.FAILED
        return question, Reply(missing=reason, detail=describe_error(error))

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.add(text)
            logger.warning("{}", text)

"""Answering the questions of a clip: what is shown is encoded once, and where that is possible also read once.

*safe* gives `generate` the outputs of the vision encoder, so that its logits are those of a question on its own, to the
bit. *fast* reads the tokens that all questions begin with into a cache once and goes on from a copy of it for each
question, with explicit positions: the model itself only remembers those of its last call.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from itertools import takewhile
from time import perf_counter
from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from lmms_eval_tasks.models.shared_prefix.inputs import ProcessedClip, ShownText, to_device, without_pixels
from lmms_eval_tasks.models.shared_prefix.positions import Positions, find_positions

ENCODED = "mm_encoder_outputs"
"""The argument by which models of transformers take what their vision encoder has given."""


class SharingMode(str, Enum):
    """How much questions of a clip share."""

    SAFE = "safe"
    FAST = "fast"


@dataclass
class Work:
    """What was done.

    Attributes:
        seconds: Stage to the seconds that it took.
        encoded: How often something shown was encoded.
        prompt_tokens: Tokens of all prompts.
        reused_tokens: Those of them that had been read for another question.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    encoded: int = 0
    prompt_tokens: int = 0
    reused_tokens: int = 0

    @contextmanager
    def measure(self, stage: str, device: torch.device | None = None) -> Iterator[None]:
        """Add the time until it ends to a stage; work that a device still has to do counts."""
        begun = perf_counter()
        try:
            yield
        finally:
            if device is not None and device.type == "cuda":
                torch.cuda.synchronize(device)
            self.seconds[stage] = self.seconds.get(stage, 0.0) + perf_counter() - begun


@dataclass(frozen=True)
class EncodedClip:
    """A clip after the vision encoder.

    Attributes:
        known: What a processor says of what is shown beside the pixels, on the model's device.
        shown: Arguments of the model that stand for the pixels; none where nothing is shown.
        texts: The questions.
    """

    known: Mapping[str, Any]
    shown: Mapping[str, Any]
    texts: tuple[ShownText, ...]

    def renew_shown(self) -> dict[str, Any]:
        """`shown` for one call; `generate` puts other lists of the same tensors into the encoder's outputs."""
        renewed = dict(self.shown)
        if outputs := renewed.get(ENCODED):
            renewed[ENCODED] = {modality: copy.copy(output) for modality, output in outputs.items()}
        return renewed


class PrefixSharer:
    """Generates answers to the questions of one clip after the other.

    Args:
        model: A model of transformers that generates.
        positions: Whose positions are used.
        pad: The token that fills shorter prompts of a batch.
    """

    def __init__(self, model: Any, positions: Positions, pad: int) -> None:
        self.model, self.positions, self.pad = model, positions, pad
        self.work = Work()

    @property
    def device(self) -> torch.device:
        """Where prompts go."""
        device: torch.device = self.model.get_input_embeddings().weight.device
        return device

    def encode(self, clip: ProcessedClip) -> EncodedClip:
        """Run the vision encoder on what is shown."""
        with self.work.measure("encoding", self.device), torch.no_grad():
            media = to_device(clip.media, self.device)
            known = without_pixels(media)
            if len(known) == len(media):
                return EncodedClip(known, {}, clip.texts)
            self.work.encoded += 1
            if not self.model._supports_mm_encoder_outputs():
                pixels = {name: value for name, value in media.items() if name not in known}
                return EncodedClip(known, pixels, clip.texts)
            encoded = self.model._prepare_multimodal_encoder_kwargs_for_generation(media)
            return EncodedClip(known, {ENCODED: encoded[ENCODED]}, clip.texts)

    def generate_alone(self, clip: EncodedClip, text: ShownText, generation: Mapping[str, Any]) -> Any:
        """Generate for one question as if it were the only one, but for the encoder's work.

        Returns:
            What `generate` returns: tokens (1, prompt and answer), or its output where `generation` asks for that.
        """
        self.work.prompt_tokens += len(text.ids)
        with self.work.measure("generating", self.device):
            inputs = {**clip.known, **to_device(text.text, self.device)}
            if self.positions is Positions.REFERENCE:
                inputs["position_ids"] = find_positions(self.model, inputs, self.positions)
            return self.model.generate(**inputs, **clip.renew_shown(), **generation)

    def read_prefix(self, clip: EncodedClip) -> Prefix | None:
        """Read the tokens with which all questions of a clip begin.

        Returns:
            None where that is not possible: they differ before the last of what is shown, or the model's cache is not
            one that can be copied.
        """
        length = common_length([text.ids for text in clip.texts])
        first = clip.texts[0]
        cache = DynamicCache(config=self.model.config.get_text_config(decoder=True))
        if not clip.shown or length < 1 or self._shows_after(first, length) or not _can_copy(cache):
            return None
        with self.work.measure("prefilling", self.device), torch.no_grad():
            inputs = {**clip.known, **to_device(first.text, self.device)}
            self.model(
                input_ids=inputs["input_ids"][:, :length],
                position_ids=find_positions(self.model, inputs, self.positions)[..., :length],
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
                **clip.renew_shown(),
            )
        return Prefix(cache, length)

    def _shows_after(self, text: ShownText, length: int) -> bool:
        """Whether a prompt shows something after its first tokens, or that is not known."""
        tokens = {getattr(self.model.config, name, None) for name in ("image_token_id", "video_token_id")} - {None}
        return not tokens or not tokens.isdisjoint(text.ids[length:])

    def generate_together(
        self, clip: EncodedClip, prefix: Prefix, texts: Sequence[ShownText], generation: Mapping[str, Any]
    ) -> Any:
        """Generate for several questions at once, each from a copy of what was read.

        Returns:
            As `generate_alone`, (questions, prompt and answer); shorter prompts are filled up after the prefix.
        """
        self.work.prompt_tokens += sum(len(text.ids) for text in texts)
        self.work.reused_tokens += prefix.length * len(texts)
        with self.work.measure("generating", self.device):
            longest = max(len(text.ids) for text in texts)
            rows = [self._fill(clip, prefix, text, longest) for text in texts]
            ids, masks, positions = zip(*rows, strict=True)
            return self.model.generate(
                input_ids=torch.cat(ids),
                attention_mask=torch.cat(masks),
                position_ids=torch.cat(positions, dim=-2),
                past_key_values=prefix.copy(len(texts)),
                **generation,
            )

    def _fill(self, clip: EncodedClip, prefix: Prefix, text: ShownText, longest: int) -> tuple[torch.Tensor, ...]:
        """Tokens, mask and positions of a question, filled up after the prefix."""
        inputs = {**clip.known, **to_device(text.text, self.device)}
        ids = inputs["input_ids"]
        positions = find_positions(self.model, inputs, self.positions)
        missing = longest - ids.shape[1]
        mask = torch.ones_like(ids)
        return (
            _insert(ids, prefix.length, missing, self.pad),
            _insert(mask, prefix.length, missing, 0),
            _insert(positions, prefix.length, missing, 0),
        )


@dataclass(frozen=True)
class Prefix:
    """What was read of a clip's questions.

    Attributes:
        cache: Of the tokens that were read.
        length: Number of these tokens.
    """

    cache: DynamicCache
    length: int

    def copy(self, times: int) -> DynamicCache:
        """The cache for some questions at once; a layer replaces its tensors where it grows, so they are shared."""
        copied = copy.copy(self.cache)
        copied.layers = [copy.copy(layer) for layer in self.cache.layers]
        if times > 1:
            copied.batch_repeat_interleave(times)
        return copied


def common_length(prompts: Sequence[Sequence[int]]) -> int:
    """How many tokens prompts have in common from the first on; at least one of each is left over."""
    columns = zip(*prompts, strict=False)
    common = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))
    return min(common, min(map(len, prompts)) - 1)


def _can_copy(cache: DynamicCache) -> bool:
    return type(cache) is DynamicCache and all(type(layer) is DynamicLayer for layer in cache.layers)


def _insert(values: torch.Tensor, place: int, count: int, filler: int) -> torch.Tensor:
    """Values with some fillers in their last dimension."""
    if not count:
        return values
    filled = values.new_full((*values.shape[:-1], count), filler)
    return torch.cat([values[..., :place], filled, values[..., place:]], dim=-1)

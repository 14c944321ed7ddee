"""Answering the questions of a clip: what is shown is encoded once, and where that is possible also read once."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby, takewhile
from typing import Any

import torch
from torch.nn.functional import pad
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from lmms_eval_tasks.host.asking.throughput import PROMPT, REUSED
from lmms_eval_tasks.models.shared_prefix.inputs import ProcessedClip, ShownText, to_device, without_pixels
from lmms_eval_tasks.models.shared_prefix.positions import Positions, find_positions
from lmms_eval_tasks.models.work import Work

ENCODED = "mm_encoder_outputs"
"""The argument by which models of transformers take what their vision encoder has given."""


class SharingMode(str, Enum):
    """Extent to which questions of a clip share computation."""

    SAFE = "safe"
    FAST = "fast"


@dataclass(frozen=True)
class EncodedClip:
    """A clip after the vision encoder."""

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
    """Generates answers to the questions of clips."""

    def __init__(self, model: Any, positions: Positions, pad: int) -> None:
        self.model, self.positions, self.pad = model, positions, pad
        self.work = Work()

    @property
    def device(self) -> torch.device:
        """Device to which prompts go."""
        device: torch.device = self.model.get_input_embeddings().weight.device
        return device

    def encode(self, clip: ProcessedClip) -> EncodedClip:
        """Run the vision encoder on what is shown."""
        with self.work.measure("encoding", self.device), torch.no_grad():
            media = to_device(clip.media, self.device)
            known = without_pixels(media)
            if len(known) == len(media):
                return EncodedClip(known, {}, clip.texts)
            self.work.count("times encoded")
            if not self.model._supports_mm_encoder_outputs():
                pixels = {name: value for name, value in media.items() if name not in known}
                return EncodedClip(known, pixels, clip.texts)
            encoded = self.model._prepare_multimodal_encoder_kwargs_for_generation(media)
            return EncodedClip(known, {ENCODED: encoded[ENCODED]}, clip.texts)

    def generate_alone(self, clip: EncodedClip, text: ShownText, generation: Mapping[str, Any]) -> Any:
        """Generate for one question as if it were the only one, but for the encoder's work."""
        self.work.count(PROMPT, len(text.ids))
        with self.work.measure("generating", self.device):
            inputs = {**clip.known, **to_device(text.text, self.device)}
            if self.positions is Positions.REFERENCE:
                inputs["position_ids"] = find_positions(self.model, inputs, self.positions)
            return self.model.generate(**inputs, **clip.renew_shown(), **generation)

    def read_prefix(self, clip: EncodedClip, less: int = 0) -> Prefix | None:
        """Read the tokens with which all questions of a clip begin."""
        length = common_length([text.ids for text in clip.texts]) - less
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

    def generate_together(self, rows: Sequence[SharedQuestion], generation: Mapping[str, Any]) -> Any:
        """Generate for several questions at once, each from a copy of what was read of its clip."""
        for row in rows:
            self.work.count(PROMPT, len(row.text.ids))
            if len(row.clip.texts) > 1:
                self.work.count(REUSED, row.prefix.length)
        with self.work.measure("generating", self.device):
            longest = max(row.prefix.length for row in rows)
            filled = [self._fill(row, longest, width_of(rows)) for row in rows]
            ids, masks, positions = zip(*filled, strict=True)
            return self.model.generate(
                input_ids=torch.cat(ids),
                attention_mask=torch.cat(masks),
                position_ids=torch.cat(positions, dim=-2),
                past_key_values=join([row.prefix for row in rows]),
                **generation,
            )

    def _fill(self, row: SharedQuestion, longest: int, width: int) -> tuple[torch.Tensor, ...]:
        """Tokens, mask and positions of a question, filled up before and after its prefix."""
        inputs = {**row.clip.known, **to_device(row.text.text, self.device)}
        ids = inputs["input_ids"]
        positions = find_positions(self.model, inputs, self.positions)
        before = longest - row.prefix.length
        after = width - before - ids.shape[1]
        return tuple(
            _insert(_insert(values, row.prefix.length, after, filler), 0, before, filler)
            for values, filler in ((ids, self.pad), (torch.ones_like(ids), 0), (positions, 0))
        )


@dataclass(frozen=True, eq=False)
class Prefix:
    """Prefix read once for a clip's questions."""

    cache: DynamicCache
    length: int

    @property
    def token_bytes(self) -> float:
        whole: int = sum(layer.keys.nbytes + layer.values.nbytes for layer in self.cache.layers)
        return whole / self.length


@dataclass(frozen=True)
class SharedQuestion:
    """A question that is answered from what was read of its clip."""

    clip: EncodedClip
    prefix: Prefix
    text: ShownText


def width_of(rows: Sequence[SharedQuestion]) -> int:
    """Tokens of prompts that are answered together, with those that fill them up."""
    return max(row.prefix.length for row in rows) + max(len(row.text.ids) - row.prefix.length for row in rows)


def join(prefixes: Sequence[Prefix]) -> DynamicCache:
    """One cache of what was read for each of some questions; shorter ones are filled up at their beginning."""
    # A layer replaces its tensors where it grows, so that those of a single question are shared.
    runs = [(prefix, len(list(run))) for prefix, run in groupby(prefixes, key=lambda one: one)]
    longest = max(prefix.length for prefix in prefixes)
    joined = copy.copy(prefixes[0].cache)
    joined.layers = [copy.copy(layer) for layer in joined.layers]
    for place, layer in enumerate(joined.layers if len(prefixes) > 1 else ()):
        for name in ("keys", "values"):
            parts = [
                pad(getattr(prefix.cache.layers[place], name), (0, 0, longest - prefix.length, 0)).expand(
                    times, -1, -1, -1
                )
                for prefix, times in runs
            ]
            setattr(layer, name, torch.cat(parts))
    return joined


def common_length(prompts: Sequence[Sequence[int]]) -> int:
    """Return the number of leading tokens that prompts have in common; at least one of each is left over."""
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

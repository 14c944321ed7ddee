"""Shared work on the questions of a clip, encoded once and if possible read once, with batch sizes and a check."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import Any

import torch
from torch.nn.functional import pad
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from lmms_eval_tasks.host.asking.costs import PROMPT, REUSED
from lmms_eval_tasks.models.base import Work
from lmms_eval_tasks.models.shared_prefix.inputs import (
    AUTO,
    ProcessedClip,
    ShownText,
    find_positions,
    to_device,
    without_pixels,
)
from lmms_eval_tasks.utils.core.errors import InputError

ENCODED = "mm_encoder_outputs"
"""The argument by which models of transformers take what their vision encoder has given."""


@dataclass(frozen=True)
class EncodedClip:
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
    def __init__(self, model: Any, of_reference: bool, pad: int) -> None:
        self.model, self.of_reference, self.pad = model, of_reference, pad
        self.work = Work()

    @property
    def device(self) -> torch.device:
        device: torch.device = self.model.get_input_embeddings().weight.device
        return device

    def positions(self, inputs: Mapping[str, Any]) -> torch.Tensor:
        return find_positions(self.model, inputs, self.of_reference)

    def encode(self, clip: ProcessedClip) -> EncodedClip:
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
            if self.of_reference:
                inputs["position_ids"] = self.positions(inputs)
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
                position_ids=self.positions(inputs)[..., :length],
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
        positions = self.positions(inputs)
        before = longest - row.prefix.length
        after = width - before - ids.shape[1]
        return tuple(
            _insert(_insert(values, row.prefix.length, after, filler), 0, before, filler)
            for values, filler in ((ids, self.pad), (torch.ones_like(ids), 0), (positions, 0))
        )


@dataclass(frozen=True, eq=False)
class Prefix:
    cache: DynamicCache
    length: int

    @property
    def token_bytes(self) -> float:
        whole: int = sum(layer.keys.nbytes + layer.values.nbytes for layer in self.cache.layers)
        return whole / self.length


@dataclass(frozen=True)
class SharedQuestion:
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


MOST = 32
"""Most questions that are answered at once where the number is not given."""
ALIKE = 1.25
"""How many times as long as another the prefix of a clip may be that is answered together with it."""
CPU_BYTES = 2_000_000_000
"""Of the caches of questions that are answered at once, where they lie in main memory."""
GPU_SHARE = 0.5
"""Of the device's memory beside the weights that these caches may take."""


class Batching:
    def __init__(self, most: int | None, device: torch.device) -> None:
        self.is_auto, self.most = most is None, most or MOST
        self.limit = CPU_BYTES
        if device.type == "cuda":
            whole = torch.cuda.get_device_properties(device).total_memory
            self.limit = int(GPU_SHARE * (whole - torch.cuda.memory_allocated(device)))

    def go_together(self, rows: Sequence[SharedQuestion], new_tokens: int) -> bool:
        lengths = [row.prefix.length for row in rows]
        return max(lengths) <= ALIKE * min(lengths) and len(rows) <= self.fitting(rows, new_tokens)

    def fitting(self, rows: Sequence[SharedQuestion], new_tokens: int) -> int:
        """Return the number of such questions that fit; at least one."""
        if not self.is_auto:
            return self.most
        row_bytes = (width_of(rows) + new_tokens) * max(row.prefix.token_bytes for row in rows)
        return max(1, min(self.most, int(self.limit / row_bytes)))


def read_batch_size(given: int | str) -> int | None:
    """The most questions that are answered at once; None where memory says so."""
    if given == AUTO or given == 1:
        return None
    if str(given).isdecimal() and int(given) >= 1:
        return int(given)
    raise InputError(f"Expected batch_size to be auto or a whole number from 1 on, but got {given!r}.")


QUESTIONS = 2
"""How many of the clip's questions are compared."""
TOKENS = 8
"""How many tokens of each answer are compared."""
TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-3, torch.float16: 0.02, torch.bfloat16: 0.1}
"""The largest distance of two logit vectors, as a share of their length without their mean, that is rounding.

Reading a prompt in two parts sums in another order. Wrong positions of tiny random models move logits by more than a
hundred times the bound of float32.
"""


def compare(sharer: PrefixSharer, clip: ProcessedClip, generation: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether a clip's first questions are answered from a shared prefix as by plain generation, and how alike."""
    asked = {**generation, "max_new_tokens": min(TOKENS, generation["max_new_tokens"])}
    asked |= {"return_dict_in_generate": True, "output_logits": True}
    # The work of comparing is not that of answering.
    sharer = PrefixSharer(sharer.model, sharer.of_reference, sharer.pad)
    encoded = sharer.encode(clip)
    prefix, shorter = sharer.read_prefix(encoded), sharer.read_prefix(encoded, less=1)
    if prefix is None:
        return False, "prompts or the model's cache cannot be shared"
    rows = [SharedQuestion(encoded, shorter or prefix, text) for text in clip.texts[:QUESTIONS]]
    rows.append(SharedQuestion(encoded, prefix, clip.texts[0]))
    together = sharer.generate_together(rows, asked)
    prompt = width_of(rows)
    distance, same = 0.0, True
    for place, row in enumerate(rows):
        inputs = to_device({**clip.media, **row.text.text}, sharer.device)
        if sharer.of_reference:
            inputs["position_ids"] = sharer.positions(inputs)
        plain = sharer.model.generate(**inputs, **asked)
        own, shared = plain.sequences[0, len(row.text.ids) :], together.sequences[place, prompt:]
        for step, token in enumerate(own):
            distance = max(distance, _distance(plain.logits[step][0], together.logits[step][place]))
            if int(token) != int(shared[step]):
                same = False
                break
    tolerance = TOLERANCE.get(sharer.model.dtype, TOLERANCE[torch.float32])
    tokens = "the same tokens" if same else "other tokens"
    alike = f"{tokens}, logits within {distance:.1e} (rounding: {tolerance:g})"
    return same and distance <= tolerance, f"compared with plain generation: {alike}"


def _distance(plain: torch.Tensor, shared: torch.Tensor) -> float:
    plain, shared = plain.double(), shared.double()
    length = float((plain - plain.mean()).norm())
    distance = float((plain - shared).norm())
    return distance / length if length else distance

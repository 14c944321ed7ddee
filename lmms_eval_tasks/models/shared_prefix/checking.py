"""Whether answers from a shared prefix are those of plain generation, as one clip shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from lmms_eval_tasks.models.shared_prefix.inputs import ProcessedClip, to_device
from lmms_eval_tasks.models.shared_prefix.positions import Positions, find_positions
from lmms_eval_tasks.models.shared_prefix.sharing import PrefixSharer, SharedQuestion, width_of

QUESTIONS = 2
"""How many of the clip's questions are compared."""
TOKENS = 8
"""How many tokens of each answer are compared."""
TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-3, torch.float16: 0.02, torch.bfloat16: 0.1}
"""The largest distance of two logit vectors, as a share of their length without their mean, that is rounding.

Reading a prompt in two parts sums in another order. Wrong positions of tiny random models move logits by more than a
hundred times the bound of float32.
"""


@dataclass(frozen=True)
class ModeComparison:
    """Answers from a shared prefix beside those of plain generation."""

    distance: float
    same_tokens: bool
    tolerance: float

    @property
    def equal(self) -> bool:
        """Whether the two are the same."""
        return self.same_tokens and self.distance <= self.tolerance

    @property
    def text(self) -> str:
        """The comparison in words."""
        tokens = "the same tokens" if self.same_tokens else "other tokens"
        return f"{tokens}, logits within {self.distance:.1e} (rounding: {self.tolerance:g})"


def compare(sharer: PrefixSharer, clip: ProcessedClip, generation: Mapping[str, Any]) -> ModeComparison | None:
    """Compare answers to a clip's first questions; None where these cannot share a prefix."""
    asked = {**generation, "max_new_tokens": min(TOKENS, generation["max_new_tokens"])}
    asked |= {"return_dict_in_generate": True, "output_logits": True}
    # The work of comparing is not that of answering.
    sharer = PrefixSharer(sharer.model, sharer.positions, sharer.pad)
    encoded = sharer.encode(clip)
    prefix, shorter = sharer.read_prefix(encoded), sharer.read_prefix(encoded, less=1)
    if prefix is None:
        return None
    rows = [SharedQuestion(encoded, shorter or prefix, text) for text in clip.texts[:QUESTIONS]]
    rows.append(SharedQuestion(encoded, prefix, clip.texts[0]))
    together = sharer.generate_together(rows, asked)
    prompt = width_of(rows)
    distances, same = [0.0], True
    for place, row in enumerate(rows):
        text = row.text
        inputs = to_device({**clip.media, **text.text}, sharer.device)
        if sharer.positions is Positions.REFERENCE:
            inputs["position_ids"] = find_positions(sharer.model, inputs, sharer.positions)
        plain = sharer.model.generate(**inputs, **asked)
        own, shared = plain.sequences[0, len(text.ids) :], together.sequences[place, prompt:]
        for step, token in enumerate(own):
            distances.append(_distance(plain.logits[step][0], together.logits[step][place]))
            if int(token) != int(shared[step]):
                same = False
                break
    return ModeComparison(max(distances), same, TOLERANCE.get(sharer.model.dtype, TOLERANCE[torch.float32]))


def _distance(plain: torch.Tensor, shared: torch.Tensor) -> float:
    plain, shared = plain.double(), shared.double()
    length = float((plain - plain.mean()).norm())
    distance = float((plain - shared).norm())
    return distance / length if length else distance

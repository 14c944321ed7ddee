"""What a judge of CaST-Bench's free answers replies, whichever of its two prompts it was asked with."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic import BaseModel

from lmms_eval_tasks.cast_bench.card import DIMENSIONS
from lmms_eval_tasks.cast_bench.open_ended import AgreementScores, ConsistencyScore


def schema_of(prompt: str) -> type[BaseModel]:
    """The form of reply that a prompt asks for."""
    return ConsistencyScore if prompt.rstrip().endswith('{"causal_chain_logical_consistency": 0}') else AgreementScores


def reply_to(prompt: str, scores: Sequence[float], **changes: object) -> str:
    """The reply to a prompt that gives these scores, in the order of `DIMENSIONS`."""
    named = dict(zip(DIMENSIONS, scores, strict=True))
    fields = schema_of(prompt).model_fields
    return json.dumps({**{name: named[name] for name in fields}, **changes})

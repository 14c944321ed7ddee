"""What a judge of CaST-Bench's free answers replies, whichever of its two prompts it was asked with."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from lmms_eval_tasks.cast_bench.card import DIMENSIONS
from lmms_eval_tasks.cast_bench.open_ended import AgreementScores, ConsistencyScore
from lmms_eval_tasks.utils.judge.client import Judge, Verdict
from lmms_eval_tasks.utils.judge.replies import Case, Limits, Reply, ReplyCache, Sampling


def schema_of(prompt: str) -> type[BaseModel]:
    """The form of reply that a prompt asks for."""
    return ConsistencyScore if prompt.rstrip().endswith('{"causal_chain_logical_consistency": 0}') else AgreementScores


def reply_to(prompt: str, scores: Sequence[float], **changes: object) -> str:
    """The reply to a prompt that gives these scores, in the order of `DIMENSIONS`."""
    named = dict(zip(DIMENSIONS, scores, strict=True))
    fields = schema_of(prompt).model_fields
    return json.dumps({**{name: named[name] for name in fields}, **changes})


class BothForms:
    """A judge that gives each case to that of its form of reply."""

    def __init__(self, judges: Mapping[type[BaseModel], Judge[Any]]) -> None:
        self._judges = judges

    def judge(self, case: Case) -> Verdict[Any]:
        """The verdict on a case."""
        return self._judges[schema_of(case.text)].judge(case)


def score_reply(prompt: str, scores: Sequence[float]) -> BaseModel:
    """The same as it is read."""
    return schema_of(prompt).model_validate_json(reply_to(prompt, scores))


def judge_both(send: Callable[[Case], Reply], folder: Path) -> BothForms:
    """A judge of both forms that replies by a function, and keeps its replies in a folder."""
    schemas: tuple[type[BaseModel], ...] = (AgreementScores, ConsistencyScore)
    return BothForms(
        {
            schema: Judge(send, Sampling("asked"), schema, ReplyCache(folder), Limits(first_delay=0.0))
            for schema in schemas
        }
    )

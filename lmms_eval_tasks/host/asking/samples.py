"""Several samples of each item, as `lmms-eval --repeats` asks for them: numbered, and each with a seed of its own."""

from __future__ import annotations

import copy
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from loguru import logger

from lmms_eval_tasks.host.asking.stages import Ask, AskingStage
from lmms_eval_tasks.host.ranks import stop_if_any
from lmms_eval_tasks.host.tasks.running import TaskState
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.core.text import summarize_names

SAMPLE, SEED = "__sample__", "__seed__"
"""The entries of a request's metadata with the number of its sample, from 1, and with the seed by which it is drawn."""


def sample_of(request: Any) -> int:
    return int((getattr(request, "metadata", None) or {}).get(SAMPLE, 1))


def seed_of(request: Any) -> int | None:
    return (getattr(request, "metadata", None) or {}).get(SEED)


def generation_of(request: Any) -> Mapping[str, Any]:
    """Return the settings by which the answer to a request is generated."""
    for value in request.args:
        if isinstance(value, dict):
            return value
    return {}


def _make_seed(*parts: object) -> int:
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4], "big") >> 1


def is_sampled(generation: Mapping[str, Any]) -> bool:
    temperature = generation.get("temperature") or 0
    return bool(generation.get("do_sample")) or (isinstance(temperature, int | float) and temperature > 0)


class Samples(AskingStage):
    """Numbers requests that lmms-eval repeats, so that each of them is one sample wherever and whenever it is asked."""

    def __init__(self) -> None:
        import torch

        self._seed = torch.initial_seed()  # that of --seed, which lmms-eval has set

    def answer(self, ask: Ask, requests: list[Any]) -> list[Reply]:
        asked = Counter(map(id, requests))
        numbers: Counter[int] = Counter()
        numbered = []
        for request in requests:
            numbers[id(request)] += 1
            if asked[id(request)] > 1:
                number, request = numbers[id(request)], copy.copy(request)
                seed = _make_seed(self._seed, request.task_name, request.doc_id, number)
                request.metadata = {**(request.metadata or {}), SAMPLE: number, SEED: seed}
            numbered.append(request)
        return ask(numbered)

    def before(self, requests: list[Any]) -> None:
        """Draw samples of the same requests alike in every run: on any rank, and in one that goes on."""
        seeds = [seed for request in requests if (seed := seed_of(request)) is not None]
        if seeds:
            import torch

            torch.manual_seed(_make_seed(*seeds))


def take_all_samples(model: Any, tasks: Mapping[TaskState, Any]) -> None:
    """Have the hooks of tasks that ask each item several times given all answers, where lmms-eval keeps the first."""
    from lmms_eval.api.filter import FilterEnsemble

    several = {state.name: task for state, task in tasks.items() if (task.config.repeats or 1) > 1}
    if own := [state for state in tasks if state.name in several and state.view.across != "mean"]:
        stop_if_any(
            f"Expected one sample an item of {summarize_names([state.name for state in own])}, whose samples are "
            f"{own[0].view.samples}. "
            "Run it by itself, without --repeats."
        )
    for task in several.values():
        if task.config.filter_list is None:
            task._filters = [FilterEnsemble("none", [])]
    if not getattr(model, "draws", False) and (message := describe_equal_samples(several.items())):
        logger.warning("{}", message)


def describe_equal_samples(tasks: Iterable[tuple[str, Any]]) -> str | None:
    equal = {name: task.config.repeats for name, task in tasks if not is_sampled(task.config.generation_kwargs or {})}
    if not equal:
        return None
    return (
        f"temperature: 0 in {summarize_names(equal)}: the {max(equal.values())} samples of an item will be equal, and "
        "each is paid for. Remedy: --gen_kwargs temperature=0.7,do_sample=true"
    )

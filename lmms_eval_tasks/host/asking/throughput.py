"""Throughput of a model, in clips and questions an hour, and the mark of requests that only pad ranks."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from lmms_eval_tasks.host.model.answer_forms import is_ours
from lmms_eval_tasks.host.ranks import gather_objects
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.host.wrapping import replaced_method

PADDING = "__padding_only__"
"""The entry of a request's metadata that says so, as lmms-eval has it."""


def is_padding(request: Any) -> bool:
    """Whether a request is there only to make ranks equal."""
    return bool((getattr(request, "metadata", None) or {}).get(PADDING))


EACH = "generate_each"
"""A model's method that gives answers as they come, if it has one."""
HOUR = 3600
PROMPT, REUSED = "prompt tokens", "prompt tokens reused"
"""Counts of a model's work that are also put down as a share."""

Asked = defaultdict[tuple[str, str], list[int]]
"""Task and split to the indices of the rows that were asked."""


@dataclass
class Answered:
    """Questions and clips that one rank's model has answered."""

    seconds: float = 0.0
    questions: int = 0
    clips: set[tuple[str, ...]] = field(default_factory=set)
    work: Mapping[str, Any] = field(default_factory=dict)


@contextmanager
def measure_throughput(model: Any, evaluation: Evaluation) -> Iterator[None]:
    """Time the model's work as long as the context lasts; the evaluation then knows the throughput of all ranks."""
    answered, asked = Answered(), Asked(list)
    note = functools.partial(_note, evaluation, answered, asked)
    # A model that gives answers as they come does so in both methods.
    if hasattr(model, EACH):
        name, method = EACH, _time_each(getattr(model, EACH), note)
    else:
        name, method = "generate_until", _time(model.generate_until, note, is_ours(type(model)))
    with replaced_method(model, name, method):
        yield
    for (task, split), doc_ids in asked.items():
        state = evaluation.tasks[task]
        clips = state.shown.clip_names(model.task_dict[task][split])
        answered.questions += len(doc_ids)
        answered.clips.update((state.benchmark.name, state.view.name, *clips[doc_id]) for doc_id in doc_ids)
    answered.work = getattr(model, "work", None) or {}
    evaluation.throughput = describe(gather_objects(answered))


def _time(method: Any, note: Callable[..., None], works_for_others: bool) -> Callable[..., Any]:
    @functools.wraps(method)
    def answer(requests: list[Any]) -> Any:
        # A rank that is dealt nothing calls this; only our own models then have something to do.
        if not requests and not works_for_others:
            return []
        begun = perf_counter()
        responses = method(requests)
        note(requests, perf_counter() - begun)
        return responses

    return answer


def _time_each(method: Any, note: Callable[..., None]) -> Callable[..., Any]:
    @functools.wraps(method)
    def answer_each(requests: list[Any]) -> Iterator[Any]:
        begun = perf_counter()
        try:
            yield from method(requests)
        finally:
            note(requests, perf_counter() - begun)

    return answer_each


def _note(evaluation: Evaluation, answered: Answered, asked: Asked, requests: Iterable[Any], seconds: float) -> None:
    answered.seconds += seconds
    for request in requests:
        if request.task_name in evaluation.tasks and not is_padding(request):
            doc_id, task, split = request.args[-3:]
            asked[task, split].append(doc_id)


def describe(ranks: list[Answered]) -> dict[str, Any]:
    """The throughput of ranks together, by the names of a run card's fields; empty where nothing was answered."""
    seconds = max(rank.seconds for rank in ranks)
    questions, clips = sum(rank.questions for rank in ranks), len(set().union(*(rank.clips for rank in ranks)))
    if not questions or seconds <= 0:
        return {}
    facts: dict[str, Any] = {
        "questions": questions,
        "clips": clips,
        "questions an hour": round(questions / seconds * HOUR),
        "clips an hour": round(clips / seconds * HOUR),
        "seconds": round(seconds, 1),
    }
    stages: dict[str, float] = {}
    counts: dict[str, int] = {}
    for rank in ranks:
        for stage, time in rank.work.get("seconds", {}).items():
            stages[stage] = stages.get(stage, 0.0) + time
        for name, count in rank.work.get("counts", {}).items():
            counts[name] = counts.get(name, 0) + count
    if counts.get(PROMPT):
        facts["share of prompt tokens reused in %"] = round(100 * counts.get(REUSED, 0) / counts[PROMPT], 1)
    return facts | {f"seconds {stage}": round(time, 1) for stage, time in stages.items()} | counts

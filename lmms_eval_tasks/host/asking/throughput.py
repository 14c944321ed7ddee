"""Throughput of a model, in clips and questions an hour."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from lmms_eval_tasks.host.asking.stages import AskingStage, is_padding
from lmms_eval_tasks.host.ranks import gather_objects
from lmms_eval_tasks.host.tasks.running import Evaluation

HOUR = 3600
PROMPT, REUSED = "prompt tokens", "prompt tokens reused"
"""Counts of a model's work that are also put down as a share."""


@dataclass
class Answered:
    """Questions and clips that one rank's model has answered; of a clip the task, then what was shown."""

    seconds: float = 0.0
    questions: int = 0
    clips: set[tuple[str, ...]] = field(default_factory=set)
    work: Mapping[str, Any] = field(default_factory=dict)
    spent: Counter[tuple[str, str]] = field(default_factory=Counter)


class Throughput(AskingStage):
    """Times the model's work; the evaluation then knows the throughput of all ranks."""

    def __init__(self, model: Any, evaluation: Evaluation) -> None:
        self._model, self._evaluation = model, evaluation
        self._seconds = 0.0
        self._asked: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        """Task and split to the indices of the rows that were asked."""

    @contextmanager
    def during(self) -> Iterator[None]:
        """Count what was answered, once all is."""
        yield
        work = getattr(self._model, "work", None) or {}
        answered = Answered(self._seconds, work=work, spent=self._evaluation.spent)
        for (task, split), doc_ids in self._asked.items():
            state = self._evaluation.tasks[task]
            clips = state.shown.clip_names(self._model.task_dict[task][split])
            answered.questions += len(doc_ids)
            shown = state.benchmark.name, state.view.name
            answered.clips.update((task, *shown, *clips[doc_id]) for doc_id in doc_ids)
        ranks = gather_objects(answered)
        self._evaluation.throughput = describe(ranks)
        seen = set[tuple[str, ...]]().union(*(rank.clips for rank in ranks))
        spent = self._evaluation.spent = Counter((task, "clips") for task, _, _, *names in seen if names)
        for rank in ranks:
            spent.update(rank.spent)

    @contextmanager
    def call(self, requests: list[Any]) -> Iterator[None]:
        """Time a call that does not fail."""
        begun = perf_counter()
        yield
        seconds = perf_counter() - begun
        self._seconds += seconds
        for request in requests:
            if request.task_name in self._evaluation.tasks and not is_padding(request):
                doc_id, task, split = request.args[-3:]
                self._asked[task, split].append(doc_id)
                # Requests that are answered together have equal shares of the time.
                self._evaluation.spent[task, "seconds"] += seconds / len(requests)  # type: ignore[assignment]


def describe(ranks: list[Answered]) -> dict[str, Any]:
    """Return the throughput of ranks together, by the names of a run card's fields; empty where nothing was
    answered."""
    seconds = max(rank.seconds for rank in ranks)
    questions, clips = sum(rank.questions for rank in ranks), len({one[1:] for rank in ranks for one in rank.clips})
    if not questions or seconds <= 0:
        return {}
    facts: dict[str, Any] = {
        "questions": questions,
        "clips": clips,
        "questions an hour": round(questions / seconds * HOUR),
        "clips an hour": round(clips / seconds * HOUR),
        "seconds": round(seconds, 1),
    }
    stages: defaultdict[str, float] = defaultdict(float)
    counts = Counter[str]()
    for rank in ranks:
        for stage, time in rank.work.get("seconds", {}).items():
            stages[stage] += time
        for name, count in rank.work.get("counts", {}).items():
            counts[name] += count
    if counts[PROMPT]:
        facts["share of prompt tokens reused in %"] = round(100 * counts[REUSED] / counts[PROMPT], 1)
    return facts | {f"seconds {stage}": round(time, 1) for stage, time in stages.items()} | counts

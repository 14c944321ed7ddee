"""What a run's answers cost, for the run card: tokens, as lmms-eval's adapters count them, and the model's time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from lmms_eval_tasks.host.asking.stages import Ask, AskingStage, is_padding
from lmms_eval_tasks.host.ranks import gather_objects
from lmms_eval_tasks.host.tasks.running import TaskState
from lmms_eval_tasks.runs.costs import KINDS
from lmms_eval_tasks.utils.answers.reply import Reply

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


class KeptPlaces(Protocol):
    places: frozenset[int]
    """The places of the last requests whose answers were kept from before."""


class Costs(AskingStage):
    """Counts answers, kept ones among them, and their tokens by task, and times the model's work on all ranks."""

    def __init__(self, model: Any, tasks: Mapping[str, TaskState], kept: KeptPlaces) -> None:
        self._model, self._tasks, self._kept = model, tasks, kept
        self._seconds = 0.0
        self._spent: Counter[tuple[str, str]] = Counter()
        self._throughput: Mapping[str, Any] = {}
        self._asked: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        """Task and split to the indices of the rows that were asked."""

    @contextmanager
    def during(self) -> Iterator[None]:
        yield
        work = getattr(self._model, "work", None) or {}
        answered = Answered(self._seconds, work=work, spent=self._spent)
        for (task, split), doc_ids in self._asked.items():
            state = self._tasks[task]
            clips = state.shown.clip_names(self._model.task_dict[task][split])
            answered.questions += len(doc_ids)
            shown = state.benchmark.name, state.view.name
            answered.clips.update((task, *shown, *clips[doc_id]) for doc_id in doc_ids)
        ranks = gather_objects(answered)
        self._throughput = describe(ranks)
        seen = set[tuple[str, ...]]().union(*(rank.clips for rank in ranks))
        self._spent = Counter((task, "clips") for task, _, _, *names in seen if names)
        for rank in ranks:
            self._spent.update(rank.spent)

    def facts(self) -> Mapping[str, Any]:
        return {"spent": self._spent, "throughput": self._throughput}

    def answer(self, ask: Ask, requests: list[Any]) -> list[Reply]:
        replies, spent = ask(requests), self._spent
        for place, (request, reply) in enumerate(zip(requests, replies, strict=False)):
            task, kept = request.task_name, place in self._kept.places
            if task not in self._tasks or is_padding(request):
                continue
            spent[task, "answers"] += 1
            spent[task, "answers kept"] += kept
            for kind in KINDS.values():
                number = getattr(reply.counts, f"{kind}_tokens", None)
                if number is not None:
                    spent[task, f"answers with {kind} tokens"] += 1
                    spent[task, f"{kind} tokens"] += number
                    spent[task, f"{kind} tokens kept"] += number if kept else 0
        return replies

    def after(self, requests: list[Any], seconds: float) -> None:
        self._seconds += seconds
        for request in requests:
            if request.task_name in self._tasks and not is_padding(request):
                doc_id, task, split = request.args[-3:]
                self._asked[task, split].append(doc_id)
                # Requests that are answered together have equal shares of the time.
                self._spent[task, "seconds"] += seconds / len(requests)  # type: ignore[assignment]


def describe(ranks: list[Answered]) -> dict[str, Any]:
    """Return the throughput of ranks together, by a run card's fields; empty where nothing was answered."""
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
    stages, counts = Counter[str](), Counter[str]()
    for rank in ranks:
        stages.update(rank.work.get("seconds", {}))
        counts.update(rank.work.get("counts", {}))
    if counts[PROMPT]:
        facts["share of prompt tokens reused in %"] = round(100 * counts[REUSED] / counts[PROMPT], 1)
    return facts | {f"seconds {stage}": round(time, 1) for stage, time in stages.items()} | counts

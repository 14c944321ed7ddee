"""Media of views, made ahead in threads while the model answers earlier requests."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Lock
from typing import Any

from lmms_eval_tasks.host.asking.kept_answers import part_size
from lmms_eval_tasks.host.asking.stages import AskingStage, is_padding
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.host.tasks.task_view import open_store
from lmms_eval_tasks.utils.core.work import own_cores
from lmms_eval_tasks.utils.data.made import MadeClip, Making

AHEAD = 2
"""How many things are made ahead for each thread, at least."""


class ViewsAhead(AskingStage):
    """Makes what requests show, some of it ahead of the request that is answered; threads may share it."""

    def __init__(self, model: Any, evaluation: Evaluation) -> None:
        self._model, self._evaluation = model, evaluation
        self._lock, self._owner = Lock(), os.getpid()
        self._expected: deque[Any] = deque()
        self._known: set[int] = set()
        self._coming: dict[Making, Future[MadeClip]] = {}
        self._submitted: set[Making] = set()
        self._pool: ThreadPoolExecutor | None = None

    @contextmanager
    def during(self) -> Iterator[None]:
        """Start threads where views are made; what they have begun becomes whole."""
        evaluation, cores = self._evaluation, own_cores()
        if not evaluation.clips_needed or not any(state.view.is_made for state in evaluation.tasks.values()):
            yield
            return
        self._most = max(AHEAD * cores, part_size(self._model))
        self._pool = ThreadPoolExecutor(cores, thread_name_prefix="views-ahead")
        try:
            yield
        finally:
            pool, self._pool = self._pool, None
            pool.shutdown(cancel_futures=True)

    def before(self, requests: list[Any]) -> None:
        self.expect(requests)

    def expect(self, requests: Sequence[Any]) -> None:
        """Learn which requests will be asked, in this order, after those that are known already."""
        if self._pool is None:
            return
        with self._lock:
            new = [one for one in requests if id(one) not in self._known and not is_padding(one)]
            self._known.update(map(id, new))
            self._expected.extend(new)

    def take(self, making: Making) -> MadeClip:
        """Return the clip to show now, made here if no thread has begun with it; errors are those of `Making.run`."""
        # A fork of an adapter's has none of the threads.
        if self._pool is None or os.getpid() != self._owner:
            return making.run(open_store())
        with self._lock:
            self._submitted.add(making)
            coming = self._coming.pop(making, None)
            while self._expected and len(self._coming) < self._most:
                self._submit(self._expected.popleft())
        if coming is not None and not coming.cancel():
            wait([coming])
        return making.run(open_store())

    def _submit(self, request: Any) -> None:
        """Have what a request shows made, each thing once."""
        state = self._evaluation.tasks.get(request.task_name)
        if state is None or not state.view.is_made:
            return
        doc_id, task, split = request.args[-3:]
        for making in state.shown.makings(self._model.task_dict[task][split][doc_id]):
            if self._pool and making not in self._submitted:
                self._submitted.add(making)
                self._coming[making] = self._pool.submit(making.run, open_store())

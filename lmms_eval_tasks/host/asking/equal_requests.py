"""Requests that are equal to the letter, as both members of a pair whose clip is not shown have them: asked once."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from lmms_eval_tasks.host.asking.kept_answers import computes_in_step
from lmms_eval_tasks.host.asking.samples import generation_of, is_sampled, sample_of
from lmms_eval_tasks.host.asking.stages import Ask, AskingStage, is_padding
from lmms_eval_tasks.host.ranks import current_exchange
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.host.tasks.task_view import ItemKey
from lmms_eval_tasks.utils.answers.reply import Reply


class EqualRequests(AskingStage):
    """Asks equal requests of a task once, on whichever rank, and gives all of them the reply; drawn answers are not."""

    def __init__(self, model: Any, evaluation: Evaluation) -> None:
        self._model, self._evaluation = model, evaluation
        self._shared: Counter[str] = Counter()

    @contextmanager
    def during(self) -> Iterator[None]:
        yield
        self._shared = sum(current_exchange().gather(self._shared), Counter())

    def facts(self) -> Mapping[str, Any]:
        return {"shared": self._shared}

    def answer(self, ask: Ask, requests: list[Any]) -> list[Reply]:
        ranks = current_exchange()
        # Ranks that compute together are asked equally many; what looks at no clip answers by the item.
        in_step = ranks.size > 1 and computes_in_step(self._model)
        if in_step or not self._evaluation.clips_needed or getattr(self._model, "draws", False):
            return ask(requests)
        keys = self._keys(requests, alone=ranks.size == 1)
        asking: dict[Hashable, tuple[int, int]] = {}
        """The rank and place of the request that is asked for all that are equal."""
        repeated = set[Hashable]()
        for rank, of_rank in enumerate(ranks.gather(keys)):
            for place, key in enumerate(of_rank):
                if key and asking.setdefault(key, (rank, place)) != (rank, place):
                    repeated.add(key)
        if not repeated:
            return ask(requests)
        own = [place for place, key in enumerate(keys) if not key or asking[key] == (ranks.rank, place)]
        found = dict(zip(own, ask([requests[place] for place in own]), strict=False))
        shared = {key: found[place] for place in found if (key := keys[place]) in repeated}
        known = {key: reply for of_rank in ranks.gather(shared) for key, reply in of_rank.items()}
        for place in set(range(len(requests))) - set(own):
            found[place] = known.get(keys[place], Reply())
            self._shared[requests[place].task_name] += 1
        return [found.get(place, Reply()) for place in range(len(requests))]

    def _keys(self, requests: Sequence[Any], alone: bool) -> list[Hashable]:
        """Return what each request asks, the same for those that are equal; nothing where it is asked by itself."""
        prompts = Counter((request.task_name, request.args[0]) for request in requests)
        tables: dict[tuple[str, str], Callable[[int], ItemKey]] = {}

        def key_of(request: Any) -> Hashable:
            state, generation = self._evaluation.tasks.get(request.task_name), generation_of(request)
            if state is None or not state.asks_alike or is_padding(request) or is_sampled(generation):
                return None
            if alone and prompts[request.task_name, request.args[0]] == 1:
                return None
            doc_id, task, split = request.args[-3:]
            if (task, split) not in tables:
                tables[task, split] = state.shown.answered_items(self._model.task_dict[task][split])
            item = tables[task, split](doc_id)
            how = repr((item.shown, generation))
            asked = (task, split, request.args[0], sample_of(request), item.files, how)
            # Other ranks get no prompts.
            return asked if alone else hashlib.sha256(repr(asked).encode("utf-8", "replace")).hexdigest()

        return list(map(key_of, requests))

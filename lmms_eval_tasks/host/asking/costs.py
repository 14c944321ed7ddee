"""Tokens of a run's answers, as lmms-eval's adapters count them, for the run card."""

from __future__ import annotations

from typing import Any

from lmms_eval_tasks.host.asking.stages import Ask, AskingStage, is_padding
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.runs.costs import KINDS


class Costs(AskingStage):
    """Counts answers and their tokens by task, and how many of them were kept from before."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation

    def answer(self, ask: Ask, requests: list[Any]) -> list[Any]:
        from lmms_eval.api.instance import unwrap_generation_output

        self._evaluation.kept_places = frozenset()
        responses = ask(requests)
        spent = self._evaluation.spent
        for place, (request, response) in enumerate(zip(requests, responses, strict=False)):
            task, kept = request.task_name, place in self._evaluation.kept_places
            if task not in self._evaluation.tasks or is_padding(request):
                continue
            spent[task, "answers"] += 1
            spent[task, "answers kept"] += kept
            _, counts = unwrap_generation_output(response)
            for kind in KINDS.values():
                number = getattr(counts, f"{kind}_tokens", None)
                if number is not None:
                    spent[task, f"answers with {kind} tokens"] += 1
                    spent[task, f"{kind} tokens"] += number
                    spent[task, f"{kind} tokens kept"] += number if kept else 0
        return responses

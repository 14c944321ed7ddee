"""An evaluation without Python's garbage collector, but where the model answers."""

from __future__ import annotations

import functools
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lmms_eval_tasks.host.wrapping import replaced_method
from lmms_eval_tasks.utils.core.collection import no_collection

ANSWER = "generate_until"
"""The method by which a model answers every one of our tasks."""


@contextmanager
def collect_while_answering(model: Any) -> Iterator[None]:
    """As long as it lasts, Python looks for cycles of objects only while the model answers.

    Asking and grading make many objects that live until the end, and no cycle of them; a model may make cycles that
    hold a GPU's memory.
    """
    if not gc.isenabled():
        yield
        return
    answer = getattr(model, ANSWER)

    @functools.wraps(answer)
    def answer_with_collection(requests: list[Any]) -> Any:
        gc.enable()
        try:
            return answer(requests)
        finally:
            gc.disable()

    with no_collection(), replaced_method(model, ANSWER, answer_with_collection):
        yield

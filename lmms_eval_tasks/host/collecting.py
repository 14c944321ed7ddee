"""An evaluation without Python's garbage collector, but where the model answers."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lmms_eval_tasks.host.ranks import on_command_line
from lmms_eval_tasks.host.wrapping import replaced_method

ANSWER = "generate_until"
"""The method by which a model answers every one of our tasks."""


@contextmanager
def collect_while_answering(model: Any) -> Iterator[None]:
    """Collect cycles of objects only while the model answers, as long as the context lasts."""
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

    gc.disable()
    leave_off = False
    try:
        with replaced_method(model, ANSWER, answer_with_collection):
            yield
        leave_off = on_command_line()
    finally:
        if not leave_off:
            gc.enable()


def collect_again() -> None:
    """On lmms-eval's command line, enable collection, which an evaluation may have left off."""
    if on_command_line():
        gc.enable()


def collect_once_gone(results: object) -> None:
    """The same when nothing refers to an evaluation's results any more: they are saved, and the command line ends."""
    if on_command_line():
        weakref.finalize(results, gc.enable).atexit = False

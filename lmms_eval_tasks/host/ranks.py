"""The ranks of an evaluation: ending a run on all of them at once or on one alone, and torch's process group."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from traceback import walk_stack
from types import FrameType
from typing import Any, TypeVar

from loguru import logger

from lmms_eval_tasks.host.exchange import current_exchange
from lmms_eval_tasks.utils.core.files import name_full_disk
from lmms_eval_tasks.utils.core.problems import InputError

COMMAND_LINE = "lmms_eval.__main__"
"""The module in which lmms-eval's command line evaluates."""
SWALLOWING = (COMMAND_LINE, "lmms_eval.loggers.evaluation_tracker")
"""Where lmms-eval catches whatever ends a run, or the writing of its files, and goes on after a line in its log."""
HUB = ("huggingface_hub", "requests", "httpx")
"""Whose exceptions say that results did not reach the hub: they lie here all the same."""
LONGEST = 400
"""Characters of an exception's text in the last line of a run."""

Value = TypeVar("Value")


class RunStopped(SystemExit):
    """One rank cannot go on; no ordinary exception, because lmms-eval tries again after those and hides them."""

    def __init__(self, message: str) -> None:
        super().__init__(f"\n{message}")
        self.message = message


def called_by(module: str) -> Iterator[FrameType]:
    """The calls in a module by which the caller was called, however indirectly; the innermost first."""
    return (frame for frame, _ in walk_stack(sys._getframe()) if frame.f_globals.get("__name__") == module)


def on_command_line() -> bool:
    """Whether the caller was called by lmms-eval's command line."""
    return any(called_by(COMMAND_LINE))


def command_options() -> dict[str, Any]:
    """The options of the run that lmms-eval's command line has begun, by name; none in a Python program."""
    found = (frame.f_locals.get("args") for frame in called_by(COMMAND_LINE))
    return next((vars(options) for options in found if isinstance(options, Namespace)), {})


@contextmanager
def ordinary_errors() -> Iterator[None]:
    """Turn `RunStopped` into an `InputError`, unless lmms-eval's command line runs."""
    try:
        yield
    except RunStopped as stop:
        if on_command_line() or current_exchange().size > 1:
            raise
        raise InputError(stop.message) from None


def end_where_lmms_eval_goes_on() -> None:
    """From now on, end the process with status 1 where lmms-eval's command line catches an exception and goes on."""
    logger.add(_end_on_error, level="WARNING", filter=lambda record: record["name"] in SWALLOWING, catch=False)


def _end_on_error(message: object) -> None:
    error = sys.exc_info()[1]
    if isinstance(error, Exception) and type(error).__module__.partition(".")[0] not in HUB:
        raise RunStopped(f"The run has failed: {describe_exception(error)}")


def describe_exception(error: BaseException) -> str:
    """An exception and its text in one line; the one that a repeated call ended with in place of the repetition's."""
    if type(error).__module__.startswith("tenacity") and error.__cause__ is not None:
        error = error.__cause__
    # lmms-eval's own files lie below its output path.
    words = [word for given in sys.argv for word in given.split("=", 1)]
    folders = [Path(path) for option, path in pairwise(words) if option == "--output_path"]
    error = name_full_disk(error, *folders)
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text if len(text) <= LONGEST else f'{text[:LONGEST]}…'}"


def stop_if_any(message: str | None) -> None:
    """End the run on every rank where one of them has a message; every rank has to call this."""
    messages = gather_objects(message)
    reasons = list(dict.fromkeys(text for text in messages if text))
    if not reasons:
        return
    if not on_command_line():
        raise InputError("\n\n".join(reasons))
    if len(messages) == 1:
        raise RunStopped(reasons[0])
    import torch.distributed as dist

    if dist.get_rank() == 0:
        os.write(2, "".join(f"\n{text}\n" for text in reasons).encode())
    dist.barrier()
    raise SystemExit(1)


def gather_objects(value: Value) -> list[Value]:
    """What every rank passes, in the order of the ranks; every rank has to call this."""
    return current_exchange().gather(value)


def leave_process_group() -> None:
    """End what torch runs in the background for the ranks on CPUs, which lmms-eval leaves to the end of the process."""
    dist = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available() and dist.is_initialized() and dist.get_backend() == "gloo":
        dist.destroy_process_group()

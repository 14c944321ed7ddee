"""The ranks of an evaluation: exchange of values between them, and ending a run on all of them or on one alone."""

from __future__ import annotations

import functools
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from traceback import walk_stack
from types import FrameType
from typing import Any, TypeVar

from loguru import logger

from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import name_full_disk
from lmms_eval_tasks.utils.core.text import hide_secrets, printable

Value = TypeVar("Value")
PATIENCE = timedelta(days=1)
"""How long a rank waits for another; one that has ended is noticed at once."""


@dataclass(frozen=True)
class Exchange:
    """The ranks of an evaluation, as one of them sees them; every rank has to call the same methods in one order."""

    rank: int = 0
    size: int = 1

    def gather(self, value: Value) -> list[Value]:
        if self.size == 1:
            return [value]
        import torch.distributed as dist

        values = [value] * self.size
        dist.all_gather_object(values, value, group=_gloo_group(dist.group.WORLD))
        return values

    def scatter(self, values: Sequence[Value] | None, source: int = 0) -> Value:
        """Return the one for this rank of the values that the rank `source` passes."""
        if self.size == 1:
            assert values is not None
            return values[0]
        import torch.distributed as dist

        part: list[Any] = [None]
        given = None if values is None else list(values)
        dist.scatter_object_list(part, given, src=source, group=_gloo_group(dist.group.WORLD))
        value: Value = part[0]
        return value

    def deliver(self, values: Sequence[Value]) -> list[Value]:
        """Return the values that all ranks pass for this one, in order of rank."""
        return [self.scatter(values if source == self.rank else None, source) for source in range(self.size)]


@functools.cache
def _gloo_group(world: object) -> Any:
    """Return a group of all ranks on the CPU that, unlike lmms-eval's, waits for as long as a model works."""
    import torch.distributed as dist

    return dist.new_group(backend="gloo", timeout=PATIENCE)


def current_exchange() -> Exchange:
    """Return the ranks that can be reached: those of torch's process group, or this process alone."""
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized() or dist.get_world_size() == 1:
        return Exchange()
    return Exchange(dist.get_rank(), dist.get_world_size())


COMMAND_LINE = "lmms_eval.__main__"
"""The module in which lmms-eval's command line evaluates."""
SWALLOWING = (COMMAND_LINE, "lmms_eval.loggers.evaluation_tracker")
"""Where lmms-eval catches whatever ends a run, or the writing of its files, and goes on after a line in its log."""
HUB = ("huggingface_hub", "requests", "httpx")
"""Whose exceptions say that results did not reach the hub: they lie here all the same."""
LONGEST = 400
"""Characters of an exception's text in the last line of a run."""


class RunStopped(SystemExit):
    """One rank cannot go on; no ordinary exception, because lmms-eval tries again after those and hides them."""

    def __init__(self, message: str) -> None:
        super().__init__(f"\n{message}")
        self.message = message

    def for_program(self) -> RunStopped | InputError:
        """Return what a Python program gets: an `InputError`. The command line, and one rank of several, end."""
        return self if on_command_line() or current_exchange().size > 1 else InputError(self.message)


def called_by(module: str) -> Iterator[FrameType]:
    """Return the calls in a module by which the caller was called, however indirectly; the innermost first."""
    return (frame for frame, _ in walk_stack(sys._getframe()) if frame.f_globals.get("__name__") == module)


def on_command_line() -> bool:
    return any(called_by(COMMAND_LINE))


def command_options() -> dict[str, Any]:
    """Return the options of the run that lmms-eval's command line has begun, by name; none in a Python program."""
    found = (frame.f_locals.get("args") for frame in called_by(COMMAND_LINE))
    return next((vars(options) for options in found if isinstance(options, Namespace)), {})


def end_where_lmms_eval_goes_on() -> None:
    """From now on, end the process with status 1 where lmms-eval's command line catches an exception and goes on."""

    def end(message: object) -> None:
        error = sys.exc_info()[1]
        if isinstance(error, Exception) and type(error).__module__.partition(".")[0] not in HUB:
            raise RunStopped(f"The run has failed: {describe_exception(error)}")

    def say(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.stderr.write("\nInterrupted. The same command begins again, with the answers that are kept.\n")
        else:
            before(kind, error, trace)

    logger.add(end, level="WARNING", filter=lambda record: record["name"] in SWALLOWING, catch=False)
    before, sys.excepthook = sys.excepthook, say


@contextmanager
def ended_by_hand(describe: Callable[[], str]) -> Iterator[None]:
    """On lmms-eval's command line, have Ctrl-C end the run with one line in place of where it was."""
    try:
        yield
    except KeyboardInterrupt:
        if not on_command_line():
            raise
        if os.environ.get("RANK", "0") != "0":
            raise SystemExit(1) from None
        raise RunStopped(f"Interrupted. {describe()}") from None


def describe_exception(error: BaseException) -> str:
    """Return an exception and its text in one line; of one that a repetition ended with, its cause."""
    if type(error).__module__.startswith("tenacity") and error.__cause__ is not None:
        error = error.__cause__
    # lmms-eval's own files lie below its output path.
    words = [word for given in sys.argv for word in given.split("=", 1)]
    folders = [Path(path) for option, path in pairwise(words) if option == "--output_path"]
    error = name_full_disk(error, *folders)
    text = printable(hide_secrets(" ".join(str(error).split()), os.environ))
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
    if current_exchange().rank == 0:
        os.write(2, "".join(f"\n{text}\n" for text in reasons).encode())
    gather_objects(None)  # or the launcher might end the first rank before it has written
    raise SystemExit(1)


def gather_objects(value: Value) -> list[Value]:
    """Return the values that all ranks pass, in their order; every rank has to call this."""
    return current_exchange().gather(value)


def leave_process_group() -> None:
    """End torch's threads for groups on CPUs: ours, and lmms-eval's, which it leaves to the end."""
    dist = sys.modules.get("torch.distributed")
    if dist is None or not dist.is_available() or not dist.is_initialized():
        return
    if dist.get_backend() == "gloo":
        dist.destroy_process_group()
    elif _gloo_group.cache_info().currsize:
        dist.destroy_process_group(_gloo_group(dist.group.WORLD))

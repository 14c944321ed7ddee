"""The ranks of an evaluation: ending a run on all of them at once or on one alone, and torch's process group."""

from __future__ import annotations

import atexit
import functools
import os
import pickle
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from traceback import walk_stack
from types import FrameType
from typing import Any, TypeVar

from loguru import logger

from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import name_full_disk

Sent = TypeVar("Sent")

PREFIX = "lmms_eval_tasks"
CHUNK = 4_000_000
"""Most bytes that are stored together: torch's store takes 8 MiB."""
COUNT = 4
"""Bytes before a value that say how many more parts it has."""
BEAT = 20.0
"""Seconds from one sign of life of a rank to its next."""
SILENCE = 900.0
"""Seconds without one after which a rank is given up: a process that loads weights may be busy for minutes."""
LONGEST_PAUSE = 0.5
"""Most seconds from one look into the store to the next."""


class LostRank(SystemExit):
    """A rank that others wait for shows no sign of life; no ordinary exception, as lmms-eval goes on after those."""


@dataclass(frozen=True)
class Exchange:
    """The ranks of an evaluation, as one of them sees them."""

    rank: int = 0
    size: int = 1
    store: Any = None

    def gather(self, value: Sent) -> list[Sent]:
        """Return the values that all ranks pass, in order of rank; for small values."""
        if self.size == 1:
            return [value]
        turn = self._next_turn()
        self._put(f"{turn}/{self.rank}", value)
        return [value if rank == self.rank else self._get(rank, f"{turn}/{rank}") for rank in range(self.size)]

    def gather_first(self, value: Sent) -> list[Sent]:
        """Return the values that all ranks pass, in order of rank, on the first rank; an empty list on the others."""
        if self.size == 1:
            return [value]
        turn = self._next_turn()
        if self.rank:
            self._put(f"{turn}/{self.rank}", value)
            return []
        return [value, *(self._get(rank, f"{turn}/{rank}", is_last=True) for rank in range(1, self.size))]

    def scatter(self, make: Callable[[], Sequence[Sent]]) -> Sent:
        """This rank's part of what the first rank makes."""
        if self.size == 1:
            return make()[0]
        turn = self._next_turn()
        if self.rank:
            return self._get(0, f"{turn}/{self.rank}", is_last=True)  # type: ignore[no-any-return]
        values = make()
        for rank in range(1, self.size):
            self._put(f"{turn}/{rank}", values[rank])
        return values[0]

    def share(self, make: Callable[[], Sent]) -> Sent:
        """Return on every rank the value made on the first; `make` is called only on the first."""
        return self.scatter(lambda: [make()] * self.size)

    def deliver(self, values: Sequence[Sent]) -> list[Sent]:
        """Return the values that all ranks have for this one, in order of rank."""
        if self.size == 1:
            return list(values)
        turn = self._next_turn()
        for rank, value in enumerate(values):
            if rank != self.rank:
                self._put(f"{turn}/{self.rank}/{rank}", value)
        return [
            values[rank] if rank == self.rank else self._get(rank, f"{turn}/{rank}/{self.rank}", is_last=True)
            for rank in range(self.size)
        ]

    def _next_turn(self) -> str:
        """The name of this exchange: the ranks count theirs alike, as they take part in all."""
        _show_life(self.store, self.rank)
        return f"{PREFIX}/{self.store.add(f'{PREFIX}/turns/{self.rank}', 1)}"

    def _put(self, key: str, value: Any) -> None:
        first, *others = _cut(pickle.dumps(value))
        for number, data in enumerate(others):
            self.store.set(f"{key}/{number}", data)
        self.store.set(key, len(others).to_bytes(COUNT, "big") + first)

    def _get(self, sender: int, key: str, is_last: bool = False) -> Any:
        """Return the value that a rank has put under a key; delete it if this is the last rank that reads it."""
        self._wait(sender, key)
        first = self.store.get(key)
        others = [f"{key}/{number}" for number in range(int.from_bytes(first[:COUNT], "big"))]
        data = first[COUNT:] + b"".join(map(self.store.get, others))
        for one in [key, *others] if is_last else ():
            self.store.delete_key(one)
        return pickle.loads(data)

    def _wait(self, sender: int, key: str) -> None:
        """Wait until a rank has put a key."""
        pause, beats, heard = 0.001, -1, time.monotonic()
        while not self.store.check([key]):
            if (count := self.store.add(_life_key(sender), 0)) != beats:
                beats, heard = count, time.monotonic()
            elif time.monotonic() - heard > SILENCE:
                raise LostRank(
                    f"\nRank {sender} has shown no sign of life for {SILENCE / 60:.0f} minutes, and rank {self.rank} "
                    "waits for it. Run again: what was answered is kept."
                )
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)


def _cut(data: bytes) -> list[bytes]:
    return [data[start : start + CHUNK] for start in range(0, len(data), CHUNK)]


def current_exchange() -> Exchange:
    """The ranks that can be reached: those of torch's process group, or this process alone."""
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized() or dist.get_world_size() == 1:
        return Exchange()
    return Exchange(dist.get_rank(), dist.get_world_size(), dist.distributed_c10d._get_default_store())


def _life_key(rank: int) -> str:
    return f"{PREFIX}/life/{rank}"


@functools.cache
def _show_life(store: Any, rank: int) -> None:
    """Show from now on, until the process ends, that a rank is alive."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.is_set():
            try:
                store.add(_life_key(rank), 1)
            except RuntimeError:  # the process that held the store has ended
                return
            ended.wait(BEAT)

    thread = threading.Thread(target=beat, name=f"sign of life of rank {rank}", daemon=True)

    def end() -> None:
        # A thread that is inside torch while Python ends aborts the process.
        ended.set()
        thread.join()

    atexit.register(end)
    thread.start()


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
    """Return the values that all ranks pass, in order of rank; every rank has to call this."""
    return current_exchange().gather(value)


def leave_process_group() -> None:
    """End what torch runs in the background for the ranks on CPUs, which lmms-eval leaves to the end of the process."""
    dist = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available() and dist.is_initialized() and dist.get_backend() == "gloo":
        dist.destroy_process_group()

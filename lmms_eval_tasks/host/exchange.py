"""What the ranks of an evaluation send one another, through the store by which torch's ranks find each other."""

from __future__ import annotations

import atexit
import functools
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

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
        """What every rank passes, in the order of the ranks; for values that are small."""
        if self.size == 1:
            return [value]
        turn = self._next_turn()
        self._put(f"{turn}/{self.rank}", value)
        return [value if rank == self.rank else self._get(rank, f"{turn}/{rank}") for rank in range(self.size)]

    def gather_first(self, value: Sent) -> list[Sent]:
        """What every rank passes, in the order of the ranks, on the first rank; nothing on the others."""
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
        """What the first rank makes, on every rank; `make` is called on the first alone."""
        return self.scatter(lambda: [make()] * self.size)

    def deliver(self, values: Sequence[Sent]) -> list[Sent]:
        """What every rank has for this one, in the order of the ranks."""
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
        """What a rank has put under a key; deleted where this is the last rank that reads it."""
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

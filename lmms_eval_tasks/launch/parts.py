"""The parts of a launch and their files: all that is known about them is on the disk, so that any launch can go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.runs.results_file import PARTS, results_files


@dataclass(frozen=True)
class Holder:
    """The job that works on a part."""

    host: str
    process: int
    devices: tuple[str, ...] = ()


@dataclass(frozen=True)
class LaunchedPart:
    """One part of a launch."""

    number: int
    count: int
    folder: Path

    @property
    def name(self) -> str:
        """Such as ``3-of-64``."""
        return f"{self.number}-of-{self.count}"

    @property
    def out(self) -> Path:
        """The part's output path."""
        return self.folder / self.name

    @property
    def log(self) -> Path:
        """The file of what its command printed."""
        return self.folder / f"{self.name}.log"

    def _state(self, ending: str) -> Path:
        return self.folder / "state" / f"{self.name}.{ending}"

    @property
    def is_done(self) -> bool:
        """Whether it has its results."""
        return self._state("done.json").is_file()

    def write_done(self, results: Path) -> None:
        """Keep that the part is done."""
        self._write("done.json", {"results": results.relative_to(self.out).as_posix()})

    def read_results(self) -> Path:
        """The results file of a part that is done."""
        return self.out / str(json.loads(self._state("done.json").read_text(encoding="utf-8"))["results"])

    def results(self) -> list[Path]:
        """The results files that are there, by date; a part that was interrupted late may have several."""
        return results_files(self.out)

    @contextmanager
    def locked(self, wait: float) -> Iterator[bool]:
        """Lock the part as long as the block lasts; gives False where another process has it locked."""
        path = self._state("lock")
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
        try:
            lock.acquire(timeout=wait, poll_interval=0.1)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def write_holder(self, holder: Holder) -> None:
        """Keep which job works on it; that job has it locked."""
        self._write("job.json", {"host": holder.host, "process": holder.process, "devices": list(holder.devices)})

    def holder(self) -> Holder | None:
        """The job that works on it; None where none does, also where one was killed."""
        with self.locked(0) as free:
            if free:
                return None
        with suppress(OSError, ValueError):  # it has the lock and has not written yet
            read = json.loads(self._state("job.json").read_text(encoding="utf-8"))
            return Holder(read["host"], read["process"], tuple(read["devices"]))
        return Holder("", 0)

    def _write(self, ending: str, content: dict[str, object]) -> None:
        write_file(self._state(ending), json.dumps(content) + "\n")


def parts_of(out: Path, count: int) -> list[LaunchedPart]:
    """The parts of a launch into an output path."""
    return [LaunchedPart(number, count, out / PARTS) for number in range(1, count + 1)]

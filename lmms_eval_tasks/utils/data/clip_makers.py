"""Clips are made in processes, several at once, while the process that asked for them does something else."""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Lock, local

from lmms_eval_tasks.utils.data import clip_maker
from lmms_eval_tasks.utils.data.clip_store import ClipStore, NotMade
from lmms_eval_tasks.utils.data.made import Making
from lmms_eval_tasks.utils.data.release import UnreadableClip

PATIENCE = 10.0
"""Seconds in which a process that is ended may delete what it has half made."""

logger = logging.getLogger(__name__)


class ClipMakers:
    """Processes that make clips; each is started when it first has something to make."""

    def __init__(self, store: ClipStore, workers: int) -> None:
        self._store = store
        self._known = ClipStore(store.folder, store.limit, makes=False)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="clip-makers")
        self._own = local()
        self._lock = Lock()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._is_closed = False

    def submit(self, making: Making) -> Future[None]:
        """Have something made, after what was submitted before."""
        return self._threads.submit(self._make, making)

    def close(self) -> None:
        """End the processes; what is half made is deleted."""
        with self._lock:
            self._is_closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._threads.shutdown()
        for process in self._processes:
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # what was not read any more
                    pipe.close()  # type: ignore[union-attr]

    def _make(self, making: Making) -> None:
        try:
            making.run(self._known)
        except NotMade:
            pass
        except (UnreadableClip, OSError):  # whoever asks for it hears of it
            return
        else:
            return
        with suppress(OSError):  # a process that cannot be started, or has ended over this
            process = self._process()
            if process is None or process.stdin is None or process.stdout is None:
                return
            pickle.dump(making, process.stdin)
            process.stdin.flush()
            if process.stdout.read(1) != clip_maker.DONE:
                logger.debug("A process ended over %s.", making)

    def _process(self) -> subprocess.Popen[bytes] | None:
        """The process of this thread, started where it has none that runs; None where no more are wanted."""
        process: subprocess.Popen[bytes] | None = getattr(self._own, "process", None)
        if process is not None and process.poll() is None:
            return process
        with self._lock:
            if self._is_closed:
                return None
            store = [str(self._store.folder), str(self._store.limit), str(len(self._processes))]
            # What can be imported here can be there, and nothing of the current folder.
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONSAFEPATH": "1"}
            self._own.process = subprocess.Popen(
                [sys.executable, "-m", clip_maker.__name__, *store],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
            )
            self._processes.append(self._own.process)
        started: subprocess.Popen[bytes] = self._own.process
        return started

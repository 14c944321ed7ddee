"""What a model's work consists of, for a run card: seconds of stages, and counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from time import perf_counter
from typing import Any

import torch


class Work:
    """Seconds of each stage and counts; several threads may add to them."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.counts: dict[str, int] = {}
        self._lock = Lock()

    @contextmanager
    def measure(self, stage: str, device: torch.device | None = None) -> Iterator[None]:
        """Add the time until it ends to a stage; work that a device still has to do counts."""
        begun = perf_counter()
        try:
            yield
        finally:
            if device is not None and device.type == "cuda":
                torch.cuda.synchronize(device)
            with self._lock:
                self.seconds[stage] = self.seconds.get(stage, 0.0) + perf_counter() - begun

    def count(self, name: str, number: int = 1) -> None:
        """Add to a count."""
        with self._lock:
            self.counts[name] = self.counts.get(name, 0) + number

    def as_facts(self) -> dict[str, dict[str, Any]]:
        """Both, as `host.throughput` reads them."""
        with self._lock:
            return {"seconds": dict(self.seconds), "counts": dict(self.counts)}

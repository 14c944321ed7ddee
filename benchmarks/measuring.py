"""What measurements share: sizes, a film, the line with a ratio, processes of their own, an end without a result."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[1]
SUPPORT = ROOT / "tests" / "support"
ABSENT = 77
"""Exit status of a measurement that lacks what it needs; automake's tests say so that they are skipped."""


class Options(argparse.ArgumentParser):
    """The options of a measurement. Each size has two values: the one that is measured, and one for `--tiny`."""

    def __init__(self, description: str | None) -> None:
        super().__init__(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
        self.add_argument("--tiny", action="store_true", help="the least that shows that this runs, as tests run it")
        self._tiny: dict[str, Any] = {}

    def add_size(self, name: str, full: Any, tiny: Any, about: str = "") -> None:
        """Add an option that has a value for each of both sizes; what is given goes before them."""
        added = self.add_argument(name, type=type(full), default=full, help=f"{about} ({full}; tiny {tiny})".lstrip())
        self._tiny[added.dest] = tiny

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """The values of all options."""
        if "--tiny" in (sys.argv[1:] if args is None else args):
            self.set_defaults(**self._tiny)
        return super().parse_args(args, namespace)


def print_ratio(ratio: float, what: str) -> None:
    """Print what was measured in parts of a rival's or of a limit; every measurement prints such lines."""
    print(f"ratio {ratio:.3g}: {what}", flush=True)


def end_without(reason: str) -> NoReturn:
    """End because something that is needed is absent."""
    print(reason)
    raise SystemExit(ABSENT)


def in_own_process(work: Callable[..., Any], *arguments: Any, cuda: bool = False) -> Any:
    """What a function returns in a process of its own, whose peak of memory and whose threads are its own.

    It is a fork, which has what is imported here; with `cuda` it starts anew, since CUDA does not outlive a fork.
    """
    with ProcessPoolExecutor(1, get_context("spawn" if cuda else "fork")) as pool:
        return pool.submit(work, *arguments).result()


def film(path: Path, size: tuple[int, int], frames: int) -> Path:
    """An H.264 clip, 30 frames a second, whose coarse pattern moves by eight pixels a frame."""
    import av
    import numpy as np

    width, height = size
    pattern = np.random.default_rng(0).integers(0, 255, (height // 8, width // 8 + frames, 3), dtype=np.uint8)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=Fraction(30))
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for number in range(frames):
            shown = pattern[:, number : number + width // 8].repeat(8, axis=0).repeat(8, axis=1)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(shown), format="rgb24")))
        container.mux(stream.encode())
    return path

"""The benchmarks of this installation, ours and those that other packages announce, and their prepared sets."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import lmms_eval_tasks
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark
from lmms_eval_tasks.utils.benchmark.catalog import Registry, announced, begin_fault, build_registry
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data import home, prepare
from lmms_eval_tasks.utils.data.card import Card

if TYPE_CHECKING:
    import datasets

    from lmms_eval_tasks.utils.data.prepare import Build


GROUP = "lmms_eval_tasks.benchmarks"


@cache
def registry() -> Registry:
    """The benchmarks of this installation."""
    return build_registry(_own_benchmarks(), announced(GROUP))


def _own_benchmarks() -> list[Benchmark]:
    folder = Path(lmms_eval_tasks.__file__).parent
    names = sorted(file.parent.name for file in folder.glob("*/benchmark.py"))
    return [importlib.import_module(f"{lmms_eval_tasks.__name__}.{name}.benchmark").BENCHMARK for name in names]


def find_benchmark(name: str) -> Benchmark:
    """A benchmark by its name."""
    known = registry().benchmarks
    if name not in known:
        own = [fault for fault in registry().faults if fault.startswith(f"{begin_fault('benchmark', name)} ")]
        lines = [f"Expected a benchmark, one of {', '.join(known)}, but got {name!r}.", *registry().faults]
        raise InputError("\n".join(own or lines))
    return known[name]


def read_card(name: str) -> Card:
    """The card of a benchmark."""
    return find_benchmark(name).card


def load_table(benchmark: str, split: str, require_clips: bool = True) -> datasets.Dataset:
    """The prepared table of a split, rows in their released order, `clip_present` as it is now.

    It has one row per item and the columns of the benchmark's `prepare`.

    Args:
        benchmark: Name of the benchmark.
        split: Name of the split.
        require_clips: Whether clips will be looked at. Where they will not, none is looked for, and `clip_present` is
            what it was when the table was prepared.

    Raises:
        InputError: nothing is prepared; the table is not the one that was prepared; or clips are required, some are
            missing, and $LMMS_EVAL_TASKS_MISSING is not `skip`; or that variable holds anything else.
    """
    return home.load_table(read_card(benchmark), split, require_clips)


@contextmanager
def building(benchmark: str) -> Iterator[Build]:
    """Build a benchmark's folder; what was there is replaced only when the block ends without an error.

    The block gets the build. Its ``add_split(split, rows, extra, clips, origin, progress)`` places a split's clips and
    writes its table: ``extra`` has the benchmark's own columns and their types, and ``clips`` every clip that rows name
    (``test/a.mp4``) and its file, which is linked; None, or a file that is not there, is a missing clip. Its ``splits``
    holds the `SplitManifest` of each split that was added.

    Splits that the block does not add are kept. Clips of an interrupted build are kept for the next one. One build
    of a benchmark runs at a time; another waits for it.

    Raises:
        InputError: nothing can be written to the data home, or a split cannot be added.
    """
    with prepare.building(read_card(benchmark)) as build:
        yield build

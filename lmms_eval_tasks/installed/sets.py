"""The prepared sets of this installation's benchmarks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lmms_eval_tasks.installed.registry import read_card
from lmms_eval_tasks.utils.data import building as builds
from lmms_eval_tasks.utils.data import home

if TYPE_CHECKING:
    import datasets

    from lmms_eval_tasks.utils.data.building import Build


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
    with builds.building(read_card(benchmark)) as build:
        yield build

"""What a benchmark declares to have sample data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lmms_eval_tasks.utils.core.progress import Progress


@dataclass(frozen=True)
class SampleWriter:
    """How one benchmark's sample data is made and prepared.

    Attributes:
        contents: what the benchmark's folder of the sample holds, in a few words for the sample's README.
        sizes: how much to draw by default, by names of the writer's own.
        write: called with the folder, the seed, the sizes and a progress callback; writes the release to the folder,
            with the same bytes for the same seed and sizes.
        prepare: options of `lmms-eval-tasks prepare` for the benchmark, a tuple for each time that it has to run;
            `{folder}` stands for the folder.
        release: the release below the folder, `.` when it is the folder itself. It exists, and is marked as sample
            data, when `write` is called.
    """

    contents: str
    sizes: Mapping[str, int]
    write: Callable[[Path, int, Mapping[str, int], Progress], None]
    prepare: tuple[tuple[str, ...], ...] = (("--source", "{folder}"),)
    release: str = "."

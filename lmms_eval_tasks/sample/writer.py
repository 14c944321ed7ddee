"""What a benchmark declares to be part of the sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lmms_eval_tasks.utils.progress import Progress


@dataclass(frozen=True)
class SampleWriter:
    """How one benchmark's sample data is made and prepared. A module of `sample.writers` declares one as `WRITER`.

    Attributes:
        benchmark: name of the benchmark; its data goes to the folder of that name in the sample.
        contents: what that folder holds, in a few words for the sample's README.
        sizes: how much to draw by default, by names of the writer's own.
        write: called with the folder, the seed, the sizes and a progress callback; writes the release below the folder.
            It must write the same bytes for the same seed and sizes.
        prepare: options of `lmms-eval-tasks prepare BENCHMARK`, one tuple for each time that it has to run;
            `{folder}` stands for the folder.
        release: the release below the folder, `.` when it is the folder itself. It exists, and is marked as sample
            data, when `write` is called.
    """

    benchmark: str
    contents: str
    sizes: Mapping[str, int]
    write: Callable[[Path, int, Mapping[str, int], Progress], None]
    prepare: tuple[tuple[str, ...], ...] = (("--source", "{folder}"),)
    release: str = "."

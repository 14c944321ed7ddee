"""Clips that a model is tested on, which must not be among those that it is trained on. Clips are known by their bytes.

A clip that was cut or coded anew is another file and is not recognised.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmms_eval_tasks.utils.benchmark.registry import registry
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.progress import Progress, no_progress
from lmms_eval_tasks.utils.core.wording import summarize_names
from lmms_eval_tasks.utils.data.content import content_digest
from lmms_eval_tasks.utils.data.home import benchmark_dir, clip_path, clips_of_rows, read_manifest, read_table


@dataclass(frozen=True)
class TestClips:
    """Clips that a model is tested on.

    Attributes:
        sources: Each clip's file to where it belongs ("CausalVQA, split test").
        missing: Where clips belong whose files are not here to be compared, to their number.
    """

    __test__ = False  # for pytest, which takes a class of this name for a test

    sources: Mapping[Path, str]
    missing: Mapping[str, int]


def prepared_clips() -> TestClips:
    """The clips of every split of every benchmark that is prepared.

    Raises:
        InputError: what is prepared cannot be read.
    """
    sources: dict[Path, str] = {}
    missing: dict[str, int] = defaultdict(int)
    for name, benchmark in registry().benchmarks.items():
        if not (benchmark_dir(name) / "manifest.json").is_file():
            continue
        for split in read_manifest(name).splits:
            source = f"{benchmark.card.title}, split {split}"
            for clip in {clip for clips in clips_of_rows(name, read_table(name, split)[0]) for clip in clips}:
                if (path := clip_path(name, clip)).is_file():
                    sources[path] = source
                else:
                    missing[source] += 1
    return TestClips(sources, missing)


def shared_clips(training: Iterable[Path], tested: TestClips, progress: Progress = no_progress) -> dict[Path, Path]:
    """Training clips with the bytes of a clip that is tested on, each to one such clip.

    Files are read only where one of the other side has their size.

    Raises:
        OSError: a file cannot be read.
    """
    by_size: dict[int, list[Path]] = defaultdict(list)
    for path in set(training):
        by_size[path.stat().st_size].append(path)
    candidates = sorted((path, size) for path in tested.sources if (size := path.stat().st_size) in by_size)
    shared = {}
    for done, (path, size) in enumerate(candidates, start=1):
        digest = content_digest(path)
        shared.update({own: path for own in by_size[size] if content_digest(own) == digest})
        progress("comparing clips with those of tests", done, len(candidates))
    return dict(sorted(shared.items()))


def refuse_shared_clips(training: Sequence[Path], tested: TestClips, progress: Progress = no_progress) -> None:
    """Refuse to train on what is tested.

    Raises:
        InputError: training clips are tested on; it names the first of them.
        OSError: a file cannot be read.
    """
    shared = shared_clips(training, tested, progress)
    if not shared:
        return
    number = len(set(training))
    sources = sorted({tested.sources[path] for path in shared.values()})
    names = (f"{own.name} is {path.name} of {tested.sources[path]}" for own, path in shared.items())
    raise InputError(
        f"Expected training clips that nothing is tested on, but {len(shared)} of {number} are clips of "
        f"{'; '.join(sources)}: {summarize_names(names, 3)}. Nothing was written.\n"
        "Remedy: take every question about these clips out of the training set."
    )

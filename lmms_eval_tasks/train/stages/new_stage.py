"""A new stage of a training, written only after its clips were compared with those of tests."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.train.stages.stage import Inputs, Method, TrainingItem, write_training
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import file_sha256
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.core.work import Progress, no_progress
from lmms_eval_tasks.utils.data.home import benchmark_dir, clip_path, clips_of_rows, read_manifest, read_table

TrainedClips = Mapping[Path, Collection[str]]
"""Each training clip's file, which need not be there, to the questions about it."""


@dataclass(frozen=True)
class TestedClip:
    __test__ = False  # for pytest, which takes a class of this name for a test

    source: str
    name: str
    path: Path
    questions: Collection[str] = ()
    is_id: bool = False


@dataclass(frozen=True)
class ClipComparison:
    """Training clips that were compared with tests and are none of their clips."""

    compared: Mapping[str, int]
    missing: Mapping[str, int]
    same_names: Mapping[str, Sequence[str]]


def prepared_clips() -> list[TestedClip]:
    tested = []
    for name, benchmark in registry().benchmarks.items():
        if not (benchmark_dir(name) / "manifest.json").is_file():
            continue
        for split in read_manifest(benchmark.card).splits:
            table = read_table(benchmark.card, split)[0]
            questions: dict[str, set[str]] = defaultdict(set)
            shown = clips_of_rows(benchmark.card, table)
            for clips, question in zip(shown, table.column("question").to_pylist(), strict=True):
                for clip in clips:
                    questions[clip].add(question or "")
            for clip, asked in sorted(questions.items()):
                source, path = f"{benchmark.card.title}, split {split}", clip_path(name, clip)
                own_name = clip.removeprefix(f"{split}/")
                tested.append(TestedClip(source, own_name, path, asked, benchmark.clip_names_are_ids))
    return tested


def shared_clips(
    training: Iterable[Path], tested: Iterable[TestedClip], progress: Progress = no_progress
) -> dict[Path, TestedClip]:
    """Training clips with the bytes of a clip that is tested on, each to one such clip."""
    by_size: dict[int, list[Path]] = defaultdict(list)
    for path in set(training):
        by_size[path.stat().st_size].append(path)
    candidates = [clip for clip in tested if clip.path.is_file() and clip.path.stat().st_size in by_size]
    shared: dict[Path, TestedClip] = {}
    for done, clip in enumerate(candidates, start=1):
        digest = file_sha256(clip.path)
        for own in by_size[clip.path.stat().st_size]:
            if file_sha256(own) == digest:
                shared.setdefault(own, clip)
        progress("comparing clips with those of tests", done, len(candidates))
    return dict(sorted(shared.items()))


def namesakes(training: Iterable[Path], tested: Iterable[TestedClip]) -> list[tuple[Path, TestedClip]]:
    """Training clips and tested ones of the same name, without the folders that the test's name does not have."""
    by_stem: dict[str, list[Path]] = defaultdict(list)
    for own in sorted(set(training)):
        by_stem[_parts(own)[-1]].append(own)
    pairs = []
    for clip in tested:
        parts = _parts(PurePosixPath(clip.name))
        for own in by_stem.get(parts[-1], ()):
            if _parts(own)[-len(parts) :] == parts:
                pairs.append((own, clip))
    return pairs


def _parts(path: PurePath) -> tuple[str, ...]:
    return tuple(part.casefold() for part in path.with_suffix("").parts)


def compare_clips(
    training: TrainedClips, tested: Sequence[TestedClip], progress: Progress = no_progress
) -> ClipComparison:
    """Compare training clips with those that are tested on, and refuse to train on what is tested."""
    shared = shared_clips((path for path in training if path.is_file()), tested, progress)
    _refuse(training, [(own, clip, "") for own, clip in shared.items()])
    ids, items, same_names = [], [], defaultdict(list)
    for own, clip in namesakes(training, tested):
        own_words, tested_words = (
            {" ".join(question.split()).casefold() for question in questions}
            for questions in (training[own], clip.questions)
        )
        if clip.is_id:
            ids.append((own, clip, ", by the id of its collection"))
        elif own_words & tested_words - {""}:
            items.append((own, clip, ", with the same question"))
        else:
            same_names[clip.source].append(own.name)
    _refuse(training, [*ids, *items])
    present, absent = (Counter(clip.source for clip in tested if clip.path.is_file() == here) for here in (True, False))
    return ClipComparison(dict(sorted(present.items())), dict(sorted(absent.items())), dict(same_names))


def _refuse(training: TrainedClips, leaks: Sequence[tuple[Path, TestedClip, str]]) -> None:
    if not leaks:
        return
    number = len({own for own, _, _ in leaks})
    sources = sorted({clip.source for _, clip, _ in leaks})
    names = (f"{own.name} is {PurePosixPath(clip.name).name} of {clip.source}{how}" for own, clip, how in leaks)
    raise InputError(
        f"Expected training clips that nothing is tested on, but {number} of {len(training)} are clips of "
        f"{'; '.join(sources)}: {summarize_names(names, 3)}. Nothing was written.\n"
        "Remedy: take every question about these clips out of the training set."
    )


ReadTest = Callable[[Path], Iterable[TestedClip]]
"""Reads the clips of a set that `--test` names; raises InputError."""


@dataclass(frozen=True)
class CanEarn:
    """What the best answers to some questions earn, with the right and with the wrong verdict, a number a question."""

    questions: int
    with_chain: int
    right: Sequence[float]
    wrong: Sequence[float]


@dataclass(frozen=True)
class Earned:
    """What can be earned in each part of a set, by a sum of rewards with these weights."""

    weights: Mapping[str, float]
    parts: Mapping[str, CanEarn]


@dataclass(frozen=True)
class Written:
    method: Method
    configuration: Path
    parts: Mapping[str, tuple[int, int]]
    clips: int
    comparison: ClipComparison
    earned: Earned | None = None


def write_stage(
    inputs: Inputs,
    items: Sequence[TrainingItem],
    parts: Mapping[str, tuple[int, int]],
    method: Method,
    data: Sequence[Path],
    read_test: ReadTest,
    progress: Progress = no_progress,
) -> Written:
    """Write a stage once its clips are known to be no test's."""
    asked: dict[Path, set[str]] = defaultdict(set)
    for item in items:
        asked[item.clip].add(item.question)
    comparison = compare_with_tests(asked, inputs.tests, read_test, progress)
    path = write_training(inputs, method, items, (*data, *inputs.rewards.plugins), tuple(comparison.compared))
    return Written(method, path, parts, len(asked), comparison)


def compare_with_tests(
    training: TrainedClips, tests: Sequence[Path], read_test: ReadTest, progress: Progress = no_progress
) -> ClipComparison:
    """Compare training clips with those of all that is prepared and of further sets."""
    tested = [*prepared_clips(), *(clip for test in tests for clip in read_test(test))]
    return compare_clips(training, tested, progress)

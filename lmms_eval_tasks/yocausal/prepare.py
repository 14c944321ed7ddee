"""From the official YoCausal release, or any folder of videos, to a prepared table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.utils.core.problems import InputError, Problems, Warnings
from lmms_eval_tasks.utils.core.progress import Progress, no_progress
from lmms_eval_tasks.utils.data.building import Origin, building
from lmms_eval_tasks.utils.data.manifest import SplitManifest, file_sha256
from lmms_eval_tasks.utils.data.release import SAMPLE_MARK, Clip, download_dataset, open_release
from lmms_eval_tasks.yocausal.card import CARD, SUBSETS
from lmms_eval_tasks.yocausal.own_videos import read_videos
from lmms_eval_tasks.yocausal.released import metadata_name, read_pairs
from lmms_eval_tasks.yocausal.table import SPLIT, PairRow, own_columns, table_rows, uncaptioned, with_labels


def prepare(
    source: Annotated[str, typer.Option(help="Dataset on the hub, or a folder with a snapshot of it.")] = CARD.hub_id,
    from_videos: Annotated[
        Path | None, typer.Option(help="Any folder of videos instead: their reversals are made.", show_default=False)
    ] = None,
    captions: Annotated[
        Path | None, typer.Option(help="Their captions: CSV or JSON lines with file and caption.", show_default=False)
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="How much of each of them is shown; by default all.", show_default=False)
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Causality labels to use, as `yocausal label` writes them.", show_default=False)
    ] = None,
    progress: Progress = no_progress,
) -> dict[str, SplitManifest]:
    """Prepare YoCausal, or any folder of videos in its form.

    Raises:
        InputError: as `prepare_release` and `prepare_videos`.
    """
    if from_videos is not None:
        return prepare_videos(from_videos, captions, seconds, labels, progress)
    if captions is not None or seconds is not None:
        raise InputError("Expected --captions and --seconds only with --from-videos.")
    return prepare_release(source, labels, progress)


def prepare_release(
    source: str = CARD.hub_id, labels: Path | None = None, progress: Progress = no_progress
) -> dict[str, SplitManifest]:
    """Prepare the release.

    Clips that are absent or unreadable do not stop this: the manifest lists them, and a run stops at them unless it is
    set to skip them. Any problem of the metadata does, and then nothing is written.

    Args:
        source: Dataset on the hub, or a folder with a snapshot of it.
        labels: Causality labels to use in place of the release's.
        progress: Called as the work goes on.

    Returns:
        Split name to what was prepared.

    Raises:
        InputError: the source is not the release, or its metadata or the labels have problems; all are listed.
    """
    root, revision = _find_release(source)
    files = {subset: metadata_name(subset) for subset in SUBSETS}
    with open_release(root, CARD.title, files.values(), ("",)) as release:
        contents = {subset: content for subset, file in files.items() if (content := release.read(file)) is not None}
        sample = release.read(SAMPLE_MARK) is not None
    problems, warnings = Problems(), Warnings()
    pairs: list[PairRow] = []
    clips: dict[str, Clip | None] = {}
    for subset, content in contents.items():
        subset_pairs, subset_clips = read_pairs(root.absolute(), subset, content, problems, warnings)
        pairs += subset_pairs
        clips |= subset_clips
    problems.raise_if_any(f"YoCausal cannot be prepared from {root.name}", "nothing was written")
    digests = {files[subset]: hashlib.sha256(content).hexdigest() for subset, content in contents.items()}
    origin = Origin(source, digests, sample, revision, warnings.messages())
    return _build(pairs, clips, origin, labels, None, progress)


def prepare_videos(
    folder: Path,
    captions: Path | None = None,
    seconds: float | None = None,
    labels: Path | None = None,
    progress: Progress = no_progress,
) -> dict[str, SplitManifest]:
    """Prepare any folder of videos in the benchmark's form; it takes the place of what was prepared before.

    Args:
        folder: Videos; sub-folders name categories.
        captions: CSV or JSON lines with file and caption.
        seconds: How much of each video is shown.
        labels: Causality labels.
        progress: Called as the work goes on.

    Raises:
        InputError: a video, the captions or the labels cannot be used; every problem is listed, nothing is written.
    """
    pairs, clips = read_videos(folder, captions, seconds)
    origin = Origin(str(folder), {captions.name: file_sha256(captions)} if captions else {}, sample=False)
    return _build(pairs, clips, origin, labels, seconds, progress)


def _build(
    pairs: list[PairRow],
    clips: Mapping[str, Clip | None],
    origin: Origin,
    labels: Path | None,
    seconds: float | None,
    progress: Progress,
) -> dict[str, SplitManifest]:
    pairs = with_labels(pairs, labels)
    digests = {**origin.source_sha256, **({labels.name: file_sha256(labels)} if labels else {})}
    origin = replace(origin, source_sha256=digests, warnings=(*origin.warnings, *uncaptioned(pairs)))
    rows = table_rows(pairs, seconds, progress)
    with building(CARD.name) as build:
        build.add_split(SPLIT, rows, own_columns(), clips, origin, progress, whole=True)
    return {SPLIT: build.splits[SPLIT]}


def _find_release(source: str) -> tuple[Path, str | None]:
    """The release's folder, downloaded where the source is on the hub, and its revision there.

    Raises:
        InputError: it is neither a folder nor a dataset that the hub gives.
    """
    folder = Path(source).expanduser()
    if folder.is_dir():
        return folder.absolute(), None
    if folder.exists() or len(Path(source).parts) != 2:
        raise InputError(f"Expected --source to be a folder or a dataset on the hub, but got {source}.")
    return download_dataset(source, CARD.title, ["subset/**"])

"""From the official YoCausal release, or any folder of videos, to a prepared table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.api import InputError, Origin, Progress, SplitManifest, building, no_progress
from lmms_eval_tasks.api.release import summarize_names
from lmms_eval_tasks.yocausal.card import CARD
from lmms_eval_tasks.yocausal.own_videos import read_videos
from lmms_eval_tasks.yocausal.released import read_release
from lmms_eval_tasks.yocausal.table import SPLIT, measure_pairs, own_columns, table_rows, with_labels


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

    Clips that are absent, or cannot be decoded to their end, do not stop this, neither those of the release nor own
    videos: the manifest lists them, and a run stops at them unless it is set to skip them. Any other problem of
    metadata, videos, captions or labels does, and then nothing is written.

    Raises:
        InputError: the source is not the release, or has problems; all are listed.

    Examples:
        lmms-eval-tasks prepare yocausal
        lmms-eval-tasks prepare yocausal --from-videos clips --captions captions.csv --seconds 4
    """
    if from_videos is not None:
        pairs, clips = read_videos(from_videos, captions, seconds)
        origin = Origin(str(from_videos), {captions.name: captions} if captions else {}, own=True)
    elif captions is not None or seconds is not None:
        raise InputError("Expected --captions and --seconds only with --from-videos.")
    else:
        pairs, clips, origin = read_release(source)
    if labels is not None:
        pairs = with_labels(pairs, labels)
        origin = replace(origin, files={**origin.files, labels.name: labels})
    if uncaptioned := [pair.item_id for pair in pairs if pair.caption is None]:
        count = f"{len(uncaptioned)} of {len(pairs)} pairs have no caption and can be scored with prompt=null only"
        origin = replace(origin, warnings=(*origin.warnings, f"{count}: {summarize_names(uncaptioned)}."))
    motions = measure_pairs(pairs, seconds, progress)
    # The clips of own videos are other files than those that were measured.
    decoded = {pair.clip for pair in pairs if from_videos is None and motions.get(pair.item_id) is not None}
    rows = table_rows(pairs, motions)
    with building(CARD.name) as build:
        build.add_split(SPLIT, rows, own_columns(), clips, origin, progress, whole=True, decoded=decoded)
    return {SPLIT: build.splits[SPLIT]}

"""The clips that a set is built from, with the tracks of who and what is in them."""

from __future__ import annotations

import math
from pathlib import Path

from lmms_eval_tasks.build.cast_bench.config import CastBenchConfig
from lmms_eval_tasks.build.cast_bench.edits import read_edits
from lmms_eval_tasks.build.cast_bench.rows import ClipRow
from lmms_eval_tasks.build.cast_bench.tracks import read_tracks, track_files
from lmms_eval_tasks.cast_bench.frame_sizes import frame_sizes
from lmms_eval_tasks.utils.core.errors import Problems
from lmms_eval_tasks.utils.core.work import no_progress
from lmms_eval_tasks.utils.data.clips import clip_lengths
from lmms_eval_tasks.utils.data.frames import NEAR

SUFFIX = ".mp4"


def find_clips(config: CastBenchConfig) -> list[Path]:
    """The clips, by their names."""
    problems = Problems()
    for name, folder in (("clips", config.clips), ("tracks", config.tracks)):
        if not folder.is_dir():
            problems.add(name, f"Expected a folder, but there is none at {folder}.")
    clips = sorted(path for path in config.clips.glob(f"*{SUFFIX}") if path.is_file()) if not problems else []
    if not problems and not clips:
        problems.add("clips", f"Expected files *{SUFFIX}, but got none in {config.clips}.")
    problems.raise_if_any("Nothing can be built", "nothing was asked")
    return clips


def source_files(config: CastBenchConfig) -> list[Path]:
    """All files that a set is built from."""
    clips = find_clips(config)
    tracks = [path for clip in clips for path in track_files(config.tracks, clip.stem, config.masklets)]
    by_people = [path for path in (config.descriptions, config.revisions) if path is not None]
    return [*clips, *tracks, *by_people]


def read_sources(config: CastBenchConfig) -> list[ClipRow]:
    """The clips with their tracks, and with what people say of them."""
    problems = Problems()
    clips = find_clips(config)
    sizes = frame_sizes(clips, no_progress, "")
    lengths = clip_lengths(clips, no_progress, "")
    rows = []
    for clip in clips:
        frame, seconds = sizes[clip], lengths[clip] or 0.0
        last = max(0, math.ceil(seconds - NEAR) - 1)
        files = track_files(config.tracks, clip.stem, config.masklets)
        if not files:
            names = f"{clip.stem}.json, or SA-V's {clip.stem}_manual.json"
            problems.add(clip.name, f"Expected {names}, in {config.tracks}, but there is none.")
        instances = read_tracks(files, frame, last, problems)
        width, height = frame or (0, 0)
        rows.append(ClipRow(id=clip.stem, clip=clip.name, width=width, height=height, last=last, instances=instances))
    if config.descriptions is not None:
        edited = read_edits(config.descriptions, {row.id: row for row in rows}, problems)
        rows = [row.model_copy(update={"edited": edited.get(row.id, {})}) for row in rows]
    problems.raise_if_any("Nothing can be built", "nothing was asked")
    return rows

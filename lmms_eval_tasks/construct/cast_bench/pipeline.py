"""The pipeline of a CaST-Bench build, from clips and tracks to a set in the form of the release, with further facts.

Source: CaST-Bench (arXiv 2605.23216), supplement, sections 10.1 to 10.6.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmms_eval_tasks.cast_bench.card import CARD
from lmms_eval_tasks.cast_bench.release import FILE, ROLES, frame_of, frame_size
from lmms_eval_tasks.construct.cast_bench import clip_steps, questions
from lmms_eval_tasks.construct.cast_bench.rows import (
    CastBenchConfig,
    ClipRow,
    EvidencePiece,
    QuestionRow,
    released_piece,
    released_row,
    roles_of,
)
from lmms_eval_tasks.construct.cast_bench.tracks import read_tracks, track_files
from lmms_eval_tasks.construct.engine.running import Pipeline
from lmms_eval_tasks.construct.engine.steps import ReadyStep
from lmms_eval_tasks.utils.answers.evidence import DEFAULTS
from lmms_eval_tasks.utils.core.errors import Problems
from lmms_eval_tasks.utils.core.files import visible_files, write_file
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.core.work import in_parallel, no_progress
from lmms_eval_tasks.utils.data.clips import NEAR, clip_lengths
from lmms_eval_tasks.utils.data.identity import carry_sample_mark
from lmms_eval_tasks.utils.data.prepare import link_or_copy

VIDEOS = "videos"
DESCRIPTIONS = "descriptions"
"""Folder of what instances do, as questions that nobody asks, so that `annotate` can have them edited."""


def write_release(rows: Sequence[QuestionRow], folder: Path, config: CastBenchConfig) -> list[str]:
    """Write the questions in their order, their clips, and the facts of each that a release has no field for."""
    (folder / VIDEOS).mkdir()
    for clip in dict.fromkeys(row.clip.clip for row in rows):
        link_or_copy((config.clips / clip).resolve(), folder / VIDEOS / clip)
    write_file(folder / FILE, as_lines(released_row(row) for row in rows))
    clips = {row.clip.id: row.clip for row in rows}
    write_file(folder / DESCRIPTIONS / FILE, as_lines(map(described_row, clips.values())))
    write_file(folder / ROLES, as_lines(roles_of(row).model_dump() for row in rows))
    carry_sample_mark(config.clips, folder)
    unmatched = 0
    for row in rows:
        spans: defaultdict[str, list[int]] = defaultdict(list)
        for one in row.evidence:
            spans[one.instance] += [one.start, one.end]
        unmatched += any(max(seconds) - min(seconds) + 1 < DEFAULTS.eps_overlap for seconds in spans.values())
    if not unmatched:
        return []
    return [
        f"{unmatched:,} questions have an instance whose evidence spans less than {DEFAULTS.eps_overlap} seconds: as "
        "the official code is run, no answer can be matched with it."
    ]


def described_row(clip: ClipRow) -> dict[str, Any]:
    """Return the actions of a clip's instances in the form of a question's evidence."""
    entries = []
    for one in clip.described:
        of_instance: dict[str, Any] = {"instance": one.instance.id, "boxes": one.instance.boxes}
        for entry in one.entries:
            piece = EvidencePiece(start=entry.start, end=entry.end, rationale=entry.text, **of_instance)
            entries.append(released_piece(one, piece))
    question = {"question": "Do those in the clip do what is written?", "question_type": "Other", "scene_category": ""}
    options = {"options": {"A": "Yes.", "B": "No."}, "answer": "A"}
    return {"video": clip.clip, **question, **options, "evidence": json.dumps(entries, ensure_ascii=False)}


SUFFIX = ".mp4"


def find_clips(config: CastBenchConfig) -> list[Path]:
    problems = Problems()
    for name, folder in (("clips", config.clips), ("tracks", config.tracks)):
        if not folder.is_dir():
            problems.add(name, f"Expected a folder, but there is none at {folder}.")
    clips = visible_files(config.clips, f"*{SUFFIX}") if not problems else []
    if not problems and not clips:
        problems.add("clips", f"Expected files *{SUFFIX}, but got none in {config.clips}.")
    problems.raise_if_any("Nothing can be built", "nothing was asked")
    return clips


def source_files(config: CastBenchConfig) -> list[Path]:
    clips = find_clips(config)
    tracks = [path for clip in clips for path in track_files(config.tracks, clip.stem, config.masklets)]
    by_people = [path for path in (config.descriptions, config.revisions) if path is not None]
    return [*clips, *tracks, *by_people]


def read_sources(config: CastBenchConfig) -> list[ClipRow]:
    problems = Problems()
    clips = find_clips(config)
    sizes = dict(in_parallel(clips, frame_size, no_progress, ""))
    lengths = clip_lengths(clips, no_progress, "")
    rows = []
    for clip in clips:
        frame, seconds = frame_of(sizes[clip]), lengths[clip] or 0.0
        last = max(0, math.ceil(seconds - NEAR) - 1)
        files = track_files(config.tracks, clip.stem, config.masklets)
        if not files:
            names = f"{clip.stem}.json, or SA-V's {clip.stem}_manual.json"
            problems.add(clip.name, f"Expected {names}, in {config.tracks}, but there is none.")
        instances = read_tracks(files, frame, last, problems)
        width, height = frame or (0, 0)
        rows.append(ClipRow(id=clip.stem, clip=clip.name, width=width, height=height, last=last, instances=instances))
    if config.descriptions is not None:
        edited = clip_steps.read_edits(config.descriptions, {row.id: row for row in rows}, problems)
        rows = [row.model_copy(update={"edited": edited.get(row.id, {})}) for row in rows]
    problems.raise_if_any("Nothing can be built", "nothing was asked")
    return rows


def steps_of(config: CastBenchConfig) -> list[ReadyStep]:
    steps = [
        clip_steps.measure_clips.given(config=config),
        clip_steps.select_clips.given(config=config),
        clip_steps.split_instances,
        clip_steps.describe_looks.given(config=config),
        clip_steps.describe_actions.given(config=config),
        clip_steps.join_instances,
        questions.write_questions.given(config=config),
        questions.check_question,
        questions.keep_distinct,
        questions.lay_boxes,
        questions.write_distractors.given(config=config),
        questions.write_near_misses.given(config=config),
        questions.filter_by_text,
        questions.filter_by_mask.given(config=config),
    ]
    return (
        [*steps, questions.apply_revisions.given(revisions=questions.read_revisions(config.revisions))]
        if config.revisions
        else steps
    )


PIPELINE = Pipeline(
    benchmark=CARD.name,
    config=CastBenchConfig,
    read=read_sources,
    source_files=source_files,
    steps=steps_of,
    write=write_release,
    first="clips with tracks",
)

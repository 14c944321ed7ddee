"""The prepared table of YoCausal: of the official release, or of any folder of videos, whose reversals are made."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from pydantic import BeforeValidator

from lmms_eval_tasks.api import InputError, Origin, Preparation, Problems, Progress, SplitManifest, building, read_rows
from lmms_eval_tasks.api.clips import ClipMotion, FrameCoder, FrameStream, measure_motion, most_symmetric, videos_below
from lmms_eval_tasks.api.forms import Cell, Key, ReleaseRow, Text, mismatch, read_csv_form, read_json_form
from lmms_eval_tasks.api.release import (
    ClipOptions,
    UnreadableClip,
    WholeText,
    describe,
    download_dataset,
    is_safe,
    open_release,
    summarize_names,
)
from lmms_eval_tasks.api.runs import LogForm
from lmms_eval_tasks.yocausal.card import CARD, FORWARD, LABELS, OPTIONS, QUESTION, SPLIT, SUBSETS

PairRow = dict[str, Any]
"""A row of the prepared table without `clip_present`; before `measure_pairs` also without the motion in its clip."""


def own_columns() -> dict[str, Any]:
    import pyarrow as pa

    return {
        **dict.fromkeys(("clip_backward", "caption", "subset", "dataset_source", "category"), pa.string()),
        **dict.fromkeys(LABELS, pa.bool_()),
        "fps": pa.float64(),
        "frames": pa.int64(),
        **dict.fromkeys(("motion", "motion_symmetry"), pa.float64()),
        "motion_symmetric": pa.bool_(),
        "released": pa.string(),
    }


def prepare(
    preparation: Preparation,
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
) -> dict[str, SplitManifest]:
    """Prepare YoCausal, or any folder of videos in its form.

    Clips that are absent, or cannot be decoded to their end, do not stop this, neither those of the release nor own
    videos: the manifest lists them, and a run stops at them unless it is set to skip them. Any other problem of
    metadata, videos, captions or labels does, and then nothing is written.

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
        given = read_labels(labels, {pair["item_id"] for pair in pairs})
        for pair in pairs:
            if row := given.get(pair["item_id"]):
                pair |= row.model_dump(include=row.model_fields_set & set(LABELS))
        origin = replace(origin, files={**origin.files, labels.name: labels})
    if uncaptioned := [pair["item_id"] for pair in pairs if pair["caption"] is None]:
        count = f"{len(uncaptioned)} of {len(pairs)} pairs have no caption and can be scored with prompt=null only"
        origin = replace(origin, warnings=(*origin.warnings, f"{count}: {summarize_names(uncaptioned)}."))
    decoded = measure_pairs(pairs, clips, seconds, preparation.progress)
    with building(CARD.name, preparation) as build:
        options = ClipOptions(whole=True, decoded=decoded)
        build.add_split(SPLIT, pairs, own_columns(), clips, origin, options)
    return {SPLIT: build.splits[SPLIT]}


def pair_row(
    subset: str,
    name: object,
    files: tuple[str, str],
    paths: tuple[str, str],
    caption: str | None,
    resolution: object = None,
    **own: Any,
) -> PairRow:
    """A pair whose clips, forward and backward, are called `files` here and `paths` where they come from."""
    item_id, (forward, backward) = f"{subset}_{name}", paths
    released = {"id": name, "resolution": resolution, "video_path_forward": forward, "video_path_backward": backward}
    return {
        "item_id": item_id,
        "group_id": item_id,
        "clip": f"{SPLIT}/{subset}/fwd/{files[0]}",
        "clip_backward": f"{SPLIT}/{subset}/bwd/{files[1]}",
        "question": QUESTION,
        "options": list(OPTIONS),
        "answer": FORWARD,
        "caption": caption,
        "subset": subset,
        "released": json.dumps(released, ensure_ascii=False, sort_keys=True),
        **dict.fromkeys(LABELS),
        **own,
    }


# ---- the official release ------------------------------------------------------------------------------------------

NUMBERS = {"fps": ("fps", 10_000, float), "frames": ("total_frames", 1_000_000_000, int)}
"""A clip's numbers: column to field, the most that it can be, and its type; what is above, or not finite, is none."""


def _read_id(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise mismatch("a number or text", value)
    return value


def _read_path(value: object) -> str:
    if not isinstance(value, str) or not value.strip("/") or not is_safe(value.lstrip("/")):
        raise mismatch("{field} to name a file of the release", value)
    return value


ReleasedPath = Annotated[str, BeforeValidator(_read_path)]


class ReleasedPair(ReleaseRow):
    id: Annotated[Any, Key, BeforeValidator(_read_id)]
    video_path_forward: ReleasedPath
    video_path_backward: ReleasedPath
    prompt: Any = None
    dataset_source: Cell = ""
    category: Cell = ""
    vlm_causality: Any = None
    human_discriminable: Any = None
    meta: Any = None


def read_release(source: str) -> tuple[list[PairRow], Clips, Origin]:
    """The pairs of the release, in the order of subsets and metadata files, their clips, and where they come from."""
    root, revision = Path(source).expanduser().absolute(), None
    if not root.is_dir():
        if root.exists() or len(Path(source).parts) != 2:
            raise InputError(f"Expected --source to be a folder or a dataset on the hub, but got {source}.")
        root, revision = download_dataset(source, CARD.title, ["subset/**"])
    root = root.absolute()
    files = {subset: f"subset/{subset}/dataset_metadata.json" for subset in SUBSETS}
    problems, pairs, clips = Problems(), list[PairRow](), Clips()
    with open_release(root, CARD.title, files.values(), ("",)) as release:
        read = {file: content for file in files.values() if (content := release.read(file)) is not None}
        for subset, file in files.items():
            if file not in read and release.holds(f"subset/{subset}"):
                remedy = f"Get the release again, or move {subset} away to prepare the other subsets alone."
                problems.add(file, "Expected it beside the subset's clips, but there is none.", remedy=remedy)
    for subset, file in files.items():
        for row in read_json_form(ReleasedPair, read[file], file, problems) if file in read else ():
            _read_pair(root, subset, row, file, pairs, clips, problems)
    problems.raise_if_any(f"YoCausal cannot be prepared from {root.name}", "nothing was written")
    return pairs, clips, Origin(source, read, revision, problems.warnings())


def _read_pair(
    root: Path, subset: str, row: ReleasedPair, file: str, pairs: list[PairRow], clips: Clips, problems: Problems
) -> None:
    """Add an entry's pair and clips to those of the others.

    A label that is neither true, false nor null is none, as in the official code, which compares with ``is True``.
    """
    forward = _find(root, subset, "fwd", row.video_path_forward)
    backward = _find(root, subset, "bwd", row.video_path_backward)
    if forward == backward:
        named = "video_path_forward and video_path_backward"
        problems.add(row.where, f"Expected two clips, but {named} name the same file.")
        return
    meta = row.meta if isinstance(row.meta, dict) else {}

    def known(name: str, value: Any, is_one: bool, what: str) -> Any:
        if value is not None and not is_one:
            problems.warn(f"{file}: {name} that are {what} and count as none", f"id {row.id}")
        return value if is_one else None

    own: dict[str, Any] = {}
    for name, label in row.model_dump(include=set(LABELS)).items():
        own[name] = known(name, label, isinstance(label, bool), "neither true nor false")
    for column, (name, most, kind) in NUMBERS.items():
        value = meta.get(name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most
        number = known(name, value, is_number, f"no numbers up to {most:,}")
        own[column] = None if number is None else kind(number)
    try:
        # A result file, which repeats it, cannot hold NaN.
        json.dumps(resolution := meta.get("resolution"), allow_nan=False)
    except ValueError:
        resolution = None
    pair = pair_row(
        subset,
        row.id,
        (forward.name, backward.name),
        (row.video_path_forward, row.video_path_backward),
        row.prompt.strip() or None if isinstance(row.prompt, str) else None,
        resolution,
        dataset_source=row.dataset_source,
        category=row.category,
        **own,
    )
    pair_clips: Clips = {pair["clip"]: forward, pair["clip_backward"]: backward}
    if shared := [name for name in pair_clips if name in clips]:
        problems.add(row.where, f"Expected clips of its own, but another pair has {', '.join(shared)}.")
    clips |= pair_clips
    pairs.append(pair)


def _find(root: Path, subset: str, side: str, path: str) -> Path:
    """A clip's file by the path that the metadata gives, which may begin in a folder that was never released."""
    folder, name = root / "subset" / subset, PurePosixPath(path.lstrip("/"))
    tails = [PurePosixPath(*name.parts[first:]) for first in range(len(name.parts) - 1)]
    candidates = [root / name, *(base / tail for tail in tails for base in (root / "subset", folder))]
    candidates += [folder / side / name.name, folder / name.name]
    return next((path for path in candidates if path.is_file()), folder / side / name.name)


# ---- any folder of videos ------------------------------------------------------------------------------------------

NO_CATEGORY = "general"


@dataclass(frozen=True)
class DirectedClip:
    """A video's first frames in one direction, written without loss; the same frames give the same bytes.

    Each frame is coded for itself, so that clip and reversal hold the same frames to the bit. Its name in the data home
    holds what changes with the file and with how much of it is shown.

    Attributes:
        path: The video.
        frames: How many of its frames are shown; 0 where it cannot be decoded.
        fps: Frames a second.
        size: A guess of the bytes that lossless H.264 takes: a third of the decoded frames.
        backwards: Whether the last of them is the first.
    """

    path: Path
    frames: int = 0
    fps: float = 0.0
    size: int = 0
    backwards: bool = False

    def is_made(self, path: Path) -> bool:
        """Whether an earlier build wrote a file under this name."""
        return self.frames > 0 and path.is_file()

    def make(self, path: Path) -> None:
        if not self.frames:
            raise UnreadableClip("it cannot be decoded")
        try:
            with FrameStream(self.path) as stream, FrameCoder(path, stream, every_key=True, quality=0) as coder:
                count = 0
                for count, frame in enumerate(islice(stream.frames(), self.frames), 1):
                    coder.add(count - 1, frame)
                coder.write(range(count)[::-1] if self.backwards else range(count))
        except ValueError as error:
            raise UnreadableClip(str(error)) from error


def open_video(path: Path, seconds: float | None) -> DirectedClip:
    """A video as a clip of its first seconds, or all; ValueError says why it cannot be reversed."""
    try:
        with FrameStream(path) as stream:
            decoded = stream.frames(as_stored=True)
            first = next(decoded)
            frames = stream.stated_frames or 1 + sum(1 for _ in decoded)
    except UnreadableClip:
        return DirectedClip(path)
    if stream.fps <= 0:
        raise ValueError("Expected a frame rate, but its header has none.")
    if seconds is not None:
        frames = round(min(frames, max(1, seconds * stream.fps)))
    if frames < 2:
        raise ValueError(f"Expected at least 2 frames, but got {frames}.")
    return DirectedClip(path, frames, stream.fps, frames * first.width * first.height // 2)


Clips = dict[str, Path | DirectedClip]
"""Name in the data home to the released file, which need not be there, or to a clip that is made of an own video."""


def read_videos(folder: Path, captions: Path | None, seconds: float | None) -> tuple[list[PairRow], Clips]:
    """The pairs that a folder of videos makes, in alphabetical order; the clips of a damaged video are unreadable."""
    if not folder.is_dir():
        raise InputError(f"YoCausal cannot be prepared: there is no folder {folder} to take the videos from.")
    if seconds is not None and not 0 < seconds < math.inf:
        raise InputError(f"Expected --seconds to be above 0 and finite, but got {seconds:g}.")
    files = {path.relative_to(folder).as_posix(): path.absolute() for path in videos_below(folder)}
    problems, pairs, clips = Problems(), list[PairRow](), Clips()
    caption_of = read_captions(captions, folder.name, files, problems) if captions else {}
    file_of: dict[str, str] = {}
    for name, path in files.items():
        if name.encode("utf-8", "replace").decode("utf-8") != name:
            problems.add(name, "Expected a name in UTF-8, which an id can be made of.", remedy="rename it.")
            continue
        try:
            clip = open_video(path, seconds)
        except ValueError as error:
            problems.add(name, str(error))
            continue
        facts = path.stat()
        key = f"{facts.st_size}\0{facts.st_mtime_ns}\0{seconds}\0every frame for itself"
        parts = Path(name).with_suffix("").parts
        category = parts[0] if len(parts) > 1 else NO_CATEGORY
        stem = "__".join(parts[1:] or parts)
        pair = pair_row(
            category,
            stem,
            (f"{stem}-{hashlib.sha256(key.encode()).hexdigest()[:8]}.mp4",) * 2,
            (name, name),
            caption_of.get(name),
            dataset_source=category,
            category=category,
            fps=clip.fps or None,
            frames=clip.frames or None,
        )
        if not is_safe(pair["clip"]):
            problems.add(
                name,
                "Expected a shorter name, without a backslash, a line break or another control character.",
                remedy="rename it.",
            )
        elif pair["item_id"] in file_of:
            problems.add(name, f"Expected another name than {file_of[pair['item_id']]}, whatever the suffix.")
        else:
            file_of[pair["item_id"]] = name
            pairs.append(pair)
            clips |= {pair["clip"]: clip, pair["clip_backward"]: replace(clip, backwards=True)}
    if pairs and not any(_file_of(clip) for clip in clips.values()):
        problems.add(folder.name, "Expected a video that can be decoded, but there is none.")
    problems.raise_if_any(f"YoCausal cannot be prepared from {folder.name}", "nothing was written")
    return pairs, clips


class CaptionRow(ReleaseRow):
    file: Annotated[WholeText, Key]
    caption: Text


def read_captions(file: Path, folder: str, videos: Container[str], problems: Problems) -> dict[str, str]:
    """Captions by the videos' paths below their folder; a video may have none, a caption must have a video."""
    if not file.is_file():  # a pipe would be waited for
        problems.add(file.name, "Expected a file of captions, but there is none.")
        return {}
    try:
        content = file.read_bytes()
    except OSError as error:
        problems.add(file.name, f"Expected a file of captions, but got: {error}.")
        return {}
    if file.suffix.lower() == ".csv":
        rows = read_csv_form(CaptionRow, content, file.name, problems, exact=False)
    else:
        rows = read_json_form(CaptionRow, content, file.name, problems, lines=True)
    for row in rows:
        if row.file not in videos:
            case = f"{describe(row.file)} ({row.place})"
            problems.add(f"{file.name}, file", f"Expected a video of {folder}, but got", case)
    return {row.file: row.caption for row in rows}


# ---- labels from a file, and motion --------------------------------------------------------------------------------


class LabelRow(LogForm):
    """A line of a labels file; further keys are ignored."""

    id: WholeText
    vlm_causality: bool | None = None
    human_discriminable: bool | None = None


def read_labels(file: Path, known: Container[str], names: Sequence[str] = LABELS) -> dict[str, LabelRow]:
    """The lines of a labels file by item id; each has one label at least of those that are named."""
    if not file.is_file():
        raise InputError(f"The labels cannot be used: there is no file {file}.")
    issues, labels = Problems(), dict[str, LabelRow]()
    wanted = " or ".join(names)
    for where, row in read_rows(file, LabelRow, issues, exact=False):
        case = f"{describe(row.id)} ({where})"
        if row.id not in known:
            issues.add("id", "Expected the id of a pair, but got", case)
        elif row.id in labels:
            issues.add("id", "Expected one label per pair, but got again", case)
        elif row.model_fields_set.isdisjoint(names):
            issues.add(wanted, "Expected true, false or null, but got nothing for", case)
        else:
            labels[row.id] = row
    if not issues and all(getattr(row, name) is None for row in labels.values() for name in names):
        issues.add(wanted, "Expected true or false for at least one pair, but", "no pair has a label")
    problems = Problems().extend(issues, f"{file.name}, ")
    problems.raise_if_any(f"The labels in {file.name} cannot be used", "nothing was written")
    return labels


def flow(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> float:
    """Mean length of the flow between two pictures, in widths of the picture."""
    import cv2

    found: Any = cv2.calcOpticalFlowFarneback(before, after, None, 0.5, 3, 15, 3, 5, 1.2, 0)
    return float(np.hypot(found[..., 0], found[..., 1]).mean() / before.shape[1])


def measure_pairs(
    pairs: Sequence[PairRow], clips: Mapping[str, Path | DirectedClip], seconds: float | None, progress: Progress
) -> set[str]:
    """Add to each pair the motion in its forward clip, which is decoded once; returns the clips that were decoded."""
    files = {pair["item_id"]: file for pair in pairs if (file := _file_of(clips[pair["clip"]]))}
    workers = max(1, min(8, os.cpu_count() or 1))
    motions: dict[str, ClipMotion] = {}
    with ThreadPoolExecutor(workers, thread_name_prefix="motion") as pool:
        measured = pool.map(lambda path: measure_motion(path, flow, seconds), files.values())
        for done, (item_id, found) in enumerate(zip(files, measured, strict=True), 1):
            if found:
                motions[item_id] = found
            progress("measuring motion", done, len(files))
    symmetric = most_symmetric({item_id: motion.symmetry for item_id, motion in motions.items()})
    decoded = set()
    for pair in pairs:
        pair |= {"motion": None, "motion_symmetry": None, "motion_symmetric": pair["item_id"] in symmetric}
        if motion := motions.get(pair["item_id"]):
            pair |= {"fps": motion.fps, "frames": motion.frames}
            pair |= {"motion": motion.magnitude, "motion_symmetry": motion.symmetry}
            # The clips of own videos are other files than those that were measured.
            if isinstance(clips[pair["clip"]], Path):
                decoded.add(pair["clip"])
    return decoded


def _file_of(clip: Path | DirectedClip) -> Path | None:
    """The file that a clip is made of; None where it is not there or cannot be decoded."""
    if isinstance(clip, Path):
        return clip if clip.is_file() else None
    return clip.path if clip.frames else None

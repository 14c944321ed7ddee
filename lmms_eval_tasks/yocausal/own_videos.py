"""Any folder of videos as pairs of YoCausal: the reversals are made, captions come from a file."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ConfigDict

from lmms_eval_tasks.api import InputError, Problems, RowForm, read_rows
from lmms_eval_tasks.api.clips import FrameStream, videos_below
from lmms_eval_tasks.api.release import UnreadableClip, WholeText, describe, is_safe, read_csv
from lmms_eval_tasks.yocausal.pair_table import SPLIT, PairRow

FORMATS = frozenset({"yuv420p", "yuvj420p", "yuv422p", "yuv444p"})
MOST_BYTES = 4_000_000_000
"""Of decoded frames, which must all be in memory to be reversed."""
# `asm=0` as in the sample: with AVX-512 the encoder reads memory that it has not set, and bytes vary.
OPTIONS = {"qp": "0", "preset": "veryfast", "threads": "1", "x264-params": "asm=0"}


@dataclass(frozen=True)
class Video:
    path: Path
    frames: int
    rate: Fraction
    seconds: float | None
    decoded: int


def video_key(path: Path, seconds: float | None) -> str:
    """Eight digits that change with a file and with how much of it is shown."""
    facts = path.stat()
    text = f"{facts.st_size}\0{facts.st_mtime_ns}\0{seconds}\0{sorted(OPTIONS.items())}"
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def open_video(path: Path, seconds: float | None) -> Video:
    try:
        with FrameStream(path) as stream:
            decoded = stream.frames(as_stored=True)
            first = next(decoded)
            frames = stream.stated_frames or 1 + sum(1 for _ in decoded)
    except UnreadableClip:
        raise UnreadableClip("it cannot be decoded") from None
    if stream.fps <= 0:
        raise ValueError("Expected a frame rate, but its header has none.")
    if getattr(first, "rotation", 0):
        raise ValueError(
            f"Expected upright frames, but they are to be turned by {first.rotation}°; store them upright."
        )
    if seconds is not None:
        frames = round(min(frames, max(1, seconds * stream.fps)))
    if frames < 2:
        raise ValueError(f"Expected at least 2 frames, but got {frames}.")
    size = frames * first.width * first.height * 3 // 2
    if size > MOST_BYTES:
        raise ValueError(
            f"Expected at most {MOST_BYTES / 1e9:.0f} GB of decoded frames, but {frames} are {size / 1e9:.1f} GB; "
            "give --seconds."
        )
    return Video(path, frames, stream.rate, seconds, size)


@dataclass(frozen=True)
class DirectedClip:
    """A video's frames in one direction, to be written into the data home; its name there holds the video's key."""

    video: Video | None
    backwards: bool

    @property
    def size(self) -> int:
        """A guess of what lossless H.264 takes: a third of the decoded frames."""
        return self.video.decoded // 3 if self.video else 0

    def is_made(self, path: Path) -> bool:
        """Whether an earlier build wrote a file under this name."""
        return self.video is not None and path.is_file()

    def make(self, path: Path) -> None:
        import av

        if self.video is None:
            raise UnreadableClip("it cannot be decoded")
        try:
            with FrameStream(self.video.path) as stream:
                frames = list(islice(stream.frames(as_stored=True), self.video.frames))
            write_lossless(path, frames[::-1] if self.backwards else frames, self.video.rate)
        except (av.FFmpegError, ValueError, IndexError) as error:
            raise UnreadableClip(str(error)) from error


def write_lossless(path: Path, frames: list[Any], rate: Fraction) -> None:
    """Write decoded frames as an mp4 with one H.264 stream, without loss; the same frames give the same bytes."""
    import av
    from av.codec.context import Flags as CodecFlags
    from av.container import Flags as ContainerFlags

    first = frames[0]
    pixel_format = first.format.name if first.format.name in FORMATS else "yuv420p"
    if first.width % 2 or first.height % 2:
        pixel_format = "yuv444p"
    with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"}) as container:
        container.flags |= ContainerFlags.bitexact.value
        stream = container.add_stream("libx264", rate=rate, options=OPTIONS)
        stream.width, stream.height, stream.pix_fmt = first.width, first.height, pixel_format
        context = stream.codec_context
        context.thread_count = 1
        context.max_b_frames = 0
        context.flags |= CodecFlags.bitexact.value
        context.color_range, context.colorspace = first.color_range, first.colorspace
        for number, frame in enumerate(frames):
            # What changes its size midway is shown in its first size.
            alike = (frame.format.name, frame.width, frame.height) == (pixel_format, first.width, first.height)
            picture = frame if alike else frame.reformat(first.width, first.height, pixel_format)
            picture.pts, picture.time_base = number, 1 / rate
            picture.pict_type = 0
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))


Clips = dict[str, Path | DirectedClip]
"""Name in the data home to the released file, which need not be there, or to a clip that is made of an own video."""

NO_CATEGORY = "general"


class CaptionRow(RowForm):
    """A row of a captions file; further columns or keys are ignored."""

    model_config = ConfigDict(extra="ignore")

    file: WholeText
    caption: WholeText


def read_videos(folder: Path, captions: Path | None, seconds: float | None) -> tuple[list[PairRow], Clips]:
    """The pairs that a folder of videos makes, in alphabetical order; the clips of a damaged video are unreadable."""
    if not folder.is_dir():
        raise InputError(f"YoCausal cannot be prepared: there is no folder {folder} to take the videos from.")
    if seconds is not None and not 0 < seconds < math.inf:
        raise InputError(f"Expected --seconds to be above 0 and finite, but got {seconds:g}.")
    files = videos_below(folder)
    problems = Problems()
    caption_of = read_captions(captions, folder, files, problems) if captions else {}
    pairs: list[PairRow] = []
    clips: Clips = {}
    file_of: dict[str, str] = {}
    for path in files:
        name = path.relative_to(folder).as_posix()
        if name.encode("utf-8", "replace").decode("utf-8") != name:
            problems.add(name, "Expected a name in UTF-8, which an id can be made of.", remedy="rename it.")
            continue
        video: Video | None = None
        try:
            video = open_video(path.absolute(), seconds)
        except UnreadableClip:
            pass
        except ValueError as error:
            problems.add(name, str(error))
            continue
        pair = _pair(name, video, video_key(path, seconds), caption_of.get(name))
        if not is_safe(pair.clip):
            problems.add(
                name,
                "Expected a shorter name, without a backslash, a line break or another control character.",
                remedy="rename it.",
            )
            continue
        if pair.item_id in file_of:
            problems.add(name, f"Expected another name than {file_of[pair.item_id]}, apart from the suffix.")
            continue
        file_of[pair.item_id] = name
        pairs.append(pair)
        for clip, backwards in ((pair.clip, False), (pair.clip_backward, True)):
            clips[clip] = DirectedClip(video, backwards)
    if pairs and all(pair.path is None for pair in pairs):
        problems.add(folder.name, "Expected a video that can be decoded, but there is none.")
    problems.raise_if_any(f"YoCausal cannot be prepared from {folder.name}", "nothing was written")
    return pairs, clips


def _pair(name: str, video: Video | None, key: str, caption: str | None) -> PairRow:
    parts = Path(name).with_suffix("").parts
    category = parts[0] if len(parts) > 1 else NO_CATEGORY
    stem = "__".join(parts[1:] or parts)
    return PairRow(
        item_id=f"{category}_{stem}",
        clip=f"{SPLIT}/{category}/fwd/{stem}-{key}.mp4",
        clip_backward=f"{SPLIT}/{category}/bwd/{stem}-{key}.mp4",
        caption=caption,
        subset=category,
        dataset_source=category,
        category=category,
        vlm_causality=None,
        human_discriminable=None,
        fps=float(video.rate) if video else None,
        frames=video.frames if video else None,
        released={"id": stem, "resolution": None, "video_path_forward": name, "video_path_backward": name},
        path=video.path if video else None,
    )


def read_captions(file: Path, folder: Path, videos: Sequence[Path], problems: Problems) -> dict[str, str]:
    """Captions by the videos' paths below their folder; a video may have none, a caption must have a video."""
    names = {video.relative_to(folder).as_posix() for video in videos}
    issues, captions = Problems(), dict[str, str]()
    try:
        for where, row in _caption_rows(file, issues):
            case = f"{describe(row.file)} ({where})"
            if not row.caption.strip():
                issues.add("caption", "Expected a text, but there is none for", case)
            elif row.file not in names:
                issues.add("file", f"Expected a video of {folder.name}, but got", case)
            elif row.file in captions:
                issues.add("file", "Expected one caption per video, but got again", case)
            else:
                captions[row.file] = row.caption.strip()
    except OSError as error:
        problems.add(file.name, f"Expected a file of captions, but got: {error}.")
    except InputError as error:
        problems.add("captions", str(error))
    problems.extend(issues, f"{file.name}, ")
    return captions


def _caption_rows(file: Path, issues: Problems) -> Iterator[tuple[str, CaptionRow]]:
    if file.suffix.lower() != ".csv":
        yield from read_rows(file, CaptionRow, issues, exact=False)
        return
    for where, row in read_csv(file, tuple(CaptionRow.model_fields)):
        yield where, CaptionRow(file=row["file"], caption=row["caption"])

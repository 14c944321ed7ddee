"""Any folder of videos as pairs of YoCausal: the reversals are made, captions come from a file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ConfigDict

from lmms_eval_tasks.api import InputError, Problems, RowForm, read_rows
from lmms_eval_tasks.api.clips import videos_below
from lmms_eval_tasks.api.release import UnreadableClip, WholeText, describe, is_safe, read_csv
from lmms_eval_tasks.yocausal.reversal import DirectedClip, Video, open_video, video_key
from lmms_eval_tasks.yocausal.table import SPLIT, Clips, PairRow

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

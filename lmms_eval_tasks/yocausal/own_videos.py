"""Any folder of videos as pairs of YoCausal: the reversals are made, captions come from a file."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from lmms_eval_tasks.utils.core.problems import InputError, Problems
from lmms_eval_tasks.yocausal.reversal import SUFFIXES, DirectedClip, Video, open_video
from lmms_eval_tasks.yocausal.table import SPLIT, PairRow

NO_CATEGORY = "general"


def read_videos(
    folder: Path, captions: Path | None = None, seconds: float | None = None
) -> tuple[list[PairRow], dict[str, DirectedClip]]:
    """The pairs that a folder of videos makes, in alphabetical order.

    Args:
        folder: Videos, at any depth; the first folder below it names the subset and category, `general` for those in
            none.
        captions: A CSV file with the columns file and caption, or JSON lines of such objects; files as paths below the
            folder.
        seconds: How much of each video is shown, from its beginning; all of it by default.

    Raises:
        InputError: there is no folder or no video in it, a video cannot be taken, or the captions have problems; all
            are listed.
    """
    if not folder.is_dir():
        raise InputError(f"YoCausal cannot be prepared: there is no folder {folder} to take the videos from.")
    if seconds is not None and seconds <= 0:
        raise InputError(f"Expected --seconds to be above 0, but got {seconds:g}.")
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    if not files:
        raise InputError(
            f"YoCausal cannot be prepared: {folder} holds no video ({', '.join(sorted(SUFFIXES))}). "
            "Nothing was written."
        )
    problems = Problems()
    said = read_captions(captions, folder, files, problems) if captions else {}
    pairs: list[PairRow] = []
    clips: dict[str, DirectedClip] = {}
    taken: dict[str, str] = {}
    for path in files:
        name = path.relative_to(folder).as_posix()
        try:
            video = open_video(path.absolute(), seconds)
        except ValueError as error:
            problems.add(name, str(error))
            continue
        pair = _pair(name, video, said.get(name))
        if pair.item_id in taken:
            problems.add(name, f"Expected another name than {taken[pair.item_id]}, apart from the suffix.")
            continue
        taken[pair.item_id] = name
        pairs.append(pair)
        clips |= {pair.clip: DirectedClip(video, False), pair.clip_backward: DirectedClip(video, True)}
    problems.raise_if_any(f"YoCausal cannot be prepared from {folder.name}", "nothing was written")
    return pairs, clips


def _pair(name: str, video: Video, caption: str | None) -> PairRow:
    parts = Path(name).with_suffix("").parts
    category = parts[0] if len(parts) > 1 else NO_CATEGORY
    stem = "__".join(parts[1:] or parts)
    return PairRow(
        item_id=f"{category}_{stem}",
        clip=f"{SPLIT}/{category}/fwd/{stem}-{video.key}.mp4",
        clip_backward=f"{SPLIT}/{category}/bwd/{stem}-{video.key}.mp4",
        caption=caption,
        subset=category,
        dataset_source=category,
        category=category,
        vlm_causality=None,
        human_discriminable=None,
        fps=float(video.rate),
        frames=video.frames,
        released={"id": stem, "resolution": None, "video_path_forward": name, "video_path_backward": name},
        path=video.path,
    )


def read_captions(file: Path, folder: Path, videos: list[Path], problems: Problems) -> dict[str, str]:
    """Captions by the videos' paths below their folder; a video without one is no problem, a caption without is."""
    known = {video.relative_to(folder).as_posix() for video in videos}
    found: dict[str, str] = {}
    for where, name, caption in _entries(file, problems):
        if not isinstance(name, str) or not isinstance(caption, str) or not caption.strip():
            problems.add(where, "Expected a file and its caption, both as text.")
        elif name not in known:
            problems.add(where, f"Expected a video of {folder.name}, but there is no {name!r}.")
        elif name in found:
            problems.add(where, f"Expected one caption per video, but {name!r} has two.")
        else:
            found[name] = caption.strip()
    return found


def _entries(file: Path, problems: Problems) -> list[tuple[str, object, object]]:
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        problems.add(file.name, f"Expected a file of captions in UTF-8, but got: {error}.")
        return []
    if file.suffix.lower() == ".csv":
        rows = csv.DictReader(io.StringIO(text, newline=""))
        if lacking := [name for name in ("file", "caption") if name not in (rows.fieldnames or ())]:
            problems.add(file.name, f"Expected the columns file and caption, but {' and '.join(lacking)} is missing.")
            return []
        return [(f"{file.name}, row {number}", row["file"], row["caption"]) for number, row in enumerate(rows, 2)]
    entries: list[tuple[str, object, object]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            entries.append((f"{file.name}, line {number}", entry.get("file"), entry.get("caption")))
        except (ValueError, AttributeError, RecursionError):
            problems.add(f"{file.name}, line {number}", 'Expected {"file": …, "caption": …}.')
    return entries

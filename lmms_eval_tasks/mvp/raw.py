"""MVP's clips in the downloads of their nine sources, unpacked as they are, by the names that MVP has for them.

The official Makefile flattens, renames and converts each download into `videos/<source>/`; its script that deletes the
clips that are not wanted needs a `test.json` that was not published. Here the annotations say which are wanted.
Source: facebookresearch/minimal_video_pairs@149e336, Makefile and setup/.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path, PurePosixPath

from lmms_eval_tasks.api import InputError, Problems, Progress
from lmms_eval_tasks.api.release import quote, summarize_names
from lmms_eval_tasks.mvp.card import CLIP_SOURCES
from lmms_eval_tasks.mvp.converted import PICTURES, ConvertedClip, EpisodeClip, PictureClip, WebmClip
from lmms_eval_tasks.mvp.episodes import INFO, Episodes

INSIDE = {
    "pt": "videos",
    "ssv2": "20bn-something-something-v2",
    "intphys": "dev",
    "inflevel": "inflevel_lab",
    "grasp": "videos",
    "star": "Charades_v1_480",
    "vinoground": "vinoground_videos",
}
"""The folder that a download unpacks to, which may be given itself, or the folder that it lies in."""
_INTPHYS = re.compile(r"_?(O[123])_(\d\d)_([1-4])\.mp4")
_EPISODE = re.compile(r"video_(0|[1-9]\d{0,8})\.mp4")
_CLEVRER = re.compile(r"video_(\d{5})\.mp4")


@dataclass(frozen=True)
class RawClip:
    """A clip in a source's download."""

    clip: Path | ConvertedClip | None
    file: str


def read_folders(entries: Sequence[str], problems: Problems) -> dict[str, Path]:
    """Sources and the folders of their downloads, from texts such as `ssv2=DIR,intphys=DIR`."""
    folders: dict[str, Path] = {}
    # A folder's name may have a comma in it.
    for entry in (part for text in entries for part in re.split(r",(?=\s*\w+=)", text)):
        name, equals, folder = entry.strip().partition("=")
        where = f"--raw {entry.strip()}"
        if not equals or not folder:
            problems.add(where, f"Expected SOURCE=DIR, but got {quote(entry)}.")
        elif name not in CLIP_SOURCES:
            nearest = "".join(f" Did you mean {known}?" for known in get_close_matches(name, CLIP_SOURCES, n=1))
            problems.add(where, f"Expected one of {', '.join(CLIP_SOURCES)}, but got {quote(name)}.{nearest}")
        elif name in folders:
            problems.add(where, f"Expected each source once, but {name} is {folders[name]} too.")
        elif not Path(folder).expanduser().is_dir():
            problems.add(where, f"Expected the folder of a download, but there is no folder {folder}.")
        else:
            folders[name] = Path(folder).expanduser().absolute()
    return folders


def find_raw_clips(
    folders: Mapping[str, Path], paths: Iterable[str], problems: Problems, progress: Progress
) -> dict[str, RawClip]:
    """The clips of the sources that have a folder."""
    wanted: dict[str, list[PurePosixPath]] = defaultdict(list)
    for path in dict.fromkeys(map(PurePosixPath, paths)):
        if path.parts[:1] and path.parts[0] in folders:
            wanted[path.parts[0]].append(path)
    clips: dict[str, RawClip] = {}
    for done, (source, folder) in enumerate(folders.items(), 1):
        before = len(problems)
        if source == "language_table":
            in_source = _find_episodes(folder, wanted[source], problems, progress)
        else:
            in_source = {str(path): _find(source, folder, path, problems) for path in wanted[source]}
        if in_source and len(problems) == before and not any(raw.clip for raw in in_source.values()):
            files = list(dict.fromkeys(raw.file for raw in in_source.values()))
            problems.add(
                f"--raw {source}={folder}",
                f"Expected files such as {summarize_names(files, 2)} in it, but got none of {len(files):,}.",
                remedy=f"give the folder that the download was unpacked to, of {CLIP_SOURCES[source]}.",
            )
        clips |= in_source
        progress("finding clips in downloads", done, len(folders))
    return clips


def _find(source: str, folder: Path, path: PurePosixPath, problems: Problems) -> RawClip:
    inside = PurePosixPath(*path.parts[1:])
    if source == "ssv2" and inside.suffix == ".mp4":
        inside = inside.with_suffix(".webm")
        place = _below(folder, source, inside, problems)
        return RawClip(WebmClip(place) if place else None, str(inside))
    if source == "intphys":
        return _find_pictures(folder, inside, problems)
    place = _below(folder, source, inside, problems)
    number = _CLEVRER.fullmatch(inside.name)
    if place is None and source == "clevrer" and number:
        thousand = int(number[1]) // 1000 * 1000
        inside = PurePosixPath(f"video_{thousand}-{thousand + 1000}", inside.name)
        place = _below(folder, source, inside, problems)
    return RawClip(place, str(inside))


def _below(
    folder: Path, source: str, inside: PurePosixPath, problems: Problems, is_folder: bool = False
) -> Path | None:
    """A file or a folder of a download, looked for in the folder that was given and in what it unpacks to."""
    places = (folder / inside, folder / INSIDE.get(source, "") / inside)
    place = next((place for place in places if place.exists()), None)
    if place and not (place.is_dir() if is_folder else place.is_file()):
        kind = "a folder" if is_folder else "a regular file"
        problems.add(
            str(place),
            f"Expected {kind}, but got something else.",
            remedy="unpack the download again, or delete it to go on without this clip.",
        )
    return place


def _find_pictures(folder: Path, inside: PurePosixPath, problems: Problems) -> RawClip:
    """A clip of IntPhys: `_O1_01_2.mp4` is the pictures of the property O1, quadruple 01, run 2."""
    name = _INTPHYS.fullmatch(str(inside))
    if name is None:
        return RawClip(None, str(inside))
    inside = PurePosixPath(*name.groups(), "scene")
    scene = _below(folder, "intphys", inside, problems, is_folder=True)
    if scene is None:
        return RawClip(None, str(inside))
    if scene.is_dir() and (lacking := [picture for picture in PICTURES if not (scene / picture).is_file()]):
        problems.add(
            str(scene),
            f"Expected {len(PICTURES)} pictures, {PICTURES[0]} to {PICTURES[-1]}, but got "
            f"{len(PICTURES) - len(lacking)} (without {summarize_names(lacking, 3)}).",
            remedy="unpack the download again, or delete the folder to go on without this clip.",
        )
    return RawClip(PictureClip(scene), str(inside))


def _find_episodes(
    folder: Path, paths: Sequence[PurePosixPath], problems: Problems, progress: Progress
) -> dict[str, RawClip]:
    """Clips of Language Table: `video_17.mp4` is the episode that is read as the eighteenth."""
    places = (folder, folder / "0.0.1", folder / "language_table" / "0.0.1")
    root = next((place for place in places if (place / INFO).is_file()), None)
    if root is None:
        problems.add(
            f"--raw language_table={folder}",
            f"Expected {INFO} in it, which says how many episodes each file holds, but there is none.",
            remedy=f"copy it from {CLIP_SOURCES['language_table']}.",
        )
        return {}
    try:
        episodes = Episodes(root)
    except InputError as error:
        problems.add(
            f"--raw language_table={folder}", str(error), remedy=f"copy it from {CLIP_SOURCES['language_table']}."
        )
        return {}
    names = {path: _EPISODE.fullmatch(path.name) for path in paths}
    numbers = {path: int(name[1]) for path, name in names.items() if name}
    records = episodes.find(set(numbers.values()), problems, progress)
    clips = {}
    for path in paths:
        number = numbers.get(path, -1)
        clip = EpisodeClip(number, records[number]) if number in records else None
        clips[str(path)] = RawClip(clip, episodes.file_of(number) or "/".join(path.parts[1:]))
    return clips

"""From the official IntPhys 2 release to prepared tables."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from lmms_eval_tasks.api import InputError, Origin, Problems, Progress, Row, SplitManifest, building, no_progress
from lmms_eval_tasks.api.clips import measure_motion
from lmms_eval_tasks.api.release import download_dataset, open_release
from lmms_eval_tasks.intphys2.card import CARD, FOLDERS
from lmms_eval_tasks.intphys2.metadata import heldout_items, read_items

ROOTS = ("", "IntPhys2")
PLACES = ("", "Videos/", "videos/")
"""Where below a split's folder its clips may lie."""
METADATA = {split: f"{FOLDERS[split]}/metadata.csv" for split in ("debug", "main")}
WANTED = tuple(f"{folder}/*" for folder in FOLDERS.values())
_HELD_OUT = re.compile(
    rf"(?:{'|'.join(re.escape(f'{root}/') for root in ROOTS if root)})?"
    rf"({FOLDERS['heldout']}/(?:{'|'.join(PLACES[1:])})?([^/]+)\.mp4)"
)


class Release(Protocol):
    """Interface of an opened release."""

    def read(self, name: str) -> bytes | None:
        """The bytes of a small file; None where there is none."""

    def holds(self, folder: str) -> bool:
        """Whether there is anything in a folder."""

    def clip(self, name: str) -> Any:
        """A clip; None, or a path without a file, where it is not there."""


def prepare(
    source: Annotated[
        str, typer.Option(help="IntPhys2.zip, the folder unpacked from it, or the dataset on the hub.")
    ] = CARD.hub_id,
    progress: Progress = no_progress,
) -> dict[str, SplitManifest]:
    """Prepare IntPhys 2, every split that the release holds.

    The held-out split has clips alone. Clips that are absent or unreadable are listed in the manifest, and a run
    refuses them unless it is to skip them. Metadata that cannot be scored stops this, and nothing is written then; what
    is merely unusual is a warning.

    Returns:
        Split name to what was prepared.

    Raises:
        InputError: the source is not an IntPhys 2 release, or its metadata has problems; all are listed.

    Examples:
        lmms-eval-tasks prepare intphys2
        lmms-eval-tasks prepare intphys2 --source IntPhys2.zip
    """
    path, revision = Path(source), None
    if source == CARD.hub_id and not path.exists():
        path, revision = download_dataset(source, CARD.title, WANTED, "IntPhys2.zip or the folder unpacked from it")
    withheld = find_held_out(path)
    markers = [*METADATA.values(), *withheld]
    problems = Problems()
    with open_release(path, CARD.title, markers, ROOTS) as release:
        contents = {split: content for split, file in METADATA.items() if (content := release.read(file)) is not None}
        items: dict[str, list[Row]] = {}
        found: dict[str, Problems] = {}
        for split, file in METADATA.items():
            found[split] = Problems()
            if split in contents:
                items[split] = read_items(split, file, contents[split], found[split])
            elif release.holds(FOLDERS[split]):
                found[split].add(
                    file, "Expected it beside the clips, but there is none.", remedy="get the release again."
                )
            problems.extend(found[split])
        if withheld:
            items["heldout"], found["heldout"] = heldout_items(sorted(withheld.values())), Problems()
            if len(set(withheld.values())) < len(withheld):
                problems.add(FOLDERS["heldout"], "Expected each clip once, but two have the same name.")
        problems.raise_if_any(f"{source} cannot be prepared", "nothing was written")
        archive: dict[str, Path | bytes] = {} if path.is_dir() else {path.name: path}
        with building(CARD.name) as build:
            for split, rows in items.items():
                clips = {row["clip"]: find_clip(release, FOLDERS[split], row["item_id"]) for row in rows}
                read = {METADATA[split]: contents[split]} if split in contents else {}
                origin = Origin(source, {**archive, **read}, revision, found[split].warnings())
                # Held-out clips are in no pair that is known.
                measure = measure_clip if split in METADATA else None
                build.add_split(split, rows, own_columns(), clips, origin, progress, measure=measure)
    return {split: build.splits[split] for split in items}


def find_held_out(source: Path) -> dict[str, str]:
    """The held-out clips of a folder or an archive: path below the release's root to the clip's name."""
    if source.is_dir():
        names = [file.relative_to(source).as_posix() for root in ROOTS for file in _files(source / root)]
    elif source.is_file() and zipfile.is_zipfile(source):
        try:
            with zipfile.ZipFile(source) as archive:
                names = archive.namelist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise InputError(f"{source.name} cannot be prepared: it is no whole zip archive ({error}).") from error
    else:
        names = []
    return {match[1]: match[2] for name in names if (match := _HELD_OUT.fullmatch(name))}


def _files(root: Path) -> list[Path]:
    return [file for place in PLACES for file in (root / FOLDERS["heldout"] / place).glob("*.mp4")]


def find_clip(release: Release, folder: str, name: str) -> Any:
    """A clip of a split's folder, wherever there it lies; where it is not there, the place where it should be."""
    places = [release.clip(f"{folder}/{place}{name}.mp4") for place in PLACES]
    there = (clip for clip in places if clip is not None and not (isinstance(clip, Path) and not clip.is_file()))
    return next(there, places[0])


def own_columns() -> dict[str, Any]:
    """The benchmark's own columns and their types."""
    import pyarrow as pa

    names = ("pair", "coding", "condition", "variant", "camera", "difficulty")
    return {**dict.fromkeys(names, pa.string()), "motion": pa.float64()}


def measure_clip(path: Path) -> dict[str, float | None]:
    """Measure the motion in a clip: the mean absolute difference of grey frames, 0 to 255, per second."""
    motion = measure_motion(path)
    return {"motion": motion.magnitude if motion else None}

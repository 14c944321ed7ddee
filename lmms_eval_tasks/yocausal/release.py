"""Reading the official YoCausal release into pairs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from lmms_eval_tasks.api import InputError, Origin, Problems
from lmms_eval_tasks.api.release import download_dataset, is_safe, open_release, read_released_json
from lmms_eval_tasks.yocausal.card import CARD, SUBSETS
from lmms_eval_tasks.yocausal.own_videos import Clips
from lmms_eval_tasks.yocausal.pair_table import SPLIT, PairRow

LABELS = ("vlm_causality", "human_discriminable")
MOST = {"fps": 10_000, "total_frames": 1_000_000_000}
"""The most that a clip's numbers can be; what is above, or not finite, is no number of a clip."""
PATHS = {"fwd": "video_path_forward", "bwd": "video_path_backward"}


def read_release(source: str) -> tuple[list[PairRow], Clips, Origin]:
    """The pairs of the release, in the order of subsets and metadata files, their clips, and where they come from."""
    root, revision = _find_release(source)
    files = {subset: f"subset/{subset}/dataset_metadata.json" for subset in SUBSETS}
    problems = Problems()
    with open_release(root, CARD.title, files.values(), ("",)) as release:
        contents = {subset: content for subset, file in files.items() if (content := release.read(file)) is not None}
        for subset in files:
            if subset not in contents and release.holds(f"subset/{subset}"):
                remedy = f"Get the release again, or move {subset} away to prepare the other subsets alone."
                problems.add(files[subset], "Expected it beside the subset's clips, but there is none.", remedy=remedy)
    pairs: list[PairRow] = []
    clips: Clips = {}
    for subset, content in contents.items():
        subset_pairs, subset_clips = _read_subset(root.absolute(), subset, files[subset], content, problems)
        pairs += subset_pairs
        clips |= subset_clips
    problems.raise_if_any(f"YoCausal cannot be prepared from {root.name}", "nothing was written")
    read = {files[subset]: content for subset, content in contents.items()}
    return pairs, clips, Origin(source, read, revision, problems.warnings())


def _find_release(source: str) -> tuple[Path, str | None]:
    """The release's folder, downloaded where the source is on the hub, and its revision there."""
    folder = Path(source).expanduser()
    if folder.is_dir():
        return folder.absolute(), None
    if folder.exists() or len(Path(source).parts) != 2:
        raise InputError(f"Expected --source to be a folder or a dataset on the hub, but got {source}.")
    return download_dataset(source, CARD.title, ["subset/**"])


def _read_subset(root: Path, subset: str, file: str, content: bytes, problems: Problems) -> tuple[list[PairRow], Clips]:
    """The pairs of a subset's metadata file, in its order; its entries are numbered from 1.

    A label that is neither true, false nor null is none, as in the official code, which compares with ``is True``.
    """
    try:
        entries = read_released_json(content)
    except ValueError as error:
        problems.add(file, f"Expected JSON in UTF-8, but got: {error}.")
        return [], {}
    if not isinstance(entries, list) or not entries:
        problems.add(file, "Expected a list of pairs, but got none.")
        return [], {}
    pairs: list[PairRow] = []
    clips: Clips = {}
    first_entry: dict[str, int] = {}
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            problems.add(f"{file}, entry {number}", f"Expected an object, but got {str(entry)[:40]!r}.")
            continue
        released_id = entry.get("id")
        where = f"{file}, entry {number} (id {released_id!r})"
        if isinstance(released_id, bool) or not isinstance(released_id, int | str) or released_id == "":
            problems.add(where, "Expected a number or text as id.")
            continue
        first = first_entry.setdefault(str(released_id), number)
        if first != number:
            problems.add(where, f"Expected each id once, but entry {first} has it too.")
        files = _files(root, subset, entry, where, problems)
        if files is None:
            continue
        for name in LABELS:
            if not isinstance(entry.get(name), bool | None):
                problems.warn(f"{file}: {name} that are neither true nor false and count as none", f"id {released_id}")
        meta = entry["meta"] if isinstance(entry.get("meta"), dict) else {}
        numbers = {name: _number(meta.get(name), most) for name, most in MOST.items()}
        for name, number_read in numbers.items():
            if number_read is None and meta.get(name) is not None:
                kind = f"{file}: {name} that are no numbers up to {MOST[name]:,} and count as none"
                problems.warn(kind, f"id {released_id}")
        names = {side: f"{SPLIT}/{subset}/{side}/{path.name}" for side, path in files.items()}
        if shared := [name for name in names.values() if name in clips]:
            problems.add(where, f"Expected clips of its own, but another pair has {', '.join(shared)}.")
        clips |= {names[side]: path for side, path in files.items()}
        path = files["fwd"] if files["fwd"].is_file() else None
        pairs.append(_pair(subset, entry, names, path, numbers["fps"], numbers["total_frames"], meta.get("resolution")))
    return pairs, clips


def _files(root: Path, subset: str, entry: Mapping[str, Any], where: str, problems: Problems) -> dict[str, Path] | None:
    """Return the paths of the two clips, existing or not; None, with problems noted, if the entry does not say."""
    files = {}
    for side, key in PATHS.items():
        name = entry.get(key)
        if not isinstance(name, str) or not name.strip("/") or not is_safe(name.lstrip("/")):
            problems.add(where, f"Expected {key} to name a file of the release, but got {name!r}.")
            continue
        files[side] = _find(root, subset, side, PurePosixPath(name.lstrip("/")))
    if len(files) < len(PATHS):
        return None
    if files["fwd"] == files["bwd"]:
        problems.add(where, f"Expected two clips, but {' and '.join(PATHS.values())} name the same file.")
        return None
    return files


def _find(root: Path, subset: str, side: str, name: PurePosixPath) -> Path:
    """A clip's file by the path that the metadata gives, which may begin in a folder that was never released."""
    folder = root / "subset" / subset
    tails = [PurePosixPath(*name.parts[first:]) for first in range(len(name.parts) - 1)]
    candidates = [root / name, *(base / tail for tail in tails for base in (root / "subset", folder))]
    candidates += [folder / side / name.name, folder / name.name]
    return next((path for path in candidates if path.is_file()), folder / side / name.name)


def _pair(
    subset: str,
    entry: Mapping[str, Any],
    names: Mapping[str, str],
    path: Path | None,
    fps: float | None,
    frames: float | None,
    resolution: object,
) -> PairRow:
    caption = entry.get("prompt")
    labels = {name: entry.get(name) if isinstance(entry.get(name), bool) else None for name in LABELS}
    return PairRow(
        item_id=f"{subset}_{entry['id']}",
        clip=names["fwd"],
        clip_backward=names["bwd"],
        caption=caption.strip() or None if isinstance(caption, str) else None,
        subset=subset,
        dataset_source=str(entry.get("dataset_source") or ""),
        category=str(entry.get("category") or ""),
        vlm_causality=labels["vlm_causality"],
        human_discriminable=labels["human_discriminable"],
        fps=fps,
        frames=None if frames is None else int(frames),
        released={
            "id": entry["id"],
            "resolution": _repeatable(resolution),
            **{key: entry[key] for key in PATHS.values()},
        },
        path=path,
    )


def _number(value: object, most: int) -> float | None:
    """A number from 0 to `most`; None for anything else, NaN among it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= most else None


def _repeatable(value: object) -> object:
    """A value as released; None for one that JSON, and so a result file, cannot hold, as NaN."""
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    return value

"""The official YoCausal release read into pairs."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import BeforeValidator

from lmms_eval_tasks.api import InputError, Origin, Problems
from lmms_eval_tasks.api.forms import Cell, Key, ReleaseRow, mismatch, read_json_form
from lmms_eval_tasks.api.release import download_dataset, is_safe, open_release
from lmms_eval_tasks.yocausal.card import CARD, SUBSETS
from lmms_eval_tasks.yocausal.own_videos import Clips
from lmms_eval_tasks.yocausal.pair_table import LABELS, SPLIT, PairRow

MOST = {"fps": 10_000, "total_frames": 1_000_000_000}
"""The most that a clip's numbers can be; what is above, or not finite, is no number of a clip."""


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
        for row in read_json_form(ReleasedPair, content, files[subset], problems):
            if pair := _read_pair(root.absolute(), subset, row, files[subset], clips, problems):
                pairs.append(pair)
    problems.raise_if_any(f"YoCausal cannot be prepared from {root.name}", "nothing was written")
    read = {files[subset]: content for subset, content in contents.items()}
    return pairs, clips, Origin(source, read, revision, problems.warnings())


def _read_pair(
    root: Path, subset: str, row: ReleasedPair, file: str, clips: Clips, problems: Problems
) -> PairRow | None:
    """An entry as a pair, whose clips are added to those of the others.

    A label that is neither true, false nor null is none, as in the official code, which compares with ``is True``.
    """
    paths = {"fwd": row.video_path_forward, "bwd": row.video_path_backward}
    files = {side: _find(root, subset, side, PurePosixPath(path.lstrip("/"))) for side, path in paths.items()}
    if files["fwd"] == files["bwd"]:
        named = "video_path_forward and video_path_backward"
        problems.add(row.where, f"Expected two clips, but {named} name the same file.")
        return None
    labels = {name: getattr(row, name) for name in LABELS}
    for name, label in labels.items():
        if not isinstance(label, bool | None):
            problems.warn(f"{file}: {name} that are neither true nor false and count as none", f"id {row.id}")
    meta = row.meta if isinstance(row.meta, dict) else {}
    numbers: dict[str, float | None] = {}
    for name, most in MOST.items():
        value = meta.get(name)
        numbers[name] = None
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most:
            numbers[name] = float(value)
        if numbers[name] is None and value is not None:
            problems.warn(f"{file}: {name} that are no numbers up to {most:,} and count as none", f"id {row.id}")
    names = {side: f"{SPLIT}/{subset}/{side}/{path.name}" for side, path in files.items()}
    if shared := [name for name in names.values() if name in clips]:
        problems.add(row.where, f"Expected clips of its own, but another pair has {', '.join(shared)}.")
    clips |= {names[side]: path for side, path in files.items()}
    frames = numbers["total_frames"]
    return PairRow(
        item_id=f"{subset}_{row.id}",
        clip=names["fwd"],
        clip_backward=names["bwd"],
        caption=row.prompt.strip() or None if isinstance(row.prompt, str) else None,
        subset=subset,
        dataset_source=row.dataset_source,
        category=row.category,
        **{name: label if isinstance(label, bool) else None for name, label in labels.items()},
        fps=numbers["fps"],
        frames=None if frames is None else int(frames),
        released={
            "id": row.id,
            "resolution": _repeatable(meta.get("resolution")),
            "video_path_forward": row.video_path_forward,
            "video_path_backward": row.video_path_backward,
        },
        path=files["fwd"] if files["fwd"].is_file() else None,
    )


def _find(root: Path, subset: str, side: str, name: PurePosixPath) -> Path:
    """A clip's file by the path that the metadata gives, which may begin in a folder that was never released."""
    folder = root / "subset" / subset
    tails = [PurePosixPath(*name.parts[first:]) for first in range(len(name.parts) - 1)]
    candidates = [root / name, *(base / tail for tail in tails for base in (root / "subset", folder))]
    candidates += [folder / side / name.name, folder / name.name]
    return next((path for path in candidates if path.is_file()), folder / side / name.name)


def _repeatable(value: object) -> object:
    """A value as released; None for one that JSON, and so a result file, cannot hold, as NaN."""
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    return value

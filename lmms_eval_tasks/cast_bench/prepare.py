"""From the released CaST-Bench questions to a prepared table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from lmms_eval_tasks.api import InputError, Origin, Progress, SplitManifest, building, no_progress
from lmms_eval_tasks.api.release import download_dataset, read_metadata
from lmms_eval_tasks.cast_bench.card import CARD
from lmms_eval_tasks.cast_bench.frame_sizes import frame_sizes
from lmms_eval_tasks.cast_bench.released import FILE, read_items
from lmms_eval_tasks.cast_bench.roles_file import ROLES, add_option_kinds

SPLIT = "test"
CLIP_FOLDERS = ("", "videos")


@dataclass(frozen=True)
class _Source:
    """A release on this machine: its file of questions, where its clips may lie, and its revision on the hub."""

    questions: Path
    clip_folders: tuple[Path, ...]
    revision: str | None = None


def prepare(
    source: Annotated[
        str, typer.Option(help="Dataset on the hub, castbench_hf.jsonl, or a folder that holds it.")
    ] = CARD.hub_id,
    videos: Annotated[
        Path | None, typer.Option(help="Folder that holds the clips; scoring saved responses needs none.")
    ] = None,
    progress: Progress = no_progress,
) -> dict[str, SplitManifest]:
    """Prepare CaST-Bench; the clips are linked, not copied.

    Clips that are absent or unreadable do not stop this, nor does their lack altogether where no folder is named: they
    are listed in the manifest, and a run that needs clips stops, unless it is set to skip them. Anything wrong with the
    questions does, and nothing is written then.

    Args:
        source: `castbench_hf.jsonl`, a folder that holds it and perhaps the clips, or a dataset on the hub.
        videos: folder with the clips; by default they are looked for in the source's folder and in `videos` there.
        progress: receives how far the work is.

    Returns:
        Split name to what was prepared.

    Raises:
        InputError: there is no such source or folder, the folder holds none of the clips, or the questions have
            problems; all are listed.

    Examples:
        lmms-eval-tasks prepare cast_bench
        lmms-eval-tasks prepare cast_bench --source castbench_hf.jsonl --videos videos
    """
    if videos is not None and not videos.is_dir():
        raise InputError(f"{CARD.title} cannot be prepared: there is no folder {videos} to take the videos from.")
    release = _find(source, videos)
    content = read_metadata(release.questions)
    rows, problems, warnings = read_items(content)
    roles = release.questions.with_name(ROLES)
    has_roles = roles.is_file()
    if has_roles and not problems:
        add_option_kinds(rows, roles, problems)
    problems.raise_if_any(f"{release.questions.name} cannot be prepared", "nothing was written")
    clips = {row["clip"]: _clip(row["clip"].removeprefix(f"{SPLIT}/"), release.clip_folders) for row in rows}
    present = [path for path in clips.values() if path and path.is_file()]
    sizes = frame_sizes(present, progress, f"{SPLIT}: reading the size of frames")
    for row in rows:
        path = clips[row["clip"]]
        row["width"], row["height"] = (sizes.get(path) if path else None) or (None, None)
    files: dict[str, Path | bytes] = {FILE: content}
    if has_roles:
        files[ROLES] = roles
    with building(CARD.name) as build:
        origin = Origin(str(source), files, release.revision, tuple(warnings))
        build.add_split(SPLIT, rows, own_columns(), clips, origin, progress, videos=videos)
    return {SPLIT: build.splits[SPLIT]}


def _find(source: str, videos: Path | None) -> _Source:
    path = Path(source).expanduser()
    folders: tuple[Path, ...] = () if videos is None else (videos.absolute(),)
    if path.is_file() or path.is_dir():
        questions = path / FILE if path.is_dir() else path
        if not questions.is_file():
            names = ", ".join(sorted(entry.name for entry in path.iterdir())[:5]) or "nothing"
            raise InputError(
                f"{path.name} is not the {CARD.title} release: Expected {FILE} inside, but found {names}. Nothing was "
                "written."
            )
        return _Source(questions, folders or tuple(questions.parent.absolute() / name for name in CLIP_FOLDERS))
    if source.count("/") != 1 or path.suffix or source[0] in "./~":
        raise InputError(f"{path.name} cannot be prepared: there is no file or folder {path}.")
    patterns = (FILE, f"*/{FILE}", *(("*.mp4",) if videos is None else ()))
    snapshot, revision = download_dataset(source, CARD.title, patterns, f"the file {FILE} or a folder that holds it")
    files = sorted(snapshot.rglob(FILE))
    if not files:
        raise InputError(f"{CARD.title} cannot be prepared: the dataset {source} on the hub holds no {FILE}.")
    folders = folders or tuple({clip.parent.absolute(): None for clip in sorted(snapshot.rglob("*.mp4"))})
    return _Source(files[0], folders, revision)


def _clip(name: str, folders: tuple[Path, ...]) -> Path | None:
    """Return the path of a clip, or its path in the first folder if it is in none; None without any folder."""
    places = [folder / name for folder in folders]
    return next((place for place in places if place.is_file()), places[0] if places else None)


def frame_of(row: Mapping[str, Any]) -> tuple[int, int] | None:
    """Width and height of a prepared row's clip in pixels, None where unknown."""
    return (row["width"], row["height"]) if row["width"] and row["height"] else None


def own_columns() -> dict[str, Any]:
    """The benchmark's own columns and their types."""
    import pyarrow as pa

    return {
        "question_type": pa.string(),
        "category": pa.string(),
        "subtype": pa.string(),
        "scene_category": pa.string(),
        "evidence": pa.string(),
        "width": pa.int64(),
        "height": pa.int64(),
        "option_kinds": pa.list_(pa.string()),
    }

"""From the official CausalVQA release to prepared tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lmms_eval_tasks.api import Origin, Problems, Progress, SplitManifest, building, no_progress
from lmms_eval_tasks.api.release import open_release
from lmms_eval_tasks.causalvqa.card import CARD
from lmms_eval_tasks.causalvqa.metadata import SCENARIO, metadata_name, read_items

# The archive's own folder, the folder itself, and where the official repository keeps it.
ROOTS = ("", "CausalVQA", "data")


def prepare(
    source: Annotated[Path, typer.Option(help="CausalVQA.zip, or the folder unpacked from it.", show_default=False)],
    progress: Progress = no_progress,
) -> dict[str, SplitManifest]:
    """Prepare CausalVQA, every split that the release holds.

    The source may also be the unpacked folder's parent, or the official repository's `data`. Clips that are absent or
    unreadable are listed in the manifest, and a run refuses them unless it is to skip them. Metadata that cannot be
    scored stops this, and nothing is written then; what is merely unusual is a warning.

    Returns:
        Split name to what was prepared.

    Raises:
        InputError: the source is not a CausalVQA release, or its metadata has problems; all are listed.

    Examples:
        lmms-eval-tasks prepare causalvqa --source CausalVQA.zip
        lmms-eval-tasks prepare causalvqa --source built/release --replace
    """
    files = {split: metadata_name(split) for split in CARD.splits}
    with open_release(source, CARD.title, files.values(), ROOTS) as release:
        contents = {split: content for split, file in files.items() if (content := release.read(file)) is not None}
        items: dict[str, list[dict[str, Any]]] = {}
        found: dict[str, Problems] = {}
        problems = Problems()
        for split, content in contents.items():
            items[split], found[split] = read_items(split, content)
            problems.extend(found[split])
        for split in files.keys() - contents.keys():
            if release.holds(f"{split}/videos"):
                what = f"Expected it beside the clips in {split}/videos, but there is none."
                remedy = f"Unpack the release again, or move {split} away to prepare the other split alone."
                problems.add(files[split], what, remedy=remedy)
        problems.raise_if_any(f"{source.name} cannot be prepared", "nothing was written")
        archive: dict[str, Path | bytes] = {} if source.is_dir() else {source.name: source}
        with building(CARD.name) as build:
            for split, rows in items.items():
                clips = {
                    row["clip"]: release.clip(f"{split}/videos/{row['clip'].removeprefix(f'{split}/')}") for row in rows
                }
                read = {**archive, files[split]: contents[split]}
                origin = Origin(str(source), read, warnings=found[split].warnings())
                build.add_split(split, rows, own_columns(), clips, origin, progress)
    return {split: build.splits[split] for split in items}


def own_columns() -> dict[str, Any]:
    """The benchmark's own columns and their types."""
    return {"version": "int64", "type": "string", "difficulty": "string", SCENARIO: "string"}

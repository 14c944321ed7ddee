"""A set of one's own in CausalVQA's form, to train on."""

from __future__ import annotations

from pathlib import Path

from lmms_eval_tasks.causalvqa.benchmark import CARD, ROOTS, metadata_name, read_items
from lmms_eval_tasks.train.stages.choices import ReleasedChoices
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.data.release import open_release, read_metadata


def read_choices(source: Path, videos: Path | None) -> list[ReleasedChoices]:
    """Read the splits of a set in the form of the release; both versions of a question are rows."""
    files = {split: metadata_name(split) for split in CARD.splits}
    if source.is_file():
        raise InputError(f"Expected a folder with a set in {CARD.title}'s form, but {source} is a file: unpack it.")
    with open_release(source, CARD.title, files.values(), ROOTS) as release:
        root = release.root
    assert isinstance(root, Path)
    sets, problems = [], Problems()
    for split, file in files.items():
        if not (path := root / file).is_file():
            continue
        rows, of_split = read_items(split, read_metadata(path))
        problems.extend(of_split)
        folder = videos or path.parent / "videos"
        clips = {row["clip"]: folder / row["clip"].removeprefix(f"{split}/") for row in rows}
        sets.append(ReleasedChoices(split, rows, clips, (path,)))
    problems.raise_if_any(f"{source} cannot be used", "nothing was written")
    return sets

"""A set of one's own in MVP's form, to train on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lmms_eval_tasks.mvp.benchmark import ANNOTATIONS, CARD, SUBSETS, load_subset, read_items
from lmms_eval_tasks.train.stages.choices import ReleasedChoices
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import visible_files
from lmms_eval_tasks.utils.core.text import first_line

VIDEOS = "videos"


def read_choices(source: Path, videos: Path | None) -> list[ReleasedChoices]:
    """Read the splits of a set in the form of the dataset on the hub; it may have some of the four subsets alone."""
    if not source.is_dir():
        raise InputError(f"Expected a folder with a set in {CARD.title}'s form, but got {source}.")
    subsets = _splits(source)
    folder = videos or source.absolute().parent / VIDEOS
    files = sorted({path for pattern in ANNOTATIONS for path in visible_files(source, f"**/{pattern}")})
    sets, problems = [], Problems()
    for split in CARD.splits:
        rows: list[dict[str, Any]] = []
        for subset in (subset for subset, splits in subsets.items() if split in splits):
            rows += read_items(subset, split, load_subset(source, subset, split), problems)
        if rows:
            clips = {row["clip"]: folder / row["clip"].removeprefix(f"{split}/") for row in rows}
            sets.append(ReleasedChoices(split, rows, clips, files))
    problems.raise_if_any(f"{source} cannot be used", "nothing was written")
    return sets


def _splits(source: Path) -> dict[str, list[str]]:
    import datasets

    try:
        names = datasets.get_dataset_config_names(str(source))
        return {
            name: [str(split) for split in datasets.get_dataset_split_names(str(source), name)]
            for name in SUBSETS
            if name in names
        }
    except Exception as error:  # the library raises what its many layers raise
        raise InputError(f"{source} cannot be read as a dataset in {CARD.title}'s form: {first_line(error)}") from error

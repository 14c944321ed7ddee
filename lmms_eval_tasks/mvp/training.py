"""A set of one's own in MVP's form, to train on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lmms_eval_tasks.mvp.card import CARD, SUBSETS
from lmms_eval_tasks.mvp.prepare import ANNOTATIONS, load_subset, read_items
from lmms_eval_tasks.utils.benchmark.released_choices import ReleasedChoices, choose_split
from lmms_eval_tasks.utils.core.problems import InputError, Problems, Warnings
from lmms_eval_tasks.utils.core.wording import first_line
from lmms_eval_tasks.utils.data.release import SAMPLE_MARK

VIDEOS = "videos"


def read_choices(source: Path, videos: Path | None, split: str | None) -> ReleasedChoices:
    """Read a split of a set in the form of the dataset on the hub; it may have some of the four subsets alone.

    Args:
        source: A folder with a snapshot.
        videos: Folder of the clips, which has one folder per source of videos; by default `videos` beside the snapshot.
        split: The split; None where the set has one alone.

    Raises:
        InputError: the source is no such folder, there is no such split, or its annotations have problems; all are
            listed.
    """
    if not source.is_dir():
        raise InputError(f"Expected --source to be a folder with annotations in {CARD.title}'s form, but got {source}.")
    splits = _splits(source)
    chosen = choose_split(
        CARD.title, split, [name for name in CARD.splits if any(name in there for there in splits.values())]
    )
    problems = Problems()
    rows: list[dict[str, Any]] = []
    for subset, there in splits.items():
        if chosen in there:
            rows += read_items(subset, chosen, load_subset(source, subset, chosen), problems, Warnings())
    problems.raise_if_any(f"{source} cannot be used", "nothing was written")
    folder = videos or source.absolute().parent / VIDEOS
    clips = {row["clip"]: folder / row["clip"].removeprefix(f"{chosen}/") for row in rows}
    files = sorted({path for pattern in ANNOTATIONS for path in source.rglob(pattern) if path.is_file()})
    return ReleasedChoices(chosen, rows, clips, files, (source / SAMPLE_MARK).is_file())


def _splits(source: Path) -> dict[str, list[str]]:
    """The subsets that a snapshot has, each with its splits."""
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

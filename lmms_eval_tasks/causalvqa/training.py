"""A set of one's own in CausalVQA's form, to train on."""

from __future__ import annotations

from pathlib import Path

from lmms_eval_tasks.causalvqa.card import CARD
from lmms_eval_tasks.causalvqa.metadata import metadata_name, read_items
from lmms_eval_tasks.causalvqa.prepare import ROOTS
from lmms_eval_tasks.utils.benchmark.released_choices import ReleasedChoices, choose_split
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.data.release import SAMPLE_MARK, FolderRelease, open_release, read_metadata


def read_choices(source: Path, videos: Path | None, split: str | None) -> ReleasedChoices:
    """Read a split of a set in the form of the release; both versions of a question are rows.

    Args:
        source: Its folder, unpacked: ms-swift opens the clips.
        videos: Folder of the clips; by default `videos` beside the split's metadata.
        split: The split; None where the set has one alone.

    Raises:
        InputError: the source is no such folder, there is no such split, or its metadata has problems; all are listed.
    """
    files = {name: metadata_name(name) for name in CARD.splits}
    if source.is_file():
        raise InputError(f"Expected --source to be a folder, but {source} is a file.\nRemedy: unpack it.")
    with open_release(source, CARD.title, files.values(), ROOTS) as release:
        assert isinstance(release, FolderRelease)
        root = release.root
    chosen = choose_split(CARD.title, split, [name for name, file in files.items() if (root / file).is_file()])
    path = root / files[chosen]
    rows, problems, _ = read_items(chosen, read_metadata(path))
    problems.raise_if_any(f"{path} cannot be used", "nothing was written")
    folder = videos or path.parent / "videos"
    clips = {row["clip"]: folder / row["clip"].removeprefix(f"{chosen}/") for row in rows}
    return ReleasedChoices(chosen, rows, clips, (path,), (root / SAMPLE_MARK).is_file())

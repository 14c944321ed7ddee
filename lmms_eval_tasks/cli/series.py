"""The option `--series`: which runs it names, and where each stands in the series."""

from __future__ import annotations

from collections.abc import Sequence
from glob import glob
from pathlib import Path

from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.runs.results_file import RESULTS
from lmms_eval_tasks.utils.runs.series import SeriesValue, read_values

SERIES = (
    "Runs of one model along a quantity, or over seeds: step='out/ckpt-*', or step with the runs as arguments. Values "
    "are read from the folders' names."
)


def gather_series(options: Sequence[str], runs: Sequence[Path]) -> tuple[list[Path], dict[Path, SeriesValue]]:
    """All runs that a command was given, those of the series last and by value; and where these stand in it."""
    names = list(dict.fromkeys(option.partition("=")[0] for option in options))
    if not names:
        return list(runs), {}
    if len(names) > 1 or not names[0]:
        raise InputError(f"Expected --series of one name, as step='out/ckpt-*', but got {', '.join(options)}.")
    (name,) = names
    patterns = [option.partition("=")[2] for option in options if "=" in option]
    patterns += [str(run).removeprefix(f"{name}=") for run in runs if _is_of_series(run, name)]
    others = [run for run in runs if not _is_of_series(run, name)]
    folders = list(dict.fromkeys(folder for pattern in patterns for folder in _expand(pattern)))
    if not patterns:
        folders, others = others, []
    if not folders:
        raise InputError(f"Expected the runs of --series {name} as {name}='out/ckpt-*' or as arguments, but got none.")
    values = dict(zip(folders, read_values(name, folders), strict=True))
    return [*others, *sorted(folders, key=lambda folder: values[folder].number)], values


def _is_of_series(run: Path, name: str) -> bool:
    return str(run).startswith(f"{name}=") and not run.exists()


def _expand(pattern: str) -> list[Path]:
    """The folders and results files that fit a pattern."""
    path = Path(pattern).expanduser()
    found = [Path(match) for match in sorted(glob(str(path)))] or [path]  # noqa: PTH207  (it takes absolute patterns)
    fitting = [path for path in found if path.is_dir() or path.name.endswith(RESULTS)]
    if not fitting:
        raise InputError(f"Expected folders of runs as {pattern}, but there is none.")
    return fitting

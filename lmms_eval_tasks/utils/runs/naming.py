"""What reports call runs, so that no two read the same: a name that the user gives, or the model and its folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os.path import commonpath
from pathlib import Path

from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.runs.results_file import RESULTS
from lmms_eval_tasks.utils.runs.run import Run


def name_runs(runs: Sequence[Run], names: Sequence[str] = ()) -> list[Run]:
    """The runs with their titles: the names, one for each run in its order, or without names the models."""
    if names and (len(names) != len(runs) or len({*names, ""}) <= len(runs)):
        given = ", ".join(map(repr, names))
        raise InputError(f"Expected --name once for each of the {len(runs)} runs, all different, but got {given}.")
    models = [run.name for run in runs]
    alike = {name: _apart([run.path for run in runs if run.name == name]) for name in models if models.count(name) > 1}
    titles = names or [f"{run.name} ({alike[run.name][run.path]})" if run.name in alike else "" for run in runs]
    return [replace(run, label=title) for run, title in zip(runs, titles, strict=True)]


def _apart(paths: Sequence[Path]) -> dict[Path, str]:
    """What tells results files apart: as few parts of their paths as are enough, after those that all have."""
    folders = [path.absolute().parent for path in paths]
    shared = commonpath(folders)
    parts = [
        (*folder.relative_to(shared).parts, path.name.removesuffix(RESULTS))
        for folder, path in zip(folders, paths, strict=True)
    ]
    for count in range(1, max(map(len, parts)) + 1):
        told = ["/".join(part[:count]) for part in parts]
        if len(set(told)) == len(set(parts)):
            break
    return dict(zip(paths, told, strict=True))

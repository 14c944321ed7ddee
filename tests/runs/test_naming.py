"""What reports call runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmms_eval_tasks.runs.folder import Run, name_runs
from lmms_eval_tasks.utils.core.errors import InputError


def runs(*paths: str, model: str = "m") -> list[Run]:
    return [Run(Path(path), model, {}, {}, {}) for path in paths]


def titles(*paths: str, names: tuple[str, ...] = ()) -> list[str]:
    return [run.title for run in name_runs(runs(*paths), names)]


def test_a_model_with_one_run_is_called_by_its_name() -> None:
    named = name_runs([*runs("out/a/1_results.json"), *runs("out/b/1_results.json", model="other")])
    assert [run.title for run in named] == ["m", "other"]


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (("out/s0/org__m/1_results.json", "out/s1/org__m/2_results.json"), ["m (s0)", "m (s1)"]),
        (("out/1_results.json", "out/2_results.json"), ["m (1)", "m (2)"]),
        (("a/x/1_results.json", "a/y/1_results.json", "b/x/1_results.json"), ["m (a/x)", "m (a/y)", "m (b/x)"]),
        (("a/1_results.json", "a/b/1_results.json"), ["m (1)", "m (b)"]),
    ],
)
def test_runs_of_one_model_are_told_apart_by_their_folders(paths: tuple[str, ...], expected: list[str]) -> None:
    assert titles(*paths) == expected


def test_names_come_before_all_else() -> None:
    assert titles("a/1_results.json", "b/1_results.json", names=("base", "tuned")) == ["base", "tuned"]
    assert [run.name for run in name_runs(runs("a/1_results.json"), ["base"])] == ["m"]


@pytest.mark.parametrize("names", [("base",), ("base", "base"), ("base", ""), ("a", "b", "c")])
def test_names_that_do_not_fit_are_refused(names: tuple[str, ...]) -> None:
    given = ", ".join(map(repr, names))
    with pytest.raises(
        InputError, match=r"^Expected --name once for each of the 2 runs, all different, but got "
    ) as error:
        titles("a/1_results.json", "b/1_results.json", names=names)
    assert str(error.value).endswith(f"{given}.")

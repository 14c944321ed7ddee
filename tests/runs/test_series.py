"""Values of a series, read from folders' names."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmms_eval_tasks.runs.folder import read_values
from lmms_eval_tasks.utils.core.errors import InputError


def numbers(name: str, *folders: str) -> list[float]:
    return [value.number for value in read_values(name, list(map(Path, folders)))]


@pytest.mark.parametrize(
    ("name", "folders", "expected"),
    [
        ("step", ("out/ckpt-500", "out/ckpt-1000"), [500, 1000]),
        ("step", ("out/qwen2.5-vl-7b-ckpt-100", "out/qwen2.5-vl-7b-ckpt-2000"), [100, 2000]),
        ("step", ("out/a_global_step100_lr1", "out/b_global_Step-20_lr2"), [100, 20]),
        ("step", ("out/1000/eval", "out/2000/eval"), [1000, 2000]),
        ("step", ("old/ckpt-1", "new7/ckpt-2"), [1, 2]),
        ("epoch", ("r/epoch=0.5", "r/epoch=1.5"), [0.5, 1.5]),
        ("seed", ("out/seed7",), [7]),
        ("step", ("out/ckpt-500",), [500]),
        ("lr", ("out/lr-1e-5", "out/lr-3e-4"), [1e-5, 3e-4]),
        (
            "step",
            ("out/step-500/20261125_024002_results.json", "out/step-1000/20261125_031500_results.json"),
            [500, 1000],
        ),
    ],
)
def test_values_are_read(name: str, folders: tuple[str, ...], expected: list[float]) -> None:
    assert numbers(name, *folders) == expected


@pytest.mark.parametrize(
    "folders",
    [
        ("out/ckpt-500", "out/final"),
        ("out/step-1k", "out/step-500"),
        ("out/best",),
        ("out/lr1-ckpt2", "out/lr2-ckpt4"),
        ("out/v2-ckpt-500",),
    ],
)
def test_names_that_do_not_say_it_are_refused_in_one_message(folders: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as error:
        numbers("step", *folders)
    assert str(error.value) == (
        "Expected folders whose names say the step, as step-500, or are the same but for one number, as ckpt-500 and "
        f"ckpt-1000, but got {', '.join(folders)}. Rename a folder, or give it such a name by a link."
    )


def test_two_runs_of_one_value_are_refused() -> None:
    with pytest.raises(InputError, match=r"one run for each step, but these have the same: a/step-5, b/step-5\.$"):
        numbers("step", "a/step-5", "b/step-5", "a/step-6")


def test_titles_are_whole_numbers_where_they_can_be() -> None:
    assert [one.title for one in read_values("step", [Path("c/k-1000000"), Path("c/k-0.25")])] == [
        "step 1000000",
        "step 0.25",
    ]

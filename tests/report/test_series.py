"""Series of runs: what the option names, the tables, and the figures of the page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from logged_runs import TASK, write_run
from typer.testing import CliRunner, Result

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.report.series import Spread, gather_series
from lmms_eval_tasks.utils.core.errors import InputError

RIGHT = {100: 4, 1000: 12, 200: 8}
"""Step to how many of twenty pairs are right."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints of one model: 20%, 40% and 60% of the pairs are right; and one run beside them."""
    root = tmp_path_factory.mktemp("series")
    for step, right in RIGHT.items():
        answers = {f"g{pair:02}": (True, pair < right) for pair in range(20)}
        write_run(root / f"ckpt-{step}" / "tuned", answers)
    write_run(root / "base" / "base", {f"g{pair:02}": (True, False) for pair in range(20)})
    (root / "ckpt-notes.txt").write_text("no run")
    return root


def report(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


def rows(result: Result) -> list[list[str]]:
    """The rows of the table of scores: name, pair accuracy and what follows."""
    assert result.exit_code == 0, result.output
    table = result.output.partition(f"{TASK} (version")[2].partition("beside references")[0]
    return [re.split(r"\s{1,}(?!\d+ )", line.strip()) for line in table.splitlines() if re.search(r"\[.*\]", line)]


def test_the_shell_and_the_option_expand_alike(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    folders = sorted(path for path in Path().glob("ckpt-*") if path.is_dir())
    ways: Sequence[tuple[list[str], list[Path]]] = (
        (["step=ckpt-*"], []),
        ([f"step={root}/ckpt-*"], []),
        (["step"], folders),
        ([f"step={folder}" for folder in folders], []),
        ([f"step={folders[0]}"], [Path(f"step={folder}") for folder in folders[1:]]),  # step={a,b,c} of a shell
    )
    for options, runs in ways:
        sources, values = gather_series(options, runs)
        assert [source.name for source in sources] == ["ckpt-100", "ckpt-200", "ckpt-1000"], options
        assert [values[source].number for source in sources] == [100, 200, 1000]
    sources, values = gather_series(["step=ckpt-*"], [Path("base")])
    assert sources[0] == Path("base") not in values and len(values) == 3
    assert gather_series([], folders) == (folders, {})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["step=none-*"], r"Expected folders of runs as none-\*, but there is none\."),
        (["step"], "Expected the runs of --series step as step='out/ckpt-\\*' or as arguments, but got none."),
        (["step=a", "seed=b"], "Expected --series of one name, as step='out/ckpt-\\*', but got step=a, seed=b"),
        (["=a"], "Expected --series of one name"),
    ],
)
def test_series_that_cannot_be_used_are_refused(options: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        gather_series(options, [])


def test_scores_stand_against_the_step(root: Path, tmp_path: Path) -> None:
    found = rows(report("--series", f"step={root}/ckpt-*"))
    assert [(row[0], row[1]) for row in found] == [("step 100", "20.0"), ("step 200", "40.0"), ("step 1000", "60.0")]
    assert rows(report("--series", "step", *(root / f"ckpt-{step}" for step in RIGHT))) == found
    page = tmp_path / "page.html"
    report(root / "base", "--series", f"step={root}/ckpt-*", "--html", page, "--clips", "link")
    text = page.read_text("utf-8")
    assert "Pair accuracy against step" in text and "Single accuracy against step" in text
    figure = text.partition("Pair accuracy against step")[2].partition("</figure>")[0]
    points = re.findall(r"<title>step (\d+): step \d+: ([\d.]+) \[([\d.]+), ([\d.]+)\]", figure)
    assert [point[:2] for point in points] == [("100", "20.0"), ("200", "40.0"), ("1000", "60.0")]
    # The same intervals as in the table of scores.
    assert [f"[{low}, {high}]" for *_, low, high in points] == [f"{row[2]} {row[3]}" for row in found]


def test_seeds_have_a_mean_and_a_spread(root: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = report("--series", "seed", *(root / f"ckpt-{step}" for step in RIGHT), "--html", page, "--clips", "link")
    assert result.exit_code == 0, result.output
    table = result.output.partition(f"{TASK}: over 3 seeds")[2]
    (row,) = [line.split() for line in table.splitlines() if line.strip().startswith("pair accuracy")][:1]
    # 20, 40 and 60: mean 40, standard deviation sqrt((400 + 0 + 400) / 2) = 20.
    assert row == ["pair", "accuracy", "40.0", "20.00", "20.0", "60.0", "3"]
    figure = page.read_text("utf-8").partition("Pair accuracy over seeds")[2].partition("</figure>")[0]
    assert figure.count("<title>") == 4
    assert "mean of 3 seeds" in figure and "standard deviation 20.00" in figure


def test_seeds_of_several_models_have_no_mean(root: Path) -> None:
    for seed, name in enumerate(("tuned", "other")):
        write_run(root / f"seed-{seed}" / name, {"g": (True, False)})
    result = report("--series", "seed", root / "seed-0", root / "seed-1")
    assert "Expected runs of one model in --series seed, but got replay other, replay tuned." in result.output


def test_one_seed_has_no_spread() -> None:
    assert (Spread.of([5.0]).deviation, Spread.of([5.0]).text) == (None, "N/A")


def test_runs_of_a_series_are_named_by_their_values(root: Path) -> None:
    result = report("--series", f"step={root}/ckpt-*", "--name", "a", "--name", "b", "--name", "c")
    assert result.exit_code == 1
    assert "Expected --name without --series, whose runs are named by their values." in " ".join(result.output.split())


def test_a_report_of_nothing_is_refused() -> None:
    result = report()
    assert result.exit_code == 1
    assert "Expected the output folder of a run, or --series, but got neither." in " ".join(result.output.split())

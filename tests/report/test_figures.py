"""The files of a report's figures: which there are, and that their numbers are those of the report's tables."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from logged_runs import strong, weak, write_run
from typer.testing import CliRunner, Result

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.report.page import LONGEST_NAME, figures_of, write_figures
from lmms_eval_tasks.report.score_tables import score_tables
from lmms_eval_tasks.report.sections import build_sections
from lmms_eval_tasks.runs.folder import Run, read_run
from lmms_eval_tasks.utils.core.table import Number
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.reporting.drawing import FigureFile, figure_files, page_figures
from lmms_eval_tasks.utils.reporting.figure import DotPlot

TASK = "causalvqa_debug_paired"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("runs")
    return [write_run(root / "Ours-7B", strong()), write_run(root / "theirs", weak())]


def report(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


def test_every_figure_is_written_in_each_form(runs: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    folder.mkdir()
    (folder / "mine.txt").write_text("kept")
    result = report(*runs, "--task", TASK, "--figures", folder)
    assert result.exit_code == 0, result.output
    stems = {path.name.rpartition(".")[0] for path in folder.iterdir()} - {"mine"}
    assert {f"{TASK}.pair-accuracy", f"{TASK}.letters-expected-answered.replay-ours-7b"} <= stems
    assert f"{TASK}.letters-expected-answered.replay-theirs" in stems
    endings = {path.suffix for path in folder.iterdir() if path.stem in stems}
    assert endings == {".pdf", ".svg", ".png", ".csv"}
    assert len(list(folder.iterdir())) == 4 * len(stems) + 1
    assert f"Figures: {len(stems)}, as PDF, SVG, PNG and CSV, in {folder}" in result.output.replace("\n", "")
    # The same names and files again, over those that are there.
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    write_figures([read_run(run) for run in runs], folder, TASK)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_numbers_of_a_figure_are_those_of_the_score_table(runs: list[Path], tmp_path: Path) -> None:
    read = [read_run(run) for run in runs]
    write_figures(read, tmp_path, TASK)
    (table,) = score_tables(read, TASK)
    for heading, stem in (("pair accuracy", "pair-accuracy"), ("single accuracy", "single-accuracy")):
        with (tmp_path / f"{TASK}.{stem}.csv").open() as file:
            found = {row["row"]: row for row in csv.DictReader(file)}
        for number, row in enumerate(table.rows, start=1):
            score = row[table.headings.index(heading)]
            assert isinstance(score, Number)
            written = found[f"{row[0]} / {number}"]
            assert [float(written[name]) for name in ("value", "low", "high", "n")] == [
                score.value, score.low, score.high, score.n
            ]  # fmt: skip


def named_run(path: Path, name: str, data: DataSet) -> Run:
    """A run of two types of question, of a set."""
    run = read_run(path)
    records = [
        replace(record, stratum={"type": "causal" if place % 4 < 2 else "descriptive"})
        for place, record in enumerate(run.records[TASK])
    ]
    return replace(run, label=name, records={TASK: tuple(records)}, sets={TASK: data})


def test_a_figure_names_its_runs_and_says_what_its_scores_are_not_of(runs: list[Path]) -> None:
    sample = DataSet(kind=SetKind.SAMPLE, items=8)
    read = [named_run(path, name, sample) for path, name in zip(runs, ("ours", "theirs"), strict=True)]
    figures = figures_of(build_sections(read, TASK)[1])
    by_stratum = figures[f"{TASK}.pair-accuracy-by-type"]
    assert by_stratum.run_names == {"1": "ours", "2": "theirs"}
    assert {row[1] for row in by_stratum.table().rows} == {"1 ours", "2 theirs"}
    assert figures[f"{TASK}.pair-accuracy-by-type-and-run"].table().headings == ("", "1 ours", "2 theirs")
    assert {figure.warning for figure in figures.values()} == {"SAMPLE DATA, not the benchmark"}
    assert "SAMPLE DATA, not the benchmark." in figure_files(by_stratum)[FigureFile.CSV].decode()
    drawn = str(page_figures([by_stratum])[0])
    assert all(f">{text}</text>" in drawn for text in ("ours", "theirs", "chance", by_stratum.warning))


def test_a_figure_says_of_which_run_scores_are_not_those_of_the_release(runs: list[Path]) -> None:
    whole = DataSet(kind=SetKind.OFFICIAL, items=8, of=8)
    read = [named_run(path, name, whole) for path, name in zip(runs, ("ours", "theirs"), strict=True)]
    assert not any(figure.warning for figure in figures_of(build_sections(read, TASK)[1]).values())
    read[1] = replace(read[1], limited="--limit 3")
    figures = figures_of(build_sections(read, TASK)[1])
    assert figures[f"{TASK}.pair-accuracy-by-type"].warning == "run 2: --limit 3"
    letters = f"{TASK}.letters-expected-answered"
    assert [figures[f"{letters}.{name}"].warning for name in ("ours", "theirs")] == ["", "--limit 3"]


def test_every_figure_has_a_file_name_of_its_own_whatever_its_run_is_called(runs: list[Path]) -> None:
    names = "a b", "a+b", "A_b", "../模型 7B", "\ud800", "x" * 300
    read = [replace(read_run(runs[0]), name=name) for name in names]
    figures = figures_of(build_sections(read, TASK)[1])
    panel = f"{TASK}.letters-expected-answered"
    assert [stem.removeprefix(panel) for stem in figures if stem.startswith(panel)][:-1] == [
        ".a-b", ".a-b-2", ".a-b-3", ".模型-7b", ""
    ]  # fmt: skip
    assert max(map(len, figures)) == LONGEST_NAME
    assert isinstance(figures[f"{TASK}.pair-accuracy"], DotPlot)


def test_an_existing_file_is_refused_as_the_folder_for_figures(runs: list[Path], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = report(*runs, "--figures", tmp_path / "file")
    assert result.exit_code == 2 and "'--figures'" in result.output and "accuracy" not in result.stdout

"""The files of a report's figures: which there are, and that their numbers are those of the report's tables."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from commands import call
from logged_runs import TASK, strong, weak, write_run

from lmms_eval_tasks.report.page import LONGEST_NAME, figures_of, write_figures
from lmms_eval_tasks.report.score_tables import score_tables
from lmms_eval_tasks.report.sections import build_sections
from lmms_eval_tasks.runs.folder import Run, read_run
from lmms_eval_tasks.utils.core.table import Number
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.reporting.drawing import FigureFile, figure_files, page_figures
from lmms_eval_tasks.utils.reporting.figure import DotPlot, Figure

LETTERS = f"{TASK}.letters-expected-answered"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    root = tmp_path_factory.mktemp("runs")
    return [read_run(write_run(root / name, of(20))) for name, of in (("Ours-7B", strong), ("theirs", weak))]


def figures(runs: list[Run]) -> dict[str, Figure]:
    return dict(figures_of(build_sections(runs, TASK)[1]))


@pytest.mark.slow  # many files are drawn
def test_every_figure_is_written_in_each_form_with_the_numbers_of_the_table(runs: list[Run], tmp_path: Path) -> None:
    out = tmp_path / "figures"
    out.mkdir()
    (out / "mine.txt").write_text("kept")
    words = ("report", *(run.path.parent for run in runs), "--figures")
    done = call(*words, out, "--task", TASK)
    files = {path.name: path.read_bytes() for path in out.iterdir()}
    stems = {name.rpartition(".")[0] for name in files} - {"mine"}
    assert {f"{TASK}.pair-accuracy", f"{LETTERS}.replay-ours-7b", f"{LETTERS}.replay-theirs"} <= stems
    forms = ("pdf", "svg", "png", "csv")
    assert files.keys() == {f"{stem}.{ending}" for stem in stems for ending in forms} | {"mine.txt"}
    assert f"Figures: {len(stems)}, as PDF, SVG, PNG and CSV, in {out}" in done.out.replace("\n", "")
    (table,) = score_tables(runs, TASK)
    for heading, stem in (("pair accuracy", "pair-accuracy"), ("single accuracy", "single-accuracy")):
        with (out / f"{TASK}.{stem}.csv").open() as file:
            found = {row["row"]: row for row in csv.DictReader(file)}
        for number, row in enumerate(table.rows, start=1):
            score = row[table.headings.index(heading)]
            assert isinstance(score, Number)
            written = [float(found[f"{row[0]} / {number}"][name]) for name in ("value", "low", "high", "n")]
            assert written == [score.value, score.low, score.high, score.n]
    # The same names and files again, over those that are there.
    write_figures(runs, out, TASK)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == files
    refused = call(*words, out / "mine.txt")
    assert (refused.status, refused.out) == (2, "") and "'--figures'" in refused.err


def of_set(runs: list[Run], data: DataSet) -> list[Run]:
    """The runs, of two types of question, of a set."""
    made = []
    for run, name in zip(runs, ("ours", "theirs"), strict=True):
        records = tuple(
            replace(record, stratum={"type": "causal" if place % 4 < 2 else "descriptive"})
            for place, record in enumerate(run.records[TASK])
        )
        made.append(replace(run, label=name, records={TASK: records}, sets={TASK: data}))
    return made


@pytest.mark.slow
def test_a_figure_names_its_runs_and_says_what_its_scores_are_not_of(runs: list[Run]) -> None:
    found = figures(of_set(runs, DataSet(kind=SetKind.SAMPLE, items=8)))
    by_stratum = found[f"{TASK}.pair-accuracy-by-type"]
    assert by_stratum.run_names == {"1": "ours", "2": "theirs"}
    assert {row[1] for row in by_stratum.table().rows} == {"1 ours", "2 theirs"}
    assert found[f"{TASK}.pair-accuracy-by-type-and-run"].table().headings == ("", "1 ours", "2 theirs")
    assert {figure.warning for figure in found.values()} == {"SAMPLE DATA, not the benchmark"}
    assert "SAMPLE DATA, not the benchmark." in figure_files(by_stratum)[FigureFile.CSV].decode()
    drawn = str(page_figures([by_stratum])[0])
    assert all(f">{text}</text>" in drawn for text in ("ours", "theirs", "chance", by_stratum.warning))
    whole = of_set(runs, DataSet(kind=SetKind.OFFICIAL, items=8, of=8))
    assert not any(figure.warning for figure in figures(whole).values())
    found = figures([whole[0], replace(whole[1], limited="--limit 3")])
    assert found[f"{TASK}.pair-accuracy-by-type"].warning == "run 2: --limit 3"
    assert [found[f"{LETTERS}.{name}"].warning for name in ("ours", "theirs")] == ["", "--limit 3"]
    # Every figure has a file name of its own, whatever its run is called.
    names = "a b", "a+b", "A_b", "../模型 7B", "\ud800", "x" * 300
    found = figures([replace(runs[0], name=name) for name in names])
    endings = [stem.removeprefix(LETTERS) for stem in found if stem.startswith(LETTERS)]
    assert endings[:-1] == [".a-b", ".a-b-2", ".a-b-3", ".模型-7b", ""]
    assert max(map(len, found)) == LONGEST_NAME
    assert isinstance(found[f"{TASK}.pair-accuracy"], DotPlot)

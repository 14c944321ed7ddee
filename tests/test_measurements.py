"""Every measurement runs at its tiny size, and the page has the table that tools/measurements.py makes of results."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path

import measurements
import pytest
from docs import ROOT
from host_run import environment, warm_host

FOLDER = ROOT / "benchmarks"
ABSENT = 77
"""Exit status of a measurement that lacks what it needs, as benchmarks/measuring.py has it."""
MEASUREMENTS = sorted(path.name for path in FOLDER.glob("*.py") if "__main__" in path.read_text(encoding="utf-8"))


@pytest.mark.nightly
@pytest.mark.host
@pytest.mark.model
@pytest.mark.parametrize("name", MEASUREMENTS)
def test_a_measurement_runs(name: str, tmp_path: Path) -> None:
    run = warm_host().run([str(FOLDER / name), "--tiny"], tmp_path, environment(tmp_path / "home"))
    if run.returncode == ABSENT:
        pytest.skip(run.stdout.splitlines()[-1])
    assert run.returncode == 0, run.stdout + run.stderr
    assert measurements.read_ratios(run.stdout), run.stdout


def test_the_page_has_the_table_that_results_give_with_every_script() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    table = measurements.make_table(measurements.scripts(), measurements.last_results())
    assert measurements.with_table(page, table) == page, "make measurements SCRIPT=table writes it"
    assert [f"{name}.py" for name in re.findall(r"^\| \[`(\w+)`\]", page, re.MULTILINE)] == MEASUREMENTS


def test_results_name_scripts_and_what_each_ratio_is() -> None:
    for path in measurements.RESULTS.iterdir():
        date.fromisoformat(path.stem)
        for line in path.read_text(encoding="utf-8").splitlines():
            result = json.loads(line)
            assert set(result) == set(measurements.Result.__annotations__), line
            assert f"{result['script']}.py" in MEASUREMENTS and result["size"] in ("full", "tiny"), line
            assert all(what and isinstance(ratio, float) for ratio, what in result["ratios"]), line


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of three measurements: two ratios, none for want of something, and a failure."""
    ends = {"good": "print('ratio 0.5: time', 'ratio 2: memory', sep='\\n')", "absent": "exit(77)", "bad": "exit(3)"}
    for name, end in ends.items():
        (tmp_path / f"{name}.py").write_text(f'"""What {name} asks."""\nif __name__ == "__main__":\n    {end}\n')
    (tmp_path / "shared.py").write_text("")
    (tmp_path / "README.md").write_text("# Page\n\n| a |\n| --- |\n\nMore.\n")
    monkeypatch.setattr(measurements, "FOLDER", tmp_path)
    monkeypatch.setattr(measurements, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(measurements, "PAGE", tmp_path / "README.md")
    return tmp_path


def test_what_scripts_print_is_kept_and_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measurements.main([]) == 1
    assert capsys.readouterr().err == "bad ended with status 3 and 0 ratios; nothing is kept.\n"
    (path,) = (folder / "results").iterdir()
    (line,) = path.read_text(encoding="utf-8").splitlines()
    kept = json.loads(line)
    assert (kept["script"], kept["size"], kept["ratios"]) == ("good", "full", [[0.5, "time"], [2.0, "memory"]])
    table = (
        "| script | question | ratios | measured |\n| --- | --- | --- | --- |\n"
        "| [`absent`](absent.py) | What absent asks. | none kept | |\n"
        "| [`bad`](bad.py) | What bad asks. | none kept | |\n"
        "| [`good`](good.py) | What good asks. | 0.5, 2 "
        f"| [{path.stem}](results/{path.name}), {kept['cores']} cores |\n"
    )
    assert (folder / "README.md").read_text() == f"# Page\n\n{table}\nMore.\n"


def test_the_table_shows_the_last_of_the_full_size(folder: Path) -> None:
    def keep(day: int, size: str, ratio: float, *options: str) -> None:
        kept = {"script": "good", "size": size, "options": options, "ratios": [(ratio, "time")], "cores": 2}
        measurements.keep(measurements.Result(**kept, commit="0"), date(2026, 1, day))  # type: ignore[typeddict-item]

    def cell() -> str:
        return measurements.make_table(measurements.scripts(), measurements.last_results()).split(" | ")[-2]

    for day, size, ratio, options, shown in (
        (1, "tiny", 1.0, (), "1 (`--tiny`)"),
        (2, "full", 2.0, (), "2"),
        (3, "tiny", 3.0, (), "2"),
        (3, "full", 4.0, ("--cuda",), "4 (`--cuda`)"),
    ):
        keep(day, size, ratio, *options)
        assert cell() == shown


def test_a_name_of_no_script_is_refused(folder: Path) -> None:
    with pytest.raises(SystemExit, match="Expected a script, one of absent, bad, good, or table, but got worse"):
        measurements.main(["worse"])

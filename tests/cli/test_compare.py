"""The command `compare`, on runs as lmms-eval writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from logged_runs import TASK, strong, weak, write_run
from typer.testing import CliRunner

from lmms_eval_tasks.cast_bench.card import DIMENSIONS
from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.report.page import build_page
from lmms_eval_tasks.report.run_comparison import comparison_panels
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.data.card import SetKind

pytestmark = pytest.mark.usefixtures("hundred_columns")


def run(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["compare", *(str(argument) for argument in arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_the_better_of_two_runs(tmp_path: Path) -> None:
    one, two = write_run(tmp_path / "weak", weak()), write_run(tmp_path / "strong", strong())
    status, out, err = run(one, two)
    assert (status, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    (row,) = [line for line in lines if line[:2] == ["1,", "2"] and "pair" in line]
    # Pairs: 20 of 60, all of them among the second run's 45.
    assert row[2:7] == ["pair", "accuracy", "33.3", "75.0", "+41.7"]
    assert row[-4:] == ["0", "25", "<0.001", "<0.001"]
    assert "runs 1 and 2 share 120 items in 60 groups" in out.splitlines()
    assert ": from " not in out
    (effect,) = [line for line in lines if line[:2] == ["1,", "2"] and "×" in line]
    # 2.8016 sqrt(25 / 60 / 60), 2.8016 sqrt(2 * 0.5417 * 0.4583 / 60), and their ratio.
    assert effect[2:6] == ["23.3", "25.5", "0.92", "×"]
    assert max(map(len, out.splitlines())) <= 100
    assert run(one, two)[1] == out


def test_what_makes_runs_unlike_is_told(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", {**weak(), "extra": (True, True), "cut": (True, True)})
    two = write_run(tmp_path / "two", {**strong(), "cut": (True,)}, version="2-A", kind=SetKind.SAMPLE)
    status, out, _ = run(one, two)
    assert status == 0
    lines = " ".join(out.split())
    assert "runs 1 and 2 share 121 items in 61 groups; left out: 3 items only in the first run" in lines
    assert "pair accuracy: from 120 items in 60 groups that count in both runs" in lines
    assert "single accuracy: from" not in lines
    assert "runs 1 and 2 differ: task version 1-A against 2-A" in out.splitlines()
    sets = "one is of the official release, 2 of 4 items, the other of sample data"
    assert f"runs 1 and 2 differ: {sets}" in out.splitlines()
    assert f"{TASK}; SAMPLE DATA, not the benchmark" in out.splitlines()


def test_three_runs_are_compared_two_by_two(tmp_path: Path) -> None:
    right = dict.fromkeys(strong(), (False, False))
    right["1"] = (True, True)
    runs = [write_run(tmp_path / name, flags) for name, flags in (("a", strong()), ("b", strong()), ("c", right))]
    status, out, _ = run(*runs)
    assert status == 0
    rows = [line.split() for line in out.splitlines() if "pair accuracy" in line and "[" in line]
    assert [row[:2] for row in rows] == [["1,", "2"], ["1,", "3"], ["2,", "3"]]
    assert [row[-1] for row in rows] == ["1.000", "<0.001", "<0.001"]


def test_runs_of_other_tasks_are_refused(tmp_path: Path) -> None:
    one, two = write_run(tmp_path / "one", weak()), write_run(tmp_path / "two", weak(), tasks=("mvp_mini",))
    assert run(one, two) == (
        1,
        "",
        f"Expected runs that share a task, but they hold {TASK}; mvp_mini.\n",
    )
    assert run(one)[::2] == (1, "Expected two runs or more to compare, but got 1.\n")
    other = write_run(tmp_path / "other", weak())
    assert run(one, other, "--task", "x")[2] == (
        f"Expected a task or group of two of these runs, any of {TASK}, but got x.\n"
    )


def test_a_run_given_twice_is_refused(tmp_path: Path) -> None:
    out = write_run(tmp_path / "out", weak())
    (tmp_path / "link").symlink_to(out)
    results = out / "20261121_results.json"
    assert run(out, out) == (
        1,
        "",
        f"Expected different runs, but {out} and {out} are one run, {results}.\n",
    )
    status, _, err = run(out, write_run(tmp_path / "two", strong()), tmp_path / "link")
    assert (status, err) == (
        1,
        f"Expected different runs, but {out} and {tmp_path / 'link'} are one run, {results}.\n",
    )


def test_a_task_that_a_run_lacks_is_told(tmp_path: Path) -> None:
    both = [write_run(tmp_path / name, weak(), tasks=(TASK, "causalvqa_paired")) for name in ("one", "other")]
    runs = [*both, write_run(tmp_path / "two", weak())]
    status, out, _ = run(*runs, "--task", "causalvqa_paired")
    assert (status, "not in run 3" in out.splitlines()) == (0, True)
    assert TASK not in out


@pytest.mark.parametrize("flags", [(True, True), (False, False)])
def test_runs_that_agree_on_everything(tmp_path: Path, flags: tuple[bool, bool]) -> None:
    right = {str(index): flags for index in range(10)}
    status, out, _ = run(*(write_run(tmp_path / name, right) for name in ("one", "two")))
    assert status == 0
    assert "N/A" in out


def cast_bench_run(folder: Path, right: Mapping[str, tuple[bool, ...]], **grounding: object) -> Path:
    """A run of questions about clips; without measures of its grounding that is unscored."""
    form = {"json_valid": True, "schema_valid": True, "recoverable": True, "answered": "A"}
    return write_run(folder, right, ("cast_bench",), grounding=grounding or None, format=form)


def test_questions_of_a_clip_are_no_pairs(tmp_path: Path) -> None:
    clips: dict[str, tuple[bool, ...]] = {
        str(index): (True, index % 2 > 0, False)[: index % 3 + 1] for index in range(30)
    }
    none: dict[str, tuple[bool, ...]] = {name: (False,) * len(flags) for name, flags in clips.items()}
    runs = [cast_bench_run(tmp_path / name, flags) for name, flags in (("a", none), ("b", clips))]
    status, out, _ = run(*runs)
    assert status == 0
    (row,) = [line.split() for line in out.splitlines() if "[" in line]
    # Right: 10 clips of one question, and of 20 others the first, and every second one's second: 40 of 60.
    assert row[2:6] == ["accuracy", "0.0", "66.7", "+66.7"]
    assert "pair accuracy" not in out
    assert "smallest difference" not in out
    single = {name: flags[:1] for name, flags in clips.items()}
    other = [cast_bench_run(tmp_path / name, single) for name in "cd"]
    assert "accuracy above 16.67" in " ".join(run(*other)[1].split())


def test_every_score_of_evidence_is_compared_as_it_is_defined(tmp_path: Path) -> None:
    measures = {"im_tiou": 0.5, "im_viou": 0.25, "supported": True}
    rest = dict.fromkeys(("temporal_recall", "tiou_tp_only", "st_recall", "viou_tp_only"), 0.0)
    grounding = {**rest, "supported_strict": False, "false_positives": 0, "pairs": [], **measures}
    clips = {str(index): (index % 2 > 0, index % 4 > 0) for index in range(40)}
    runs = [cast_bench_run(tmp_path / "a", clips, **{**grounding, "im_tiou": 0.3})]
    runs.append(cast_bench_run(tmp_path / "b", clips, **grounding))
    status, out, _ = run(*runs)
    assert status == 0
    rows = [line.strip().removeprefix("1, 2").split()[:4] for line in out.splitlines() if "[" in line]
    assert rows == [
        ["accuracy", "62.5", "62.5", "+0.0"],
        ["faithful", "62.5", "62.5", "+0.0"],
        ["IM-tIoU", "30.0", "50.0", "+20.0"],
        ["IM-vIoU", "25.0", "25.0", "+0.0"],
    ]


def test_answers_about_two_directions_are_compared_in_pairs(tmp_path: Path) -> None:
    def runs(folder: str, right: Mapping[str, tuple[bool, ...]]) -> Path:
        return write_run(tmp_path / folder, right, ("yocausal_vlm",), stratum={"subset": "animal"}, human_credit=50.0)

    status, out, _ = run(runs("a", weak()), runs("b", strong()))
    assert status == 0
    lines = [line for line in out.splitlines() if "[" in line]
    assert "human protocol" in lines[0] and "+0.0" in lines[0]
    # The same pairs as in `test_the_better_of_two_runs`.
    assert lines[1].split()[:5] == ["pair", "accuracy", "33.3", "75.0", "+41.7"]
    assert lines[2].split()[:2] == ["single", "accuracy"]
    # The test stands beside the score that it is of.
    assert [line.split()[-4:] == ["0", "25", "<0.001", "<0.001"] for line in lines] == [False, True, False]


def test_a_group_over_two_kinds_of_task_is_compared_task_by_task(tmp_path: Path) -> None:
    """They have no scores in common."""
    form = {"json_valid": True, "schema_valid": True, "recoverable": True, "answered": "A"}
    scores = dict.fromkeys(DIMENSIONS, 5.0)
    tasks = ("cast_bench", "cast_bench_open")
    runs = []
    for name, right in (("a", weak()), ("b", strong())):
        runs.append(write_run(tmp_path / name, right, tasks, grounding=None, format=form, scores=scores))
        results = json.loads((runs[-1] / "20261121_results.json").read_text(encoding="utf-8"))
        results["group_subtasks"] = {"both": list(tasks)}
        (runs[-1] / "20261121_results.json").write_text(json.dumps(results), encoding="utf-8")
    status, out, _ = run(*runs)
    assert (status, [line for line in out.splitlines() if line in (*tasks, "both")]) == (0, list(tasks))


def test_runs_of_one_model_are_told_apart_or_named(tmp_path: Path) -> None:
    one, two = (write_run(tmp_path / folder / "model", strong()) for folder in ("seed0", "seed1"))
    for command in ("report", "compare"):
        shown = CliRunner().invoke(app, [command, str(one), str(two)])
        assert shown.exit_code == 0 and {"(seed0)", "(seed1)"} <= set(re.split(r"[\s,:]+", shown.output)), shown.output
        named = CliRunner().invoke(app, [command, str(one), str(two), "--name", "base", "--name", "tuned"])
        assert named.exit_code == 0 and {"base", "tuned"} <= set(re.split(r"[\s,:]+", named.output)), named.output
    short = CliRunner().invoke(app, ["report", str(one), str(two), "--name", "base"])
    assert short.exit_code == 1
    assert "Expected --name once for each of the 2 runs, all different, but got 'base'." in " ".join(
        short.output.split()
    )


def test_a_page_of_two_runs_has_the_same_table(tmp_path: Path) -> None:
    one, two = write_run(tmp_path / "weak", weak()), write_run(tmp_path / "strong", strong(), version="2-A")
    status, out, _ = run(one, two, "--format", "json")
    printed = json.loads(out)["tables"][0]
    table, effects = (panel.table for panel in comparison_panels(TASK, {1: read_run(one), 2: read_run(two)}))
    assert table is not None and effects is not None and (status, list(table.headings)) == (0, printed["columns"])
    rows = json.loads(json.dumps([[getattr(cell, "value", cell) for cell in row] for row in table.rows]))
    shown = [[cell["value"] if isinstance(cell, dict) else cell for cell in row] for row in printed["rows"]]
    assert rows == shown
    assert table.caption == "runs 1 and 2 share 120 items in 60 groups"
    assert table.warnings == ["runs 1 and 2 differ: task version 1-A against 2-A"]
    page = build_page([read_run(one), read_run(two)])
    assert "<h3>Differences between runs</h3>" in page and "+41.7 [" in page
    assert "Differences between runs" not in build_page([read_run(one)])


def test_a_page_of_many_runs_compares_with_the_first_alone(tmp_path: Path) -> None:
    runs = {number: read_run(write_run(tmp_path / str(number), weak(12))) for number in range(2, 7)}
    first, *_ = comparison_panels(TASK, runs)
    assert first.table is not None
    assert {row[0] for row in first.table.rows} == {"2, 3", "2, 4", "2, 5", "2, 6"}
    assert first.note.endswith("Of 5 runs each is compared with run 2 alone; `compare` has all.")
    del runs[6]
    few, *_ = comparison_panels(TASK, runs)
    assert few.table is not None and len({row[0] for row in few.table.rows}) == 6 and "alone" not in few.note[-60:]

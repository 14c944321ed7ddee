"""The command `compare`, on runs as lmms-eval writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from commands import call, printed, refusal
from logged_runs import TASK, strong, weak, write_run

from lmms_eval_tasks.cast_bench.card import DIMENSIONS
from lmms_eval_tasks.report.page import build_page
from lmms_eval_tasks.report.run_comparison import comparison_panels
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.data.card import SetKind

pytestmark = pytest.mark.usefixtures("hundred_columns")
FORM = {"json_valid": True, "schema_valid": True, "recoverable": True, "answered": "A"}


def compared(*runs: Path, task: str = "") -> str:
    """What `compare` prints of runs, in a hundred columns."""
    out = printed("compare", *runs, *(["--task", task] if task else []))
    assert max(map(len, out.splitlines())) <= 100
    return out


def test_the_better_of_two_runs(expected: Any, tmp_path: Path) -> None:
    one, two = write_run(tmp_path / "weak", weak()), write_run(tmp_path / "strong", strong())
    out = compared(one, two)
    lines = [line.split() for line in out.splitlines()]
    (row,) = [line for line in lines if line[:2] == ["1,", "2"] and "pair" in line]
    # Pairs: 20 of 60, all of them among the second run's 45.
    assert row[2:7] == ["pair", "accuracy", "33.3", "75.0", "+41.7"]
    assert row[-4:] == ["0", "25", "<0.001", "<0.001"]
    (effect,) = [line for line in lines if line[:2] == ["1,", "2"] and "×" in line]
    # 2.8016 sqrt(25 / 60 / 60), 2.8016 sqrt(2 * 0.5417 * 0.4583 / 60), and their ratio.
    assert effect[2:6] == ["23.3", "25.5", "0.92", "×"]
    expected(out)
    assert compared(one, two) == out


def test_what_makes_runs_unlike_is_named(expected: Any, tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", {**weak(), "extra": (True, True), "cut": (True, True)})
    two = write_run(tmp_path / "two", {**strong(), "cut": (True,)}, version="2-A", kind=SetKind.SAMPLE)
    expected(compared(one, two))


def test_three_runs_are_compared_two_by_two_and_of_tasks_that_two_have(expected: Any, tmp_path: Path) -> None:
    right = {**dict.fromkeys(strong(), (False, False)), "1": (True, True)}
    flags = (
        ("a", strong(), (TASK, "causalvqa_paired")),
        ("b", strong(), (TASK, "causalvqa_paired")),
        ("c", right, (TASK,)),
    )
    runs = [write_run(tmp_path / name, of_run, tasks) for name, of_run, tasks in flags]
    out = compared(*runs, task=TASK)
    rows = [line.split() for line in out.splitlines() if "pair accuracy" in line and "[" in line]
    assert [row[:2] for row in rows] == [["1,", "2"], ["1,", "3"], ["2,", "3"]]
    assert [row[-1] for row in rows] == ["1.000", "<0.001", "<0.001"]
    expected(out + compared(*runs, task="causalvqa_paired"))


def test_runs_that_cannot_be_compared(expected: Any, tmp_path: Path) -> None:
    one, other = write_run(tmp_path / "one", weak()), write_run(tmp_path / "other", weak())
    two = write_run(tmp_path / "two", weak(), tasks=("mvp_mini",))
    (tmp_path / "link").symlink_to(one)
    refused = [(one, two), (one,), (one, other, "--task", "x"), (one, one), (one, other, tmp_path / "link")]
    expected("".join(refusal("compare", *words) for words in refused))


@pytest.mark.parametrize("flags", [(True, True), (False, False)])
def test_runs_that_agree_on_everything(tmp_path: Path, flags: tuple[bool, bool]) -> None:
    right = {str(index): flags for index in range(10)}
    assert "N/A" in compared(*(write_run(tmp_path / name, right) for name in ("one", "two")))


def rows_of(text: str) -> list[str]:
    """The differences that are printed, without the numbers of the runs."""
    return [" ".join(line.split()).removeprefix("1, 2 ") for line in text.splitlines() if "[" in line]


def test_questions_of_a_clip_are_no_pairs(tmp_path: Path) -> None:
    clips: dict[str, tuple[bool, ...]] = {
        str(index): (True, index % 2 > 0, False)[: index % 3 + 1] for index in range(30)
    }

    def written(name: str, right: Mapping[str, tuple[bool, ...]]) -> Path:
        return write_run(tmp_path / name, right, ("cast_bench",), grounding=None, format=FORM)

    none = {name: (False,) * len(flags) for name, flags in clips.items()}
    out = compared(written("a", none), written("b", clips))
    # Right: 10 clips of one question, and of 20 others the first, and every second one's second: 40 of 60.
    (row,) = rows_of(out)
    assert row.startswith("accuracy 0.0 66.7 +66.7")
    assert "pair accuracy" not in out and "smallest difference" not in out
    single = {name: flags[:1] for name, flags in clips.items()}
    assert "accuracy above 16.67" in " ".join(compared(written("c", single), written("d", single)).split())


def test_every_score_of_evidence_is_compared_as_it_is_defined(tmp_path: Path) -> None:
    grounding = {
        "im_tiou": 0.5, "im_viou": 0.25, "supported": True, "supported_strict": False, "false_positives": 0,
        "pairs": [], **dict.fromkeys(("temporal_recall", "tiou_tp_only", "st_recall", "viou_tp_only"), 0.0),
    }  # fmt: skip
    clips = {str(index): (index % 2 > 0, index % 4 > 0) for index in range(40)}
    runs = [
        write_run(tmp_path / name, clips, ("cast_bench",), grounding=measured, format=FORM)
        for name, measured in (("a", {**grounding, "im_tiou": 0.3}), ("b", grounding))
    ]
    assert [row.partition(" [")[0] for row in rows_of(compared(*runs))] == [
        "accuracy 62.5 62.5 +0.0", "faithful 62.5 62.5 +0.0", "IM-tIoU 30.0 50.0 +20.0", "IM-vIoU 25.0 25.0 +0.0",
    ]  # fmt: skip


def test_answers_about_two_directions_are_compared_in_pairs(tmp_path: Path) -> None:
    stratum = {"subset": "animal"}
    runs = [
        write_run(tmp_path / name, right, ("yocausal_vlm",), stratum=stratum, human_credit=50.0)
        for name, right in (("a", weak()), ("b", strong()))
    ]
    protocol, pairs, single = rows_of(compared(*runs))
    assert "human protocol" in protocol and "+0.0" in protocol and single.startswith("single accuracy")
    # The same pairs as in `test_the_better_of_two_runs`; the test stands beside the score that it is of.
    assert pairs.startswith("pair accuracy 33.3 75.0 +41.7")
    assert [row.endswith(" 0 25 <0.001 <0.001") for row in (protocol, pairs, single)] == [False, True, False]


def test_a_group_over_two_kinds_of_task_is_compared_task_by_task(tmp_path: Path) -> None:
    """They have no scores in common."""
    scores, tasks, runs = dict.fromkeys(DIMENSIONS, 5.0), ("cast_bench", "cast_bench_open"), []
    for name, right in (("a", weak()), ("b", strong())):
        runs.append(write_run(tmp_path / name, right, tasks, grounding=None, format=FORM, scores=scores))
        results = json.loads((runs[-1] / "20261121_results.json").read_text(encoding="utf-8"))
        results["group_subtasks"] = {"both": list(tasks)}
        (runs[-1] / "20261121_results.json").write_text(json.dumps(results), encoding="utf-8")
    assert [line for line in compared(*runs).splitlines() if line in (*tasks, "both")] == list(tasks)


def test_runs_of_one_model_are_named_by_their_folders_or_as_the_user_says(tmp_path: Path) -> None:
    one, two = (write_run(tmp_path / folder / "model", strong()) for folder in ("seed0", "seed1"))
    for command in ("report", "compare"):
        assert {"(seed0)", "(seed1)"} <= set(re.split(r"[\s,:]+", printed(command, one, two)))
        named = printed(command, one, two, "--name", "base", "--name", "tuned")
        assert {"base", "tuned"} <= set(re.split(r"[\s,:]+", named))
    short = call("report", one, two, "--name", "base")
    assert short.status == 1
    assert "Expected --name once for each of the 2 runs, all different, but got 'base'." in " ".join(short.err.split())


def test_a_page_of_two_runs_has_the_same_table(tmp_path: Path) -> None:
    one, two = write_run(tmp_path / "weak", weak()), write_run(tmp_path / "strong", strong(), version="2-A")
    written = json.loads(printed("compare", one, two, "--format", "json"))["tables"][0]
    table, effects = (panel.table for panel in comparison_panels(TASK, {1: read_run(one), 2: read_run(two)}))
    assert table is not None and effects is not None and list(table.headings) == written["columns"]
    rows = json.loads(json.dumps([[getattr(cell, "value", cell) for cell in row] for row in table.rows]))
    assert rows == [[cell["value"] if isinstance(cell, dict) else cell for cell in row] for row in written["rows"]]
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

"""Series of runs: what the option names, tables, figures, and the smallest value that is not worse than the best."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from commands import printed, refusal
from expected import Expected
from logged_runs import TASK, write_run

from lmms_eval_tasks.report.series import compare_to_best, gather_series
from lmms_eval_tasks.runs.folder import SeriesValue
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric
from lmms_eval_tasks.utils.scoring.metrics import SINGLE_ACCURACY, UNPARSED_RATE, Metric
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

RIGHT = {100: 4, 1000: 12, 200: 8}
"""Step to how many of twenty pairs are right."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hundred_columns: None) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Checkpoints of one model: 20%, 40% and 60% of the pairs are right; and one run beside them."""
    for step, right in RIGHT.items():
        write_run(Path(f"ckpt-{step}", "tuned"), {f"g{pair:02}": (True, pair < right) for pair in range(20)})
    write_run(Path("base", "base"), {f"g{pair:02}": (True, False) for pair in range(20)})
    Path("ckpt-notes.txt").write_text("no run")
    return tmp_path


def test_the_shell_and_the_option_expand_alike(root: Path) -> None:
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


@pytest.mark.usefixtures("root")
def test_series_that_cannot_be_used_are_refused(expected: Expected) -> None:
    for seed, name in enumerate(("tuned", "other")):
        write_run(Path(f"seed-{seed}", name), {"g": (True, False)})
    asked = (
        "--series step=none-*", "--series step", "--series step=a --series seed=b", "--series =a", "",
        "--series step=ckpt-* --name a --name b --name c", "--series seed seed-0 seed-1",
    )  # fmt: skip
    expected("".join(f"$ report {words}\n{refusal('report', *words.split())}" for words in asked))


@pytest.mark.slow
@pytest.mark.usefixtures("root")
def test_scores_stand_against_the_step_and_seeds_have_a_mean_and_a_spread(expected: Expected) -> None:
    page = ("--html", "page.html")
    shown = printed("report", "--series", "step=ckpt-*", "base", *page)
    found = re.findall(r"^ +step (\d+) +([\d.]+) \[ *([\d.]+), ([\d.]+)\]", shown, re.MULTILINE)
    assert [row[:2] for row in found] == [("100", "20.0"), ("200", "40.0"), ("1000", "60.0")]
    text = Path("page.html").read_text("utf-8")
    assert "Single accuracy against step" in text
    figure = text.partition("Pair accuracy against step")[2].partition("</details>")[0]
    # The same intervals as in the table of scores.
    assert re.findall(r"<title>step (\d+): step \d+: ([\d.]+) \[([\d.]+), ([\d.]+)\]", figure) == found
    expected(shown)
    shown = printed("report", "--series", "seed", *(f"ckpt-{step}" for step in RIGHT), *page)
    # 20, 40 and 60: mean 40, standard deviation sqrt((400 + 0 + 400) / 2) = 20.
    assert "pair accuracy 40.0 20.00 20.0 60.0 3" in " ".join(shown.partition("over 3 seeds")[2].split())
    figure = Path("page.html").read_text("utf-8").partition("Pair accuracy over seeds")[2].partition("</figure>")[0]
    assert figure.count("<title>") == 4
    assert "mean of 3 seeds" in figure and "standard deviation 20.00" in figure


def test_the_smallest_value_is_found_by_the_intervals_that_compare_prints() -> None:
    """Of four numbers of frames 20, 34, 36 and 36 of 60 pairs are right."""
    folders = []
    for frames, right in {4: 20, 8: 34, 16: 36, 32: 36}.items():
        # With 8 frames one pair is right that is wrong with 16, three are wrong that are right there.
        gained = {59} if frames == 8 else set()
        answers = {f"g{pair:02}": (True, pair < right - len(gained) or pair in gained) for pair in range(60)}
        folders.append(write_run(Path(f"frames-{frames}", "model"), answers).parent)
    report, compared = (
        {table["title"]: table for table in json.loads(printed(*words, "--format", "json"))["tables"]}
        for words in (["report", "--series", "frames", *folders], ["compare", folders[2], folders[1]])
    )
    table = report[f"{TASK}: against frames"]
    rows = [row for row in table["rows"] if row[0] == "pair accuracy"]
    assert [(row[1], round(row[2]["value"], 1), row[4]) for row in rows] == [
        ("4", 33.3, "worse"), ("8", 56.7, "not worse"), ("16", 60.0, "best"), ("32", 60.0, "not worse"),
    ]  # fmt: skip
    assert "pair accuracy: best at frames 16; the smallest that is not worse is frames 8" in table["caption"]
    (difference,) = [row for row in compared[TASK]["rows"] if row[1] == "pair accuracy"]
    assert rows[1][3] == difference[4] and difference[4]["low"] < 0 < difference[4]["high"]
    assert rows[0][3]["high"] < 0 and rows[2][3] == ""


@pytest.mark.parametrize("metric", [SINGLE_ACCURACY, UNPARSED_RATE])
def test_the_best_run_is_that_of_the_better_score_and_of_equal_ones_the_smaller_value(metric: Metric) -> None:
    def run(frames: int, outcome: Outcome) -> tuple[SeriesValue, list[list[Record]]]:
        answered = "A" if outcome is Outcome.CORRECT else None
        return SeriesValue("frames", frames), [[Record(str(n), str(n), {}, "A", answered, outcome) for n in range(30)]]

    def compared(outcomes: dict[int, Outcome]) -> list[tuple[float, str, bool]]:
        found = compare_to_best([run(*one) for one in outcomes.items()], ReferencedMetric(metric))
        return [(one.value.number, one.verdict, one.to_best is None) for one in found]

    good, bad = Outcome.CORRECT, Outcome.UNPARSED
    assert compared({4: bad, 8: good, 16: good}) == [(4, "worse", False), (8, "best", True), (16, "not worse", False)]
    assert compared({4: good}) == [(4, "", True)], "a single run is compared with none"

"""Series of runs: what the option names, the tables, and the figures of the page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from commands import printed, refusal
from expected import Expected
from logged_runs import write_run

from lmms_eval_tasks.report.series import Spread, gather_series

RIGHT = {100: 4, 1000: 12, 200: 8}
"""Step to how many of twenty pairs are right."""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Checkpoints of one model: 20%, 40% and 60% of the pairs are right; and one run beside them."""
    monkeypatch.chdir(tmp_path)
    for step, right in RIGHT.items():
        answers = {f"g{pair:02}": (True, pair < right) for pair in range(20)}
        write_run(tmp_path / f"ckpt-{step}" / "tuned", answers)
    write_run(tmp_path / "base" / "base", {f"g{pair:02}": (True, False) for pair in range(20)})
    (tmp_path / "ckpt-notes.txt").write_text("no run")
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
@pytest.mark.usefixtures("root", "hundred_columns")
def test_scores_stand_against_the_step(expected: Expected) -> None:
    shown = printed("report", "--series", "step=ckpt-*", "base", "--html", "page.html", "--clips", "link")
    found = re.findall(r"^ +step (\d+) +([\d.]+) \[ *([\d.]+), ([\d.]+)\]", shown, re.MULTILINE)
    assert [row[:2] for row in found] == [("100", "20.0"), ("200", "40.0"), ("1000", "60.0")]
    text = Path("page.html").read_text("utf-8")
    assert "Single accuracy against step" in text
    figure = text.partition("Pair accuracy against step")[2].partition("</details>")[0]
    # The same intervals as in the table of scores.
    assert re.findall(r"<title>step (\d+): step \d+: ([\d.]+) \[([\d.]+), ([\d.]+)\]", figure) == found
    expected(shown)


@pytest.mark.slow
@pytest.mark.usefixtures("root", "hundred_columns")
def test_seeds_have_a_mean_and_a_spread() -> None:
    folders = [f"ckpt-{step}" for step in RIGHT]
    shown = printed("report", "--series", "seed", *folders, "--html", "page.html", "--clips", "link")
    # 20, 40 and 60: mean 40, standard deviation sqrt((400 + 0 + 400) / 2) = 20.
    assert "pair accuracy 40.0 20.00 20.0 60.0 3" in " ".join(shown.partition("over 3 seeds")[2].split())
    figure = Path("page.html").read_text("utf-8").partition("Pair accuracy over seeds")[2].partition("</figure>")[0]
    assert figure.count("<title>") == 4
    assert "mean of 3 seeds" in figure and "standard deviation 20.00" in figure
    assert (Spread.of([5.0]).deviation, Spread.of([5.0]).text) == (None, "N/A")

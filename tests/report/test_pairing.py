"""The command `report --pairing random`."""

from __future__ import annotations

from pathlib import Path

from logged_runs import write_run
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.utils.data.card import SetKind

TASK = "mvp_mini_temporal_reasoning"
# Either both clips of a pair are easy or none is.
ALIKE = {str(number): (number % 2 > 0,) * 2 for number in range(40)}


def report(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["report", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_random_pairs_stand_beside_the_real_ones(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", ALIKE, (TASK,), question="Which is it?", keys="AB", kind=SetKind.SAMPLE)
    constant = dict.fromkeys(ALIKE, (True, False))
    two = write_run(tmp_path / "two", constant, (TASK,), question="Which is it?", keys="AB")
    status, out, err = report(one, two, "--pairing", "random", "--seed", "3")
    assert (status, err) == (0, "")
    assert "paired at random (seed 3, 10,000 draws)" in " ".join(out.split())
    rows = {
        cells[1]: cells for line in out.splitlines() if len(cells := line.split()) > 8 and cells[-2:] == ["40", "1"]
    }
    # Of 40 pairs 20 are right; a member has 19 of 39 other partners that are.
    assert rows["one"][:3] + rows["one"][5:7] == ["replay", "one", "24.4", "50.0", "+25.6"]
    assert rows["two"][2:6] == ["0.0", "[0.0,", "0.0]", "0.0"]
    words = " ".join(out.split())
    assert "published:" not in words
    words = " ".join(report(two, "--pairing", "random")[1].split())
    assert "published: 84.3, pair_accuracy, average of 5 VideoLLMs (Pairing of random videos (same question))" in words
    assert "published: 45.1, pair_accuracy, average of 5 VideoLLMs (+ minimally different pairs)" in words
    assert report(one, two, "--pairing", "random", "--seed", "3")[1] == out
    assert "paired at random" not in report(one)[1]


def test_a_question_with_few_pairs_has_no_interval(tmp_path: Path) -> None:
    few = write_run(tmp_path / "few", dict(list(ALIKE.items())[:8]), (TASK,), question="Which is it?", keys="AB")
    out = report(few, "--pairing", "random")[1]
    (row,) = [line.split() for line in out.splitlines() if line.split()[-2:] == ["8", "1"]]
    assert row[2:] == ["21.4", "50.0", "+28.6", "8", "1"]
    assert "no interval of replay few: a part of it has one question alone" in " ".join(out.split())


def test_runs_without_pairs_to_change_or_prompts(tmp_path: Path) -> None:
    same_key = write_run(tmp_path / "one", ALIKE, (TASK,), question="Which is it?")
    status, out, _ = report(same_key, "--pairing", "random")
    assert (status, "groups left out of replay one: 40 with one key" in out) == (0, True)
    silent = write_run(tmp_path / "two", ALIKE, (TASK,), keys="AB")
    status, _, err = report(silent, "--pairing", "random")
    assert (status, "cannot be paired at random: Expected the prompt of" in err) == (1, True)

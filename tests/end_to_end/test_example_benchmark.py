"""Somebody else's benchmark is the equal of ours: the examples, installed beside the built wheel in an environment of
its own, through every command."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from docs import ROOT, blocks
from host_run import environment
from warm_commands import commands_on_path
from warm_host import WarmHost

pytestmark = pytest.mark.host

EXAMPLES = ("benchmark_plugin", "pendulum_plugin")
NEW = "ball_bounce"
"""The benchmark whose skeleton `lmms-eval-tasks new` writes."""
OURS = ("lmms_eval_tasks", "setup.cfg", "pyproject.toml", "README.md", "LICENSE")


@dataclass(frozen=True)
class Installed:
    """An environment that has our wheel, both examples, a new benchmark, and one that cannot be imported.

    Attributes:
        root: The folder in which it lies and in which commands run.
        python: Its interpreter.
        host: A process of it that has imported our package and lmms-eval.
    """

    root: Path
    python: Path
    host: WarmHost

    def run(self, *words: str, status: int = 0, home: str = "home") -> str:
        """What a command of the environment prints."""
        env = {**environment(self.root / home), "COLUMNS": "100"}
        finished = self.host.run([str(self.python.parent / words[0]), *words[1:]], self.root, env)
        assert finished.returncode == status, finished.stdout + finished.stderr
        return finished.stdout + finished.stderr

    def scores(self, run: str) -> dict[str, dict[str, float]]:
        """Task to its scores."""
        (path,) = (self.root / "runs" / run).glob("*_results.json")
        results = json.loads(path.read_text("utf-8"))["results"]
        return {
            task: {name.removesuffix(",none"): score for name, score in scores.items()}
            for task, scores in results.items()
        }


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    root = tmp_path_factory.mktemp("plugin")
    (root / "ours").mkdir()
    for name in OURS:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, root / "ours" / name)
    for name in EXAMPLES:
        shutil.copytree(ROOT / "examples" / name, root / name)
    broken = root / "broken" / "broken_benchmark"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('it needs a package that is not there')\n")
    (root / "broken" / "setup.py").write_text(
        "from setuptools import setup\n"
        "setup(name='broken-benchmark', version='1', packages=['broken_benchmark'],\n"
        "      entry_points={'lmms_eval_tasks.benchmarks': ['broken = broken_benchmark:BENCHMARK']})\n"
    )
    venv.create(root / "env", with_pip=False)
    python = root / "env" / "bin" / "python"
    ask = [python, "-c", "import site; print(site.getsitepackages()[0])"]
    site = Path(subprocess.check_output(ask, text=True).strip())
    # What this environment has stands behind what is installed into the new one.
    (site / "here.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    # With this environment's setuptools, which torch asks for: no package index has to be within reach.
    alone = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--ignore-installed"]
    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    for command in (
        [*wheel, "--wheel-dir", str(root / "wheels"), str(root / "ours")],
        [*pip, *alone, "--find-links", str(root / "wheels"), "lmms-eval-tasks"],
        [str(python.parent / "lmms-eval-tasks"), "new", NEW],
        [*pip, *alone, *(str(root / name) for name in EXAMPLES), str(root / "broken"), "--editable", str(root / NEW)],
    ):
        env = {**os.environ, "PIP_NO_INPUT": "1"}
        finished = subprocess.run(command, cwd=root, capture_output=True, text=True, env=env)
        assert finished.returncode == 0, finished.stderr
    script = python.parent / "lmms-eval"
    shutil.copy(Path(sysconfig.get_path("scripts")) / "lmms-eval", script)
    lines = script.read_text(encoding="utf-8").splitlines()
    script.write_text("\n".join([f"#!{python}", *lines[1:]]), encoding="utf-8")
    subprocess.run([python, "-m", "lamp_side.write", "release"], cwd=root, check=True)
    found = Installed(root, python, WarmHost(environment(root / "home"), python))
    vectors = ["--embeddings", "release/clips.npy", "--ids", "release/clips.txt"]
    found.run("lmms-eval-tasks", "mine", "pairs", "release/candidates.csv", *vectors, "--out", "release/pairs.jsonl")
    found.run("lmms-eval-tasks", "prepare", "lamp_side", "--source", "release")
    for model, out in (("random_answer", "guessed"), ("constant_answer", "constant")):
        found.run(
            "lmms-eval", "--model", model, "--tasks", "lamp_side,lamp_side_blind,lamp_side_single_frame_last",
            "--output_path", f"runs/{out}", "--log_samples",
        )  # fmt: skip
    return found


def test_the_first_example_is_run_and_taken_by_every_command(installed: Installed) -> None:
    code = "import lmms_eval_tasks; print(lmms_eval_tasks.__file__)"
    command, env = [installed.python, "-c", code], environment(installed.root / "home")
    assert str(installed.root / "env") in subprocess.check_output(command, cwd=installed.root, env=env, text=True)
    scores = installed.scores("constant")["lamp_side"]
    # A constant answer is right half of the time, and never in pairs.
    names = ("pair_accuracy", "single_accuracy", "left_rate", "pairs_scored", "submission_rows")
    assert [scores[name] for name in names] == [0.0, 50.0, 100.0, 6, 12]
    assert (installed.root / "runs" / "constant" / "submissions" / "lamp_side.constant_answer.jsonl").is_file()
    ours = partial(installed.run, "lmms-eval-tasks")
    checked = ours("check", "lamp_side", "--stats")
    assert "Nothing here would stop a run." in checked and "vocabulary" in checked
    rules = [line.split() for line in ours("bias", "lamp_side").splitlines()]
    (always,) = [words for words in rules if words[:2] == ["always", "A"]]
    assert always[2:4] == ["100%", "50.0"] and always[-1] == "100%"
    runs = ("runs/guessed", "runs/constant")
    report = ours("report", *runs, "--html", "r.html")
    assert "lamp_side: what is left in its views" in report and "single_frame_last" in report
    assert "0.0 [0.0, 39.0]" in report and "lamp_side: compared with references" in report and "version 1-A" in report
    assert "Consistency between clips" in (installed.root / "r.html").read_text("utf-8")
    compared = ours("compare", *runs)
    assert "pair accuracy" in compared and "runs 1 and 2 share 12 items in 6 groups" in compared
    assert "12 of 12 items" in ours("submit", "lamp_side", "runs/guessed", "--out", "answers.jsonl")
    assert "valid" in ours("validate", "lamp_side", "answers.jsonl")
    assert "scores equal" in ours("rescore", "runs/guessed")
    (card,) = (installed.root / "runs" / "guessed").glob("*_run_card.json")
    card_of_task = json.loads(card.read_text("utf-8"))["task lamp_side"]
    assert card_of_task["benchmark"] == "lamp_side, split test" and card_of_task["data"] == "the official release"
    # A benchmark that cannot be imported is named, and the others work.
    assert (
        "The benchmark broken of the package broken-benchmark cannot be used (broken_benchmark/__init__.py, line 1: "
        "ImportError: it needs a package that is not there). The others work."
    ) in " ".join(ours("prepare", "lamp_side", "--source", "release").split())
    # A sample of it is known, though it looks for no mark.
    shutil.copytree(installed.root / "release", installed.root / "marked")
    (installed.root / "marked" / "SAMPLE.json").write_text("{}")
    prepare = ("prepare", "lamp_side", "--source", "marked", "--replace")
    assert "which sample data never replaces" in ours(*prepare, status=1)
    assert "data: SAMPLE DATA, made up" in ours(*prepare, home="another home")


def test_the_page_on_a_benchmark_of_ones_own_runs_from_top_to_bottom(installed: Installed, tmp_path: Path) -> None:
    env = environment(tmp_path / "home") | {"COLUMNS": "100"}
    runnable = [block for block in blocks(ROOT / "docs" / "own_benchmark.md") if block.example]
    assert len(runnable) == 7
    scripts = installed.python.parent
    with commands_on_path(installed.host, scripts) as commands:
        env["PATH"] = f"{commands}:{scripts}:{env['PATH']}"
        finished = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "".join(block.text for block in runnable)],
            cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
    assert finished.returncode == 0, finished.stdout
    filtered = [json.loads(line) for line in (tmp_path / "blind.jsonl").read_text("utf-8").splitlines()]
    removed = sum(group["removed"] for group in filtered)
    assert len(filtered) == 6 and 0 < removed < 6, "a guess is right on some pairs, and they go"
    (path,) = (tmp_path / "out" / "random").glob("*_results.json")
    assert json.loads(path.read_text("utf-8"))["results"]["lamp_side"]["pairs_scored,none"] == 6 - removed
    assert (tmp_path / "frames.jsonl").is_file() and (tmp_path / "report.html").is_file()
    assert "lamp_side: what is left in its views" in finished.stdout


def test_a_new_benchmark_needs_annotations_and_clips_alone(installed: Installed) -> None:
    ours = partial(installed.run, "lmms-eval-tasks", home="new home")
    unprepared = ours("check", NEW, status=1)
    assert "Run:  lmms-eval-tasks prepare ball_bounce --source DIR" in unprepared and "To try" not in unprepared
    source = installed.root / "balls"
    source.mkdir()
    (source / "videos").symlink_to(installed.root / "release" / "videos")
    header = "item_id,pair,clip,question,option_a,option_b,answer\n"
    rows = [
        f"{pair}{key},{pair},{pair}_{side}.mp4,Does it bounce?,It does.,It does not.,{key}\n"
        for key, side in (("A", "left"), ("B", "right"))
        for pair in "01"
    ]
    (source / "annotations.csv").write_text(header + "".join(rows[1:]), encoding="utf-8")
    refused = ours("prepare", NEW, "--source", "balls", status=1)
    assert "annotations.csv, row 3 (item_id 0B): Expected pair 0 to have 2 items, but got 1." in refused
    (source / "annotations.csv").write_text(header + "".join(rows), encoding="utf-8")
    assert "4 items in 2 groups, with answers" in ours("prepare", NEW, "--source", "balls")
    checked = ours("check", NEW, "--thorough", "--keep")
    assert "Tasks: ball_bounce\nNothing here would stop a run." in checked
    assert (installed.root / NEW / NEW / "version_digests.json").is_file()
    model = ("--model", "constant_answer", "--tasks", "ball_bounce,ball_bounce_blind")
    installed.run("lmms-eval", *model, "--output_path", "runs/balls", "--log_samples", home="new home")
    scores = installed.scores("balls")["ball_bounce"]
    assert [scores[name] for name in ("pair_accuracy", "single_accuracy", "pairs_scored")] == [0.0, 50.0, 2]


def test_the_second_example_is_short_and_imports_one_module() -> None:
    modules = sorted((ROOT / "examples" / "pendulum_plugin" / "pendulums").glob("*.py"))
    lines = [line for path in modules for line in path.read_text(encoding="utf-8").splitlines() if line]
    assert len(lines) < 250
    imports = {line for line in lines if re.match("(from|import) lmms_eval_tasks", line)}
    assert imports == {"from lmms_eval_tasks import api"}


def test_items_of_three_clips_whose_answers_are_numbers_are_taken_by_every_command(installed: Installed) -> None:
    ours, root = partial(installed.run, "lmms-eval-tasks", home="pendulum home"), installed.root
    ours("sample", "pendulums", "--out", "sample", "--prepare")
    for model, tasks in (
        ("pendulum_solver", "pendulums_slowest,pendulums_period,pendulums_period_shuffled"),
        ("random_answer", "pendulums_slowest,pendulums_period"),
    ):
        installed.run(
            "lmms-eval", "--model", model, "--tasks", tasks, "--output_path", f"runs/{model}", "--log_samples",
            home="pendulum home",
        )  # fmt: skip
    # The solver is right on all, and no longer where frames are shuffled.
    scores = installed.scores("pendulum_solver")
    period = scores["pendulums_period"]
    assert (period["close_enough"], period["submission_rows"], period["unparsed_rate"]) == (100, 6, 0)
    assert scores["pendulums_slowest"]["single_accuracy"] == 100 and period["seconds_off"] < 0.05
    assert scores["pendulums_period_shuffled"]["close_enough"] < 50
    guessed = installed.scores("random_answer")["pendulums_period"]
    assert guessed["unparsed_rate"] == 0 and guessed["seconds_off"] > period["seconds_off"]

    assert "Nothing here would stop a run." in ours("check", "pendulums", "--stats", "--decode")
    assert "6 items of 3 options in 6 groups" in ours("bias", "pendulums")
    runs = ("runs/pendulum_solver", "runs/random_answer")
    report = ours("report", *runs, "--html", "swings.html")
    assert "pendulums_period: what is left in its views" in report and "seconds off: in s" in report
    page = (root / "swings.html").read_text("utf-8")
    assert all(f'"{column}"' in page for column in ("clip", "clip_2", "clip_3"))
    assert "runs 1 and 2 share 6 items in 6 groups" in ours("compare", *runs, "--task", "pendulums_period")
    assert "scores equal" in ours("rescore", runs[0])

    submit = ("submit", "pendulums", runs[0], "--out", "seconds.json")
    assert "Expected the official release, but got sample data" in ours(*submit, status=1)
    assert "6 of 6 items, 0 without an answer" in ours(*submit, "--allow-unofficial")
    file = root / "seconds.json"
    assert file.read_bytes() == (root / runs[0] / "submissions" / "pendulums.pendulum_solver.json").read_bytes()
    assert "Pendulums, split test: 6 rows" in ours("validate", "pendulums", "seconds.json")
    file.write_text(file.read_text("utf-8").replace("t1_period", "t9_period"), encoding="utf-8")
    wrong = ours("validate", "pendulums", "seconds.json", status=1)
    assert "seconds: Expected items of split test, but got t9_period." in wrong
    assert "seconds: Expected a number for every item, but there is none for t1_period." in wrong

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
from typing import Any

import av
import pytest
from docs import ROOT, blocks
from host_run import environment
from warm_commands import commands_on_path
from warm_host import WarmHost

pytestmark = pytest.mark.host

EXAMPLES = ("benchmark_plugin", "pendulum_plugin", "vcrbench_plugin")
NEW = "ball_bounce"
"""The benchmark whose skeleton `lmms-eval-tasks new` writes."""
OURS = ("lmms_eval_tasks", "setup.cfg", "pyproject.toml", "README.md", "LICENSE")


@dataclass(frozen=True)
class Installed:
    """An environment that has our wheel, the examples, a new benchmark, and one that cannot be imported.

    Attributes:
        root: The folder in which it lies and in which commands run.
        python: Its interpreter.
        host: A process of it that has imported our package and lmms-eval.
    """

    root: Path
    python: Path
    host: WarmHost

    def run(self, *words: str, status: int = 0, home: str = "home", **variables: str) -> str:
        """What a command of the environment prints."""
        env = {**environment(self.root / home), "COLUMNS": "100", **variables}
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
    ask = [str(python), "-c", "import site; print(site.getsitepackages()[0])"]
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
    command, env = [str(installed.python), "-c", code], environment(installed.root / "home")
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
    assert len(runnable) == 8
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


VCRBENCH = ROOT / "examples" / "vcrbench_plugin" / "vcrbench"


def test_the_third_example_is_short_and_imports_the_api_alone() -> None:
    files = [path for path in VCRBENCH.parent.rglob("*") if path.suffix in (".py", ".yaml", ".txt", ".cfg", ".toml")]
    assert len([line for path in files for line in path.read_text(encoding="utf-8").splitlines() if line]) <= 350
    imports = [line for path in VCRBENCH.glob("*.py") for line in path.read_text(encoding="utf-8").splitlines()]
    named = {line.split()[1] for line in imports if re.match("(from|import) lmms_eval", line)}
    assert {name for name in named if name.split(".")[1:2] not in ([], ["api"])} == set()


def official_release(installed: Installed, folder: Path) -> list[dict[str, Any]]:
    """VCRBench's questions as its release has them, below a folder, with a clip of the sample for each; their official
    answers."""
    if "ORACLES" not in os.environ:
        pytest.skip("ORACLES names no folder of official files, beside which the official answers lie")
    file = Path(os.environ["ORACLES"]).parent / "evidence" / "vcrbench" / "response_1.json"
    answers: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    installed.run("lmms-eval-tasks", "sample", "vcrbench", "--out", "vcr sample", home="vcr sample home")
    clip, videos = installed.root / "vcr sample" / "vcrbench" / "videos" / "video_1.mp4", folder / "videos"
    videos.mkdir(parents=True)
    questions = [
        {
            "qid": answer["qid"],
            "goal": re.findall(r"complete the task: (.*?)\. \n", answer["question"])[0],
            "ground_truth": [clip - 1 for clip in answer["answer"]],
            "video_file": answer["video_file"],
            "unknown": None,
        }
        for answer in answers
    ]
    for answer in answers:
        os.link(clip, videos / answer["video_file"])
    (folder / "data.json").write_text(json.dumps(questions), encoding="utf-8")
    return answers


def replay(
    installed: Installed, name: str, responses: dict[str, str], *tasks: str
) -> tuple[dict[str, float], list[Any]]:
    """All scores of vcrbench in a run of saved responses, and the records of its items."""
    lines = (json.dumps({"id": item, "response": response}) for item, response in responses.items())
    (installed.root / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    installed.run(
        "lmms-eval", "--model", "replay", "--model_args", f"predictions={name}.jsonl", "--tasks", "vcrbench",
        "--output_path", f"runs/{name}", "--log_samples", home="vcr home",
    )  # fmt: skip
    (scores,) = (installed.root / "runs" / name).glob("*_scores.json")
    (part,) = json.loads(scores.read_text("utf-8"))["parts"]
    (log,) = (installed.root / "runs" / name).glob("*_samples_vcrbench.jsonl")
    records = [json.loads(line)["record"] for line in log.read_text("utf-8").splitlines()]
    return {score["metric"]: score["value"] for score in part["scores"]}, records


def test_the_official_scores_of_an_order_are_reproduced(installed: Installed) -> None:
    """Those of a guesser's answers to all questions of VCRBench, and of the same answers without their ends."""
    release = installed.root / "vcr release"
    answers = official_release(installed, release)
    ours = partial(installed.run, "lmms-eval-tasks", home="vcr home")
    assert "data: the official release" in ours("prepare", "vcrbench", "--source", "vcr release")
    given = {answer["qid"]: answer["pred"] for answer in answers}
    scores, _ = replay(installed, "guesser", given)
    file = Path(os.environ["ORACLES"]).parent / "evidence" / "vcrbench" / "response_1_result.json"
    official = json.loads(file.read_text(encoding="utf-8"))
    assert [official[name] for name in ("avg_accuracy", "avg_step_accuracy", "weighted_avg_accuracy")] == [
        7.95, 24.26, 7.98,
    ]  # fmt: skip
    for reader in ("", "_official"):
        assert round(scores[f"success_rate{reader}"], 2) == official["avg_accuracy"]
        assert round(scores[f"step_accuracy{reader}"], 2) == official["avg_step_accuracy"]
        assert round(scores[f"goal_mean{reader}"], 2) == official["weighted_avg_accuracy"]
        for goal, score in official["scores_per_class"].items():
            assert round(scores[f"success_rate{reader}_{goal.replace(' ', '_')}"], 2) == score, goal
        for count, score in official["scores_per_step"].items():
            assert round(scores[f"success_rate{reader}_{count}_steps"], 2) == score, count

    # The official script gives a 0 for each step of a question whose order has another length: of the questions with 3
    # steps all keep theirs, and the others lose a clip.
    cut = {qid: order if order.count(",") == 2 else order.rpartition(",")[0] for qid, order in given.items()}
    scores, _ = replay(installed, "cut", cut)
    kept = [answer for answer in answers if len(answer["answer"]) == 3]
    said = [[int(clip.removeprefix("Clip ")) for clip in answer["pred"].split(", ")] for answer in kept]
    steps = [
        one == other
        for answer, order in zip(kept, said, strict=True)
        for one, other in zip(answer["answer"], order, strict=True)
    ]
    for reader in ("", "_official"):
        assert scores[f"step_accuracy{reader}"] == pytest.approx(
            100 * sum(steps) / sum(len(a["answer"]) for a in answers)
        )
        whole = sum(answer["answer"] == order for answer, order in zip(kept, said, strict=True))
        assert scores[f"success_rate{reader}"] == pytest.approx(100 * whole / len(answers))
    assert scores["unparsed_rate"] == pytest.approx(100 * (1 - len(kept) / len(answers)))

    # Its prompt from a checkout is asked with, though it has fewer fields than ours; its text is that of the answers.
    script = installed.root / "checkout" / "data" / "dataset.py"
    script.parent.mkdir(parents=True)
    goal, text = "Make Banana Ice Cream", answers[0]["question"]
    script.write_text(f"import torch\n\nPROMPT='''{text.replace(goal, '{goal}')}\n'''\n", encoding="utf-8")
    assert "as official: the official text" in ours("prompts", "import", "vcrbench", "--from", "checkout")
    shown = installed.run(
        "lmms-eval", "--model", "constant_answer", "--tasks", "vcrbench", "--output_path", "runs/official",
        "--log_samples", "--limit", "1", home="vcr home", LMMS_EVAL_TASKS_PROMPT="official",
    )  # fmt: skip
    (log,) = (installed.root / "runs" / "official").glob("*_samples_vcrbench.jsonl")
    line = json.loads(log.read_text("utf-8"))
    assert line["input"] == text and line["record"]["fields"]["prompt"].startswith("official:"), shown


SAID_ORDERS = (
    # response, how many clips, what we read, what the official script reads
    ("Clip 2, Clip 1, Clip 3", 3, "2, 1, 3", "2, 1, 3"),
    ("**Correct order:** Clip 2, Clip 1, Clip 3", 3, "2, 1, 3", "2, 1, 3"),
    ('{"order": [3, 1, 2]}', 3, "3, 1, 2", "3, 1, 2"),
    (f"{'9' * 5000}, 1, 2, 3", 3, "1, 2, 3", "1, 2, 3"),
    # It reads commas alone, and the first that it finds.
    ("Order: 2 -> 1 -> 3", 3, "2, 1, 3", None),
    ("The right order is as follows:\n1. Clip 2 (pour)\n2. Clip 1\n3. Clip 3", 3, "2, 1, 3", None),
    ("It is not 1, 2, 3.\nOrder: 3, 2, 1\nThis order is right.", 3, "3, 2, 1", "1, 2, 3"),
    ("<think>Order:\n1, 2, 3\n</think>\nOrder: 2, 3, 1", 3, "2, 3, 1", "1, 2, 3"),
    ("Clip 1 and then Clip 2", 3, None, None),
    ("Order: 1, 1, 2", 3, None, None),
    ("Order: 1, 2, 3", 4, None, None),
    ("", 3, None, None),
)


def test_orders_are_read_by_the_official_rule_and_by_ours(installed: Installed) -> None:
    code = (
        "import json, sys; from lmms_eval_tasks.api import Reply\n"
        "from vcrbench.reader import read_official, read_order\n"
        "said = [(text, count) for text, count, *_ in json.load(sys.stdin)]\n"
        "print(json.dumps([[read_order(Reply(text), count), read_official(text, count)] for text, count in said]))\n"
        "cut, order = Reply('Clip 1 shows a cup, Clip 2 a pan, Clip 3'), Reply('Order: 2, 1, 3')\n"
        "print(read_order(cut, 3), read_order(cut.used_all(), 3), read_order(order.used_all(), 3))"
    )
    printed = subprocess.run(
        [installed.python, "-c", code], input=json.dumps(SAID_ORDERS), capture_output=True, text=True, check=True,
        cwd=installed.root, env=environment(installed.root / "home"),
    ).stdout.splitlines()  # fmt: skip
    assert json.loads(printed[0]) == [[ours, official] for *_, ours, official in SAID_ORDERS]
    assert printed[1] == "1, 2, 3 None 2, 1, 3"


def clips_by_level(video: Path) -> list[int]:
    """The clips of a video of the sample by how high the bar is at their ends, from 0."""
    with av.open(str(video)) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    heights = [int((frame[:, 32, 2] > 150).sum()) for frame in frames[5::6]]
    return sorted(range(len(heights)), key=heights.__getitem__)


@pytest.mark.nightly
def test_items_whose_answer_is_an_order_are_taken_by_every_command(installed: Installed) -> None:
    ours, root = partial(installed.run, "lmms-eval-tasks", home="order home"), installed.root
    ours("sample", "vcrbench", "--out", "orders", "--prepare")
    questions = json.loads((root / "orders" / "vcrbench" / "data.json").read_text("utf-8"))
    truths = [question["ground_truth"] for question in questions]
    assert [len(truth) for truth in truths] == [3, 4, 5, 6, 7] * 2
    assert truths == [clips_by_level(root / "orders" / "vcrbench" / "videos" / one["video_file"]) for one in questions]
    checked = ours("check", "vcrbench", "--thorough", "--stats", "--decode")
    assert "Nothing here would stop a run." in checked and "vcrbench: 10 example rows" in checked
    # Of a random order of n clips one in n! is right: its chances, by hand of all questions with 6 and 7 steps.
    chances = " ".join(checked.split())
    assert all(f"success_rate_{n}_steps {chance:.2f}%" in chances for n, chance in ((6, 100 / 720), (7, 100 / 5040)))
    assert f"step_accuracy {100 * 365 / (3 * 126 + 4 * 105 + 5 * 80 + 6 * 30 + 7 * 24):.2f}%" in chances

    saved = {
        question["qid"]: f"Order: {', '.join(str(clip + 1) for clip in truth)}"
        for question, truth in zip(questions, truths, strict=True)
    }
    lines = (json.dumps({"id": item, "response": response}) for item, response in saved.items())
    (root / "right.jsonl").write_text("\n".join(lines), encoding="utf-8")
    views = "vcrbench,vcrbench_blind,vcrbench_single_frame,vcrbench_shuffled"
    for model, tasks, out in (("replay", "vcrbench", "right"), ("random_answer", views, "ordered")):
        arguments = ("--model_args", "predictions=right.jsonl") if model == "replay" else ()
        installed.run(
            "lmms-eval", "--model", model, *arguments, "--tasks", tasks, "--output_path", f"runs/{out}",
            "--log_samples", home="order home",
        )  # fmt: skip
    right = installed.scores("right")["vcrbench"]
    assert [right[name] for name in ("success_rate", "step_accuracy", "goal_mean", "success_rate_official")] == [
        100
    ] * 4
    guessed = installed.scores("ordered")
    assert set(guessed) == set(views.split(",")) and all(one["unparsed_rate"] == 0 for one in guessed.values())
    assert guessed["vcrbench"]["step_accuracy"] < 60
    report = ours("report", "runs/right", "runs/ordered")
    assert "vcrbench: compared with references" in report and "vcrbench: what is left in its views" in report
    assert "scores equal" in ours("rescore", "runs/right")
    assert "runs 1 and 2 share 10 items" in ours("compare", "runs/right", "runs/ordered", "--task", "vcrbench")

    questions[0]["ground_truth"], questions[1]["goal"] = [1, 2, 3], None
    (root / "orders" / "vcrbench" / "data.json").write_text(json.dumps(questions), encoding="utf-8")
    refused = ours("prepare", "vcrbench", "--source", "orders/vcrbench", status=1)
    assert (
        "data.json, entry 1 (qid 1): Expected ground_truth to be the numbers of 3 to 7 clips from 0, each once"
        in refused
    )
    assert "data.json, entry 2 (qid 2): Expected a goal, but got none." in refused

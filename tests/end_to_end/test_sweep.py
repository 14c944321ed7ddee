"""A sweep of the tiny Qwen2.5-VL over numbers of frames, killed once: what it goes on with, and its curve."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from host_run import SCRIPTS, SampleWorld, environment, warm_host
from typer.testing import CliRunner
from warm_commands import commands_on_path

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.runs.run_files import card_path, results_files

pytestmark = pytest.mark.host

FRAMES = (2, 4, 8)
TASK = "causalvqa_debug_paired"


def wait_until(holds: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 240
    while not holds():
        assert process.poll() is None and time.monotonic() < until, process.communicate()[0]
        time.sleep(0.1)


@pytest.mark.slow  # the tiny model answers eight questions with three numbers of frames
@pytest.mark.nightly
def test_a_killed_sweep_goes_on_to_the_curve(
    sample_world: SampleWorld, tiny_qwen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    arguments = f"pretrained={tiny_qwen},device_map=cpu,attn_implementation=eager,min_pixels=3136,max_pixels=25088"
    words = [
        "sweep", "--set", f"max_num_frames={','.join(map(str, FRAMES))}", "--", "lmms-eval", "--model", "qwen2_5_vl",
        "--model_args", arguments, "--device", "cpu", "--gen_kwargs", "max_new_tokens=8", "--tasks", TASK,
        "--limit", "8", "--output_path", str(out), "--log_samples",
    ]  # fmt: skip
    variables = environment(sample_world.home)
    with commands_on_path(warm_host(), SCRIPTS) as commands:
        variables["PATH"] = f"{commands}:{variables['PATH']}"
        killed = subprocess.Popen(
            [SCRIPTS / "lmms-eval-tasks", *words], env=variables, cwd=tmp_path, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        state = out / "sweep" / "state"
        wait_until(lambda: (state / "max_num_frames-2.done.json").is_file(), killed)
        wait_until(lambda: (state / "max_num_frames-4.job.json").is_file(), killed)
        killed.kill()
        killed.wait()
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        result = CliRunner().invoke(app, [*words[:1], "--format", "json", *words[1:]])
    assert result.exit_code == 0, result.output
    # What the killed launcher had started may have ended by itself meanwhile.
    assert re.search(r"[12] of 3 parts are done already\.", result.output)
    runs = [results_files(out / f"max_num_frames-{frames}") for frames in FRAMES]
    assert [len(files) for files in runs] == [1, 1, 1]
    cards = [json.loads(card_path(path).read_text("utf-8")) for (path,) in runs]
    assert [card["frames"]["frames"] for card in cards] == list(FRAMES)
    (table,) = json.loads(result.stdout)["tables"]
    rows = [row for row in table["rows"] if row[0] == "pair accuracy"]
    assert [row[1] for row in rows] == list(map(str, FRAMES))
    page = tmp_path / "sweep.html"
    folders = [str(out / f"max_num_frames-{frames}") for frames in FRAMES]
    shown = CliRunner().invoke(app, ["report", "--series", "max_num_frames", *folders, "--html", str(page)])
    assert shown.exit_code == 0, shown.output
    figure = page.read_text("utf-8").partition("Pair accuracy against max_num_frames")[2].partition("</figure>")[0]
    assert figure.count("<title>max_num_frames") == 2 * len(FRAMES)  # the scores, and their differences to the best
    assert "the smallest that is not worse is max_num_frames" in page.read_text("utf-8")

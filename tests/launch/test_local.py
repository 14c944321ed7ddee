"""Launches on this machine: what fails, what is found again, and what Ctrl-C ends."""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from launch_processes import answered, commands, launch, launch_items, processes_of, wait_for

ITEMS = 12

pytestmark = pytest.mark.slow


def read_until(launcher: Any, text: str) -> str:
    """What a launch prints until a line with a text."""
    read = ""
    while text not in read:
        line = launcher.stdout.readline()
        assert line, read
        read += line
    return read


def test_a_part_that_fails_is_tried_again_and_named_while_others_go_on(tmp_path: Path) -> None:
    launcher = launch_items(tmp_path / "out", "--fail", "1", "--silent", "2", CUDA_VISIBLE_DEVICES="4,GPU-a")
    output, _ = launcher.communicate(timeout=240)
    parts = tmp_path / "out/parts"
    reasons = {1: "exit status 3", 2: "it ended with exit status 0, but wrote no results file"}
    assert launcher.returncode == 1
    shown = "Parts: 1 done, 0 running, 0 waiting, 2 failed\n"
    last, printed = output.partition(shown)[2], ""
    for number, reason in reasons.items():
        log = parts / f"{number}-of-3.log"
        assert f"Part {number}-of-3 failed ({reason}), try 1 of 2. Log: {log}\n" in output, output
        printed += log.read_text(encoding="utf-8")
        lines = printed.splitlines()[-2:]
        assert lines[1] == "Something is wrong with this part."
        assert f"Part {number}-of-3 failed ({reason}). Log: {log}\n    {lines[0]}\n    {lines[1]}\n" in last
    printed += (parts / "3-of-3.log").read_text(encoding="utf-8")
    assert printed.count("===") == 5
    assert printed.count(" on 4\n") + printed.count(" on GPU-a\n") == 5 and " on 4\n" in printed


@pytest.mark.nightly
def test_a_new_launch_waits_for_what_a_killed_one_has_left_and_gives_none_of_its_gpus_away(tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ("--items", str(ITEMS), "--wait")
    first = launch_items(out, *options, CUDA_VISIBLE_DEVICES="0,1")
    wait_for(lambda: answered(out).total() == 2)
    first.kill()
    first.wait()  # its jobs still have its output open
    second = launch_items(out, *options, CUDA_VISIBLE_DEVICES="0,1")
    output = read_until(second, "Part 2-of-3 is worked on")
    (out / "go").touch()
    output += second.communicate(timeout=240)[0]
    assert second.returncode == 0, output
    assert output.count("is worked on by a job of an earlier launch, and is waited for.") == 2
    assert "Parts: 0 done, 2 running, 1 waiting, 0 failed" in output
    assert answered(out) == Counter(range(1, ITEMS + 1))
    logs = [path.read_text(encoding="utf-8") for path in (out / "parts").glob("*.log")]
    assert len(logs) == 3 and all(log.count("===") == 1 for log in logs)


@pytest.mark.nightly
def test_ctrl_c_ends_the_processes_of_all_parts(tmp_path: Path) -> None:
    out = tmp_path / "out"
    launcher = launch_items(out, "--items", str(ITEMS), "--wait", "--child")
    wait_for(lambda: answered(out).total() == 2)
    assert len(commands(out)) == 4
    launcher.send_signal(signal.SIGINT)
    output, _ = launcher.communicate(timeout=120)
    assert launcher.returncode == 1
    assert output.endswith("Interrupted: 0 of 3 parts are done. Repeat the command to resume.\n"), output
    assert not any(processes_of(out / "parts").values())
    (out / "go").touch()
    output, _ = launch_items(out, "--items", str(ITEMS), "--wait", "--child").communicate(timeout=240)
    assert answered(out) == Counter(range(1, ITEMS + 1)), output
    results = [json.loads(path.read_text(encoding="utf-8")) for path in out.rglob("*_results.json")]
    assert sorted(item for result in results for item in result["items"]) == list(range(1, ITEMS + 1))


PRINTS = """
import os, sys
token, key = os.environ["HF_TOKEN"], sys.argv[-1].partition("api_key=")[2]
print(f"Tracker: {{'token': '{token}'}}", "first", sep="\\r", end="\\r", flush=True)
sys.exit(f"Wrong key: {key} ({sys.argv[-3]})")
"""


def test_no_key_is_in_a_file_or_on_the_screen_after_a_failure(tmp_path: Path) -> None:
    token, key, other = "hf-made-up-token", "made-up-key-1", "made,up-key-2"
    words = ["-c", PRINTS, "--output_path", str(tmp_path / "out"), "--api_key", other, "--model_args", f"api_key={key}"]
    output, _ = launch(1, *words, HF_TOKEN=token).communicate(timeout=240)
    assert "    Wrong key: [hidden] ([hidden])\n" in output
    files = [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert b"Tracker: {'token': [hidden]}\rfirst\r" in b"".join(files)
    assert any(b"api_key=[hidden]" in content and b"PartJob" in content for content in files)
    for secret in (token, key, other):
        assert secret not in output
        assert not any(secret.encode() in content for content in files)

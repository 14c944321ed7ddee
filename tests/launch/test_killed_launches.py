"""Launches of which anything is killed at any time: nothing is done twice, and all is there in the end."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from docs import ROOT


@pytest.mark.slow
def test_whatever_is_killed_every_item_is_answered_once() -> None:
    script = [sys.executable, str(ROOT / "benchmarks/killed_launches.py"), "--command", "numbered_items"]
    finished = subprocess.run([*script, "--kills", "4"], capture_output=True, text=True)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    last = finished.stdout.splitlines()[-1]
    expected = r"numbered_items: 4 kills \(.*\) in .*: every byte as without them, no answer kept twice .*"
    assert re.fullmatch(expected, last), last

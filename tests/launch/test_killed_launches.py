"""Launches of which anything is killed at any time: nothing is done twice, and all is there in the end."""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter
from pathlib import Path

import pytest
from docs import ROOT
from killed_launches import kill_at_random, processes_of

SUPPORT = ROOT / "tests" / "support"
ITEMS, PARTS = 24, 3


def words(out: Path, *options: str, jobs: int = 2, slurm: str = "") -> list[str]:
    """A launch of the command that numbers items."""
    command = [sys.executable, str(SUPPORT / "numbered_items.py"), "--output_path", str(out), *options]
    return [sys.executable, str(SUPPORT / "launch_parts.py"), str(PARTS), str(jobs), slurm, *command]


def answered(out: Path) -> Counter[int]:
    return Counter(int(item) for file in out.rglob("answers") for item in file.read_text(encoding="utf-8").split())


@pytest.mark.slow
@pytest.mark.parametrize(("kills", "child"), [(int(os.environ.get("KILLS", "4")), True)])
def test_whatever_is_killed_every_item_is_answered_once(kills: int, child: bool, tmp_path: Path) -> None:
    draw = random.Random(kills)
    killed: Counter[str] = Counter()
    while (missing := kills - killed.total()) > 0:
        out = tmp_path / str(killed.total())
        options = ["--items", str(ITEMS), "--pause", "0.4", *(["--child"] if child else [])]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        killed += kill_at_random(words(out, *options), environment, out, missing, 4.0, draw)
        assert answered(out) == Counter(range(1, ITEMS + 1)), out.with_suffix(".log").read_text(encoding="utf-8")
        done = [json.loads(path.read_text()) for path in sorted(out.rglob("*.done.json"))]
        assert len(done) == PARTS and not any(processes_of(out / "parts").values())
    print(dict(killed))

"""What a set can be built from, beside the sample; the pages on building are run in tests/end_to_end."""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from stub_server import PLAYERS

from lmms_eval_tasks.construct.cli.build import BUILDERS


def test_whatever_can_be_built_can_be_tried(sample: Path) -> None:
    folders = {path.parent.parent.name: path.parent for path in sample.glob("*/build/build.yaml")}
    assert set(folders) == set(PLAYERS) == set(BUILDERS.found)
    for name, folder in folders.items():
        assert json.loads((folder / "truth.json").read_text(encoding="utf-8"))["benchmark"] == name
        # Without an address, so that a build finds the stand-in where it listens by itself.
        assert "url" not in str(yaml.safe_load((folder / "build.yaml").read_text(encoding="utf-8")))

"""YoCausal's sample release, written and prepared in a folder of a test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.core.work import no_progress
from lmms_eval_tasks.yocausal.sample import SAMPLE


def write_release(root: Path, pairs: int = 2) -> Path:
    """The sample release with some pairs per subset; marked as sample data."""
    SAMPLE.write(root, 0, {"pairs": pairs}, no_progress)
    (root / "SAMPLE.json").write_text("{}", encoding="utf-8")
    return root


def read_metadata(root: Path, subset: str) -> list[dict[str, Any]]:
    """Entries of a subset's metadata file."""
    entries: list[dict[str, Any]] = json.loads((root / "subset" / subset / "dataset_metadata.json").read_text("utf-8"))
    return entries


def write_metadata(root: Path, subset: str, entries: object) -> None:
    """Replace a subset's metadata file."""
    file = root / "subset" / subset / "dataset_metadata.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(entries), encoding="utf-8")

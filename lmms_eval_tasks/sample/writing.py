"""Parts that all writers of the sample share: clips, tables, and folders from which a set can be built."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_eval_tasks.sample.drawn_clips import DrawnScene, write_clip
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.core.work import Progress

ROLES = """\
# Whoever listens at $LLM_JUDGE_URL, or at http://localhost:8000/v1, plays all roles.
roles:
  default: {model: stub, provider: local}
"""


def write_clips(scenes: Mapping[Path, DrawnScene], progress: Progress) -> None:
    for done, (path, scene) in enumerate(scenes.items(), 1):
        write_clip(path, scene.film())
        progress("filming clips", done, len(scenes))


def write_csv(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a table; what rows have beyond its columns is left out."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.write_text(as_lines(rows), encoding="utf-8")


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def write_build(folder: Path, benchmark: str, config: str, truth: Mapping[str, Any]) -> None:
    """Write the configuration of a build, and the truth by which a stand-in for models can answer."""
    write_json(folder / "truth.json", {"benchmark": benchmark, **truth})
    (folder / "build.yaml").write_text(config, encoding="utf-8")

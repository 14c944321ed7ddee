"""CounterVQA's `build` with keys of its configuration as arguments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmms_eval_tasks.construct.countervqa import build as build_command
from lmms_eval_tasks.construct.engine.attrition import BuiltSet


def build(
    out: Path,
    annotations: Sequence[Path] = (),
    links: Path | None = None,
    takes: Path | None = None,
    clips: Path | None = None,
    config: Path | None = None,
    dry_run: bool = False,
    replace: bool = False,
    **keys: Any,
) -> BuiltSet:
    """Build a set by a file, in which keys take the place of those of `config`."""
    values = {} if config is None else json.loads(config.read_text(encoding="utf-8"))
    given = {"annotations": annotations, "links": links, "takes": takes, "clips": clips, **keys}
    values |= {key: value for key, value in given.items() if value or isinstance(value, int | float)}
    path = (out.parent if config is None else config.parent) / f"{out.name}_config.yaml"
    path.write_text(json.dumps(values, default=str), encoding="utf-8")
    return build_command(config=path, out=out, dry_run=dry_run, replace=replace)

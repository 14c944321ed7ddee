"""What tests compare with: outputs of the official evaluators, and the measurements' plain scorers."""

from __future__ import annotations

import importlib
import json
import os
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from docs import ROOT


def oracle_path(*names: str) -> Path:
    """A file in the folder that ORACLES names; without one, the test or module that asks is skipped."""
    if not os.environ.get("ORACLES"):
        pytest.skip(
            f"ORACLES is not set: {'/'.join(names)}, of the official evaluators, is not in the repository",
            allow_module_level=True,
        )
    return Path(os.environ["ORACLES"]).joinpath(*names)


def read_oracle(*names: str) -> Any:
    """A JSON file in the folder that ORACLES names."""
    return json.loads(oracle_path(*names).read_text(encoding="utf-8"))


def unit_oracles() -> dict[str, Any]:
    """The official CaST-Bench evaluator's functions: each with its inputs and outputs."""
    found: dict[str, Any] = read_oracle("cast_bench", "expected.json")["unit_oracles"]
    return found


@cache
def measurement(name: str) -> ModuleType:
    """A module of the folder `benchmarks`, which is no package."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.syspath_prepend(ROOT / "benchmarks")
        return importlib.import_module(name)


def evidence_path(*names: str) -> Path:
    """A file of public results or clips, in the folder `evidence` beside that of ORACLES; skips as `oracle_path`."""
    return oracle_path("..", "evidence", *names)

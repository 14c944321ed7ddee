"""The schema of Every Eval Ever, from its own wheel: its package needs a newer Python and another huggingface_hub."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

WHEEL = "every_eval_ever-0.3.0-py3-none-any.whl"
KEPT = Path(tempfile.gettempdir()) / "lmms-eval-tasks-tests"
"""Where the wheel is kept for the next run of the tests."""


@cache
def find_wheel() -> Path:
    """The wheel, fetched once; a test that needs it is skipped where it cannot be had."""
    path = KEPT / WHEEL
    if not path.is_file():
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        fetch += ["--python-version", "3.12", "--only-binary=:all:", "every-eval-ever==0.3.0", "--dest", str(KEPT)]
        fetched = subprocess.run([*fetch, "--retries", "1", "--timeout", "20"], capture_output=True, text=True)
        if fetched.returncode or not path.is_file():
            pytest.skip(f"needs the wheel of every-eval-ever 0.3.0, which pip cannot get here: {fetched.stderr[-300:]}")
    return path


def read_schema() -> dict[str, Any]:
    """The schema of a file of results."""
    with zipfile.ZipFile(find_wheel()) as wheel:
        schema: dict[str, Any] = json.loads(wheel.read("every_eval_ever/schemas/eval.schema.json"))
        return schema

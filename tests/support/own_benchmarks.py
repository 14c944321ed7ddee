"""Benchmarks of this package; others that are installed are known to the registry too."""

from __future__ import annotations

from pathlib import Path

import lmms_eval_tasks
from lmms_eval_tasks.registry import registry

PACKAGE = Path(lmms_eval_tasks.__file__).parent
OWN = [name for name, benchmark in registry().benchmarks.items() if PACKAGE in benchmark.folder.parents]

"""The example package names what its code imports, so that `pip install` of a copy is enough."""

from __future__ import annotations

import ast
import re
import sys
from configparser import ConfigParser
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "model_plugin"


def imported(path: Path) -> set[str]:
    """Top-level names of the modules that a file imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


def test_what_the_example_imports_is_required_with_a_lower_bound() -> None:
    modules = set().union(*(imported(path) for path in EXAMPLE.rglob("*.py")))
    modules -= {*sys.stdlib_module_names, "brightness_model"}
    setup = ConfigParser()
    setup.read(EXAMPLE / "setup.cfg", encoding="utf-8")
    required = dict(line.split(">=") for line in setup["options"]["install_requires"].split())
    assert {name.replace("-", "_") for name in required} == modules
    assert all(re.fullmatch(r"\d+(\.\d+)+", bound) for bound in required.values())

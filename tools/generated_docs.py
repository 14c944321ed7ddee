"""Write what of the documentation is made from something else; a test fails where a file is not what this gives.

`make docs-files` runs it: docs/scores.schema.json, the JSON Schema of the file of scores, from its model,
and docs/python.ipynb from docs/python.md.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lmms_eval_tasks.runs.scores import scores_schema

DOCS = Path(__file__).parents[1] / "docs"
_BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def write_schema() -> str:
    """The JSON Schema of the file of scores."""
    return json.dumps(scores_schema(), indent=2) + "\n"


def write_notebook() -> str:
    """The page "Python" as a notebook: each block of Python is a cell of code, what stands between them one of text."""
    cells: list[dict[str, Any]] = []
    for number, text in enumerate(_BLOCK.split((DOCS / "python.md").read_text(encoding="utf-8"))):
        kind = "code" if number % 2 else "markdown"
        if not (text := text.strip()):
            continue
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{len(cells)}", "metadata": {}}
        cell |= {"execution_count": None, "outputs": []} if kind == "code" else {}
        cells.append({**cell, "source": text.splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    notebook = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


FILES: Mapping[str, Callable[[], str]] = {
    "scores.schema.json": write_schema,
    "python.ipynb": write_notebook,
}
"""What is written, by its name in docs."""


def main() -> None:
    """Write the files."""
    for name, write in FILES.items():
        (DOCS / name).write_text(write(), encoding="utf-8")
        sys.stdout.write(f"docs/{name} is written.\n")


if __name__ == "__main__":
    main()

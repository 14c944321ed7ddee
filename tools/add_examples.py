"""Make examples of the version gate from answers that were recorded for the reader's tests and are no examples yet.

`make version-examples` runs it. The examples that are there stay as they are: only what stays can be compared.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from version_gate import EXAMPLES

from lmms_eval_tasks.testing.examples import read_file

RECORDED = EXAMPLES.parent / "utils" / "answers" / "cases.json"
NAME = "answers"


def add_answers(content: dict[str, Any], recorded: dict[str, Any]) -> int:
    """Add recorded answers to the content of a file of examples, in new batches; how many responses were added."""
    known = {(response, change) for _, response, letters in content["answers"] for change in letters}
    batches = {name for name, *_ in content["answers"]}
    added = []
    for case in recorded["cases"]:
        if letters := {name: letter for name, letter in case["expect"].items() if (case["text"], name) not in known}:
            later = (f"{case['category']} {number}" for number in range(2, len(batches) + 3))
            name = next(name for name in (case["category"], *later) if name not in batches)
            added.append([name, case["text"], letters])
    content["answers"] += added
    content["row changes"] |= {name: {"options": options} for name, options in recorded["contexts"].items()}
    return len(added)


def write_lines(value: Any, depth: int = 2, indent: str = "") -> str:
    """JSON text with each entry on a line of its own down to a depth."""
    if depth == 0 or not value or not isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    entries = [
        f"{json.dumps(entry, ensure_ascii=False)}: {write_lines(value[entry], depth - 1, f'{indent} ')}"
        if isinstance(value, dict)
        else write_lines(entry, depth - 1, f"{indent} ")
        for entry in value
    ]
    lines = ",\n".join(f"{indent} {entry}" for entry in entries)
    return f"{{\n{lines}\n{indent}}}" if isinstance(value, dict) else f"[\n{lines}\n{indent}]"


def main() -> None:
    """Add what is missing to the file, and say how much."""
    content = read_file(EXAMPLES / f"{NAME}.json")
    number = add_answers(content, json.loads(RECORDED.read_text(encoding="utf-8")))
    (EXAMPLES / f"{NAME}.json").write_text(f"{write_lines(content)}\n", encoding="utf-8")
    sys.stdout.write(f"{NAME}: {number} recorded answers added to the examples\n")


if __name__ == "__main__":
    main()

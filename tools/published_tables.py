"""A benchmark's published figures as tables, from its `published.json`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

COLUMNS = ("split", "category", "difficulty", "level", "task", "view", "frame", "setting", "stage", "prompt")
"""What parts a table of one source and metric into columns."""
Record = Mapping[str, Any]


def published_tables(folder: Path) -> str:
    """A section with a table for each source and metric, of what is printed there; a figure without one is a dash.

    Args:
        folder: The benchmark's.
    """
    records = json.loads((folder / "published.json").read_text(encoding="utf-8"))["records"]
    tables: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        if record.get("derived"):
            continue
        tables.setdefault((record["source"], record["metric"], record["unit"]), []).append(record)
    lines = ["", "## Published figures", "", "As the sources print them; a report shows those that are comparable."]
    for title, rows in tables.items():
        lines += ["", f"**{title[0]}**: {title[1]}, {title[2]}", "", *_table(rows)]
    return "\n".join(lines) + "\n"


def _table(records: Sequence[Record]) -> Iterator[str]:
    parts = [name for name in COLUMNS if len({str(record.get(name)) for record in records}) > 1]
    cells: dict[str, dict[str, str]] = {}
    for record in records:
        column = ", ".join(str(record[name]) for name in parts if record.get(name) is not None) or "value"
        cells.setdefault(record["model"], {}).setdefault(column, _number(record["value"]))
    columns = list(dict.fromkeys(column for row in cells.values() for column in row))
    yield _row("model", columns)
    yield _row("---", ["---"] * len(columns))
    for model, row in cells.items():
        yield _row(model, [row.get(column, "–") for column in columns])


def _number(value: Any) -> str:
    return "–" if value is None else f"{value:,}" if isinstance(value, int | float) else str(value)


def _row(first: str, cells: Sequence[str]) -> str:
    return f"| {' | '.join(text.replace('_', ' ') for text in (first, *cells))} |"

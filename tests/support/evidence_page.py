"""The tables of docs/evidence.md, whose numbers tests compute."""

from __future__ import annotations

from docs import ROOT


def table_below(heading: str) -> dict[str, dict[str, str]]:
    """The first table below a heading of the page: its rows by their first cell, each by the names of the columns."""
    page = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    lines = page.split(f"\n## {heading}\n", 1)[1].splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("|"))
    rows: list[list[str]] = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    names, _, *rest = rows
    return {cells[0]: dict(zip(names[1:], cells[1:], strict=True)) for cells in rest}

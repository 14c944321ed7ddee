"""Tables on terminals of several widths."""

from __future__ import annotations

import io

import pytest
from expected import Expected
from rich.console import Console

from lmms_eval_tasks.utils.core.table import FittingTable, Number

NAMES = ("qwen2_5_vl Qwen2.5-VL-72B-Instruct", "internvl3 InternVL3-78B", "replay")
HEADINGS = ("model", "pair accuracy", "single accuracy", "official pair accuracy", "unparsed", "unscored", "pairs")


def show(table: FittingTable, width: int) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(table)
    lines = [line.rstrip() for line in console.export_text().splitlines()]
    assert max(map(len, lines)) <= width
    return "\n".join(lines)


@pytest.mark.parametrize("width", [40, 80, 100, 160])
def test_a_table_that_is_too_wide_folds_and_intervals_last(width: int, expected: Expected) -> None:
    long = "org/" + "long-" * 30 + "end"
    tables = [FittingTable("a title", HEADINGS) for _ in range(3)]
    for table, names in zip(tables, (NAMES, [long], []), strict=True):
        for name in names:
            table.add_row(name, Number(50.0, 40.1, 60.2), Number(70.1, 65.0, 75.0), "49.0", "0.0", "0.0", "1,000")
    settings = FittingTable("settings", ("field", "value"), numbers=False, padding=1)
    settings.add_row("text", "word " * 40)
    expected("\n".join(show(table, width) for table in (*tables, settings)))

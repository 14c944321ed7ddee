"""Tables on terminals of several widths."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from lmms_eval_tasks.utils.core.table import FittingTable, Number

NAMES = ("qwen2_5_vl Qwen2.5-VL-72B-Instruct", "internvl3 InternVL3-78B", "replay")
HEADINGS = ("model", "pair accuracy", "single accuracy", "official pair accuracy", "unparsed", "unscored", "pairs")
VALUES = ("50.0 [40.1, 60.2]", "70.1 [65.0, 75.0]", "49.0", "0.0", "0.0", "1,000")


def show(table: FittingTable, width: int) -> list[str]:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(table)
    return console.export_text().splitlines()


def scores(*names: str) -> FittingTable:
    table = FittingTable("a title", HEADINGS)
    for name in names:
        table.add_row(name, Number(50.0, 40.1, 60.2), Number(70.1, 65.0, 75.0), *VALUES[2:])
    return table


@pytest.mark.parametrize("width", [80, 100, 160])
def test_a_table_that_is_too_wide_folds(width: int) -> None:
    lines = show(scores(*NAMES), width)
    assert max(map(len, lines)) <= width
    # All columns stand beside each other, and an interval is folded only where nothing else helps.
    assert sum("─" in line for line in lines) == 1
    text = "\n".join(lines)
    whole = VALUES[:2] if width == 160 else [end for value in VALUES[:2] for end in value.split(" ", 1)]
    for value in (*(whole if width > 80 else ()), "50.0", *VALUES[2:3], VALUES[5]):
        assert text.count(value) == len(NAMES)
    for word in HEADINGS[3].split():
        assert word in text


def test_words_fold_where_nothing_else_helps() -> None:
    lines = show(scores(*NAMES), 40)
    assert max(map(len, lines)) <= 40 and sum("─" in line for line in lines) == 1


def test_one_table_where_it_fits(width: int = 160) -> None:
    lines = show(scores(*NAMES), width)
    assert [line.split()[0] for line in lines if line.strip() and "─" not in line] == [
        "a", "model", "qwen2_5_vl", "internvl3", "replay",
    ]  # fmt: skip


def test_a_name_that_is_wider_than_the_terminal_is_folded_into_few_lines() -> None:
    lines = show(scores("org/" + "long-" * 40 + "end"), 80)
    assert max(map(len, lines)) <= 80
    assert len(lines) < 30
    assert sum("end" in line for line in lines) == 1


def test_a_long_text_gets_the_room_that_is_left() -> None:
    table = FittingTable("settings", ("field", "value"), numbers=False, padding=1)
    table.add_row("text", "word " * 40)
    lines = show(table, 100)
    assert 90 < max(map(len, lines)) <= 100
    assert len(lines) < 10


def test_a_table_without_rows_shows_its_headings() -> None:
    assert any("model" in line for line in show(scores(), 80))

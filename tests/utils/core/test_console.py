import pytest

from lmms_eval_tasks.utils.core.output import make_console, text_table

HOSTILE = "a\x1b[31m\x9b2J\x07\r\udc80[bold]b[/bold] :smile:\u202e"
SHOWN = r"a\x1b[31m\x9b2J\x07\r\udc80[bold]b[/bold] :smile:\u202e"


def test_no_text_gives_the_terminal_orders(capsys: pytest.CaptureFixture[str]) -> None:
    console = make_console()
    console.print(f"first\n{HOSTILE}")
    table = text_table(None, HOSTILE, "b\x1b[1m")
    table.add_row("c\x1b[1m", "[red]d")
    console.print(table)
    printed = capsys.readouterr().out
    assert printed.count(SHOWN) == 2
    for cell in (r"b\x1b[1m", r"c\x1b[1m", "[red]d"):
        assert cell in printed
    assert all(char.isprintable() or char == "\n" for char in printed)

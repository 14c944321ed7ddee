"""What `--help` shows: groups of commands and examples, on a narrow terminal and in the reference.

tests/pages/test_docs.py has the tools parse the examples, as they stand in the reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from commands_page import commands_page
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import NAME, app
from lmms_eval_tasks.cli.options import split_examples

COLUMNS = 100
COMMANDS_PAGE = commands_page()


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that can be run, with the words by which it is called."""
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))
    if not hasattr(command, "commands"):
        yield path, command


COMMANDS = dict(commands(typer.main.get_command(app)))


def shown_help(*words: str) -> str:
    result = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": str(COLUMNS), "TERMINAL_WIDTH": ""})
    assert result.exit_code == 0, result.output
    assert max(map(len, result.output.splitlines())) <= COLUMNS
    return result.output


def test_commands_are_in_groups_and_a_shell_completes_them() -> None:
    assert re.findall(r"^╭─ ([\w ]+?) ─+╮$", shown_help(), re.MULTILINE) == [
        "Options", "Data", "Run", "Look at results", "Compare and submit", "People", "Build a set", "Train",
        "One benchmark alone",
    ]  # fmt: skip
    environment = {"_LMMS_EVAL_TASKS_COMPLETE": "complete_bash", "COMP_WORDS": f"{NAME} re", "COMP_CWORD": "1"}
    result = CliRunner().invoke(app, [], prog_name=NAME, env=environment)
    assert result.output.split() == ["report", "rescore"] and "--install-completion" in shown_help()


@pytest.mark.slow
def test_a_command_has_two_examples_on_a_narrow_terminal_and_in_the_reference() -> None:
    for path, command in COMMANDS.items():
        _, examples = split_examples(command.epilog or "")
        words, printed = " ".join(path), shown_help(*path)
        assert len(set(examples)) >= 2 and all(f"{NAME} {words}" in line for line in examples), words
        assert f"# `{words}`\n" in COMMANDS_PAGE and all(f"\n{line}\n" in COMMANDS_PAGE for line in examples), words
        assert all(f" {line} " in printed for line in examples), printed

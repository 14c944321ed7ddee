"""The commands in our pages, as a reader would copy them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?P<run><!-- run(?P<example> with the example)? -->\n)?```bash\n(?P<text>.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A block of shell commands; `run` where it needs nothing but this package, or the example of a benchmark."""

    page: str
    text: str
    run: bool
    example: bool = False

    def commands(self) -> list[list[str]]:
        """Its commands as words; continued lines are one command, comments and leading variables are left out."""
        lines = self.text.replace("\\\n", " ").splitlines()
        found = [shlex.split(line, comments=True) for line in lines]
        return [without_variables(words) for words in found if words]


def without_variables(words: list[str]) -> list[str]:
    """A command's words without the variables that are set before it."""
    first = next((index for index, word in enumerate(words) if not re.match(r"[A-Z_]+=", word)), len(words))
    return words[first:]


def pages() -> list[Path]:
    """Every page of ours."""
    folders = ("*.md", "benchmarks/*.md", "docs/**/*.md", "lmms_eval_tasks/*/README.md")
    return sorted(page for folder in folders for page in ROOT.glob(folder))


def blocks(page: Path) -> list[Block]:
    """The page's shell blocks, in order."""
    return blocks_of(page.relative_to(ROOT).as_posix(), page.read_text(encoding="utf-8"))


def blocks_of(name: str, text: str) -> list[Block]:
    """The shell blocks of a page's Markdown, in order."""
    return [
        Block(name, match["text"], match["run"] is not None, match["example"] is not None)
        for match in BLOCK.finditer(text)
    ]


def commands_of(page: Path) -> list[list[str]]:
    """All commands of a page, as words."""
    return [words for block in blocks(page) for words in block.commands()]


def run_all(commands: Iterable[Sequence[str]]) -> None:
    """Run commands of ours in this process; each has to end well."""
    from lmms_eval_tasks.cli.app import app

    for program, *arguments in commands:
        result = CliRunner().invoke(app, arguments)
        assert (program, result.exit_code) == ("lmms-eval-tasks", 0), result.output

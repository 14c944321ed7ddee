"""The commands in our pages, as a reader would copy them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from commands import printed

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?P<run><!-- run(?P<example> with the example)? -->\n)?```bash\n(?P<text>.*?)```", re.DOTALL)
VARIABLE = re.compile(r"[A-Z_]+=")


@dataclass(frozen=True)
class Block:
    """A block of shell commands; `run` where it needs nothing but this package, or the example of a benchmark."""

    page: str
    text: str
    run: bool
    example: bool = False

    def commands(self) -> list[list[str]]:
        """Its commands as words; continued lines are one command, comments and leading variables are left out."""
        found = []
        for line in self.text.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            while words and VARIABLE.match(words[0]):
                del words[0]
            found += [words] if words else []
        return found


def pages() -> list[Path]:
    """Every page of ours."""
    folders = ("*.md", "benchmarks/*.md", "docs/**/*.md", "lmms_eval_tasks/*/README.md", "worlds/README.md")
    return sorted(page for folder in folders for page in ROOT.glob(folder))


def blocks(page: Path) -> list[Block]:
    """The page's shell blocks, in order."""
    return blocks_of(page.relative_to(ROOT).as_posix(), page.read_text(encoding="utf-8"))


def blocks_of(name: str, text: str) -> list[Block]:
    """The shell blocks of a page's Markdown, in order."""
    return [Block(name, one["text"], bool(one["run"]), bool(one["example"])) for one in BLOCK.finditer(text)]


def commands_of(page: Path) -> list[list[str]]:
    """All commands of a page, as words."""
    return [words for block in blocks(page) for words in block.commands()]


def run_all(commands: Iterable[Sequence[str]]) -> None:
    """Run commands of ours in this process; each has to end well."""
    for program, *arguments in commands:
        assert program == "lmms-eval-tasks"
        printed(*arguments)

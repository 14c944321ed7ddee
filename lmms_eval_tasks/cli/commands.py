"""Commands that are imported when they are called: `--help` reads what it shows of them from their source."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

from lmms_eval_tasks.cli import help as help_groups
from lmms_eval_tasks.cli.help import show_examples, show_flags_bare, split_examples
from lmms_eval_tasks.utils.core.errors import InputError


class Listed(NamedTuple):
    """What a list of commands shows of one."""

    help: str
    panel: str | None


@dataclass(frozen=True)
class CommandPlace:
    """A command by the words that call it and its place, ``package.module:name`` of a function or a Typer app."""

    words: str
    place: str
    panel: str | None = None

    @property
    def name(self) -> str:
        return self.words.rpartition(" ")[2]

    @cached_property
    def command(self) -> Any:
        """The command, imported."""
        module, _, name = self.place.partition(":")
        try:
            found = getattr(import_module(module), name)
        except InputError:
            raise
        except Exception as error:  # whatever somebody else's package raises
            raise InputError(f"The command {self.words} cannot be used: {type(error).__name__}: {error}") from error
        above = typer.Typer()
        if isinstance(found, typer.Typer):
            above.add_typer(found, name=self.name, rich_help_panel=self.panel or found.rich_help_panel)
        else:
            above.command(self.name, rich_help_panel=self.panel)(found)
        show_examples(above, self.words.rpartition(" ")[0])
        # A callback makes it a group, also of one command alone.
        above.callback()(lambda: None)
        command = typer.main.get_group(above).commands[self.name]
        _show_all_flags_bare(command)
        return command

    @cached_property
    def listed(self) -> Listed:
        """What `--help` shows, read from the source; of a form that is not read, from the command."""
        module, _, name = self.place.partition(":")
        try:
            spec = find_spec(module)
            body = ast.parse(Path(str(spec and spec.origin)).read_text(encoding="utf-8")).body
        except (ImportError, OSError, SyntaxError, ValueError):
            body = []
        for node in body:
            if isinstance(node, ast.FunctionDef) and node.name == name and (text := ast.get_docstring(node)):
                return Listed(split_examples(text)[0], self.panel)
            match node:
                case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call() as call) if target == name:
                    given = {keyword.arg: keyword.value for keyword in call.keywords}
                    panel = given.get("rich_help_panel")
                    if isinstance(help_text := given.get("help"), ast.Constant):
                        own = getattr(help_groups, panel.id, None) if isinstance(panel, ast.Name) else None
                        return Listed(str(help_text.value), self.panel or own)
        try:
            command = self.command
        except InputError as error:  # of one package: the list shows the others all the same
            return Listed(str(error), self.panel)
        return Listed(inspect.cleandoc(command.help or ""), command.rich_help_panel)


def _show_all_flags_bare(command: Any) -> None:
    show_flags_bare(command)
    for below in getattr(command, "commands", {}).values():
        _show_all_flags_bare(below)


class LazyCommands(Mapping[str, Any]):
    """The commands of a group by name, each imported when it is asked for."""

    def __init__(self, entries: Iterable[CommandPlace | Any]) -> None:
        self._entries = {entry.name: entry for entry in entries}

    def __getitem__(self, name: str) -> Any:
        entry = self._entries[name]
        return entry.command if isinstance(entry, CommandPlace) else entry

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def listed(self) -> dict[str, Any]:
        """Commands that show what a list of them shows, and do nothing."""
        shown: dict[str, Any] = {}
        for name, entry in self._entries.items():
            shown[name] = entry
            if isinstance(entry, CommandPlace):
                shown[name] = TyperGroup(name=name, help=entry.listed.help, rich_help_panel=entry.listed.panel)
        return shown


class LazyGroup(TyperGroup):
    """A group whose commands are imported when they are called."""

    def get_params(self, ctx: Any) -> list[Any]:
        # Typer adds the options for completion last.
        show_flags_bare(self)
        return super().get_params(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        shown = copy.copy(self)
        if isinstance(self.commands, LazyCommands):
            shown.commands = self.commands.listed()
        TyperGroup.format_help(shown, ctx, formatter)


def lazy_group(name: str, entries: Iterable[CommandPlace], **facts: Any) -> LazyGroup:
    group = LazyGroup(name=name, no_args_is_help=True, **facts)
    group.commands = LazyCommands(entries)  # type: ignore[assignment]
    return group

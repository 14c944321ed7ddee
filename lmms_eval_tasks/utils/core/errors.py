"""Errors that a user can act on: all problems of an input in one message, and faults in other people's code."""

from __future__ import annotations

import re
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path

from lmms_eval_tasks.utils.core.text import first_line, printable, suggest, summarize_names

SHOWN = 20
NAMED = 5


class InputError(Exception):
    """Error for input of the user that cannot be used; its text is one complete message for the user."""


@contextmanager
def needs_package(requirement: str, what: str) -> Iterator[None]:
    """Import what not everybody has: where it is missing, an `InputError` says how to install it.

    Args:
        requirement: What pip installs it by, such as an extra of a package, ``lmms-eval-tasks[building]``.
        what: What cannot be done without it; the subject of the sentence ("Rendering scenes").

    Raises:
        InputError: an import in the block found no such module.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or requirement).partition(".")[0]
        raise InputError(
            f'{what} needs {package}, which is not installed. Remedy: pip install "{requirement}"'
        ) from None


class Problems:
    """Collects what is wrong with an input in the order in which it is found, and what is merely unusual.

    Cases of one kind are one problem, which names its first five, so that a file with the same fault on every row
    still shows its other faults. A message shows the first 20 problems in full. Its length is the number of problems;
    warnings do not count among them.
    """

    def __init__(self) -> None:
        self._cases: dict[tuple[str, str, str, int], list[str]] = {}
        self._counts: Counter[tuple[str, str, str, int]] = Counter()
        self._more = 0
        self._unusual: dict[str, list[str]] = {}

    def __len__(self) -> int:
        return len(self._cases) + self._more

    @property
    def first(self) -> tuple[str, ...]:
        """Return those that a message shows."""
        lines = []
        for kind, named in list(self._cases.items())[:SHOWN]:
            where, what, remedy, _ = kind
            if named:
                more = self._counts[kind] - len(named)
                what += f" {', '.join([*named, *([f'… and {more:,} more'] if more else [])])}."
            lines.append(f"{printable(where)}: {what}{f' Remedy: {remedy}' if remedy else ''}")
        return tuple(lines)

    def add(self, where: str, what: str, case: str | None = None, remedy: str = "") -> None:
        """Add one problem, or one case of a problem.

        Args:
            where: file and row, or the field, as the user knows them.
            what: a sentence in the form "Expected … but got …."; or, with a case, a clause that the case's name ends
                ("Expected a text, but got").
            case: what was found and where ("`7` (line 3)").
            remedy: what to do about it; empty when the sentence already says so.
        """
        if case is None:
            self._add_new((where, what, remedy), [], 1)
            return
        kind = (where, what, remedy, -1)
        named = self._cases.setdefault(kind, [])
        self._counts[kind] += 1
        if len(named) < NAMED:
            named.append(printable(case))

    def _add_new(self, kind: tuple[str, str, str], named: list[str], count: int) -> None:
        if len(self._cases) >= SHOWN:
            self._more += 1
            return
        key = (*kind, len(self._cases))
        self._cases[key], self._counts[key] = named, count

    def extend(self, others: Problems, prefix: str = "", remedy: str = "") -> Problems:
        """Add the problems and warnings of another collection.

        Args:
            others: The other collection.
            prefix: Stands before the part that is wrong.
            remedy: What to do about problems that have no remedy of their own.

        Returns:
            This collection.
        """
        for kind, named in others._cases.items():
            where, what, own_remedy, _ = kind
            self._add_new((f"{prefix}{where}", what, own_remedy or remedy), named, others._counts[kind])
        self._more += others._more
        for unusual, names in others._unusual.items():
            self._unusual.setdefault(unusual, []).extend(names)
        return self

    def warn(self, kind: str, name: str) -> None:
        """Add one case of what is unusual but can be used.

        Args:
            kind: what is unusual and where, in the plural ("debug.csv: questions with two equal options").
            name: the row, question or pair, as the user knows it.
        """
        self._unusual.setdefault(kind, []).append(name)

    def warnings(self) -> tuple[str, ...]:
        """One line per kind, in the order in which they were found first: how many cases, and the first five."""
        return tuple(f"{kind}: {len(names)} ({summarize_names(names)})." for kind, names in self._unusual.items())

    def raise_if_any(self, title: str, outcome: str = "") -> None:
        """Raise one InputError that lists the problems, the first 20 in full and the rest as a number.

        Args:
            title: what could not be done, without a full stop ("CausalVQA.zip cannot be prepared").
            outcome: what became of the data, without a full stop ("nothing was written").
        """
        if not len(self):
            return
        head = f"{title}: {len(self)} problem{'s' if len(self) > 1 else ''}{', ' + outcome if outcome else ''}."
        more = [f"… and {len(self) - SHOWN} more"] if len(self) > SHOWN else []
        raise InputError("\n  ".join([head, *self.first, *more]))


UNEXPECTED = re.compile(r"(?:\w+\.)*(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'")


def blame(error: BaseException, folder: Path | None) -> str:
    """Describe an error and its place in a folder's code on one line, as in ``mine/hooks.py, line 12: KeyError:
    'totl'``."""
    own = [
        (frame, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if folder is not None and folder in Path(frame.f_code.co_filename).parents
    ]
    place = ""
    if own and folder is not None:
        frame, line = own[-1]
        place = f"{Path(frame.f_code.co_filename).relative_to(folder.parent).as_posix()}, line {line}: "
    if isinstance(error, InputError):
        return f"{place}{' '.join(str(error).split())}"
    if own and isinstance(error, TypeError) and (unexpected := UNEXPECTED.match(str(error))):
        found = own[-1][0].f_globals.get(unexpected[1])
        if is_dataclass(found):
            names = [field.name for field in fields(found) if field.init]
            return (
                f"{place}Expected a field of {unexpected[1]}, one of {', '.join(names)}, but got {unexpected[2]}."
                f"{suggest(unexpected[2], names)}"
            )
    return f"{place}{type(error).__name__}: {first_line(error)}" if str(error) else f"{place}{type(error).__name__}"

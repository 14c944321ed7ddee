"""Errors that a user can act on: all problems of an input in one message, and faults in other people's code."""

from __future__ import annotations

import re
import traceback
from collections import Counter
from dataclasses import fields, is_dataclass
from pathlib import Path

from lmms_eval_tasks.utils.core.text import first_line, printable, suggest, summarize_names

SHOWN = 20
NAMED = 5


class InputError(Exception):
    """Error for input of the user that cannot be used; its text is one complete message for the user."""


class Problems:
    """Collects what is wrong with an input in the order in which it is found, and what is merely unusual.

    Its length is the number of problems. The first 20 are kept in full, as many as a message shows; warnings do not
    count among them.
    """

    def __init__(self) -> None:
        self._first: list[str] = []
        self._count = 0
        self._unusual: dict[str, list[str]] = {}

    def __len__(self) -> int:
        return self._count

    @property
    def first(self) -> tuple[str, ...]:
        """Those that a message shows."""
        return tuple(self._first)

    def add(self, where: str, what: str, remedy: str = "") -> None:
        """Add one problem.

        Args:
            where: file and row, as the user knows them.
            what: a sentence in the form "Expected … but got …."
            remedy: what to do about it; empty when the sentence already says so.
        """
        if len(self._first) < SHOWN:
            self._first.append(f"{printable(where)}: {what}{f' Remedy: {remedy}' if remedy else ''}")
        self._count += 1

    def extend(self, others: Problems) -> None:
        """Add the problems and warnings of another collection."""
        self._first += others._first[: SHOWN - len(self._first)]
        self._count += others._count
        for kind, names in others._unusual.items():
            self._unusual.setdefault(kind, []).extend(names)

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
        if not self._count:
            return
        count = f"{self._count} problem{'s' if self._count > 1 else ''}"
        head = f"{title}: {count}{', ' + outcome if outcome else ''}."
        more = [f"… and {self._count - len(self._first)} more"] if self._count > len(self._first) else []
        raise InputError("\n  ".join([head, *self._first, *more]))


class GroupedIssues:
    """Problems of the rows of a file, grouped by kind: one problem per kind, which names its first five cases.

    A file with the same issue on every row still shows its other issues.
    """

    def __init__(self) -> None:
        self._cases: dict[tuple[str, str, str], list[str]] = {}
        self._counts: Counter[tuple[str, str, str]] = Counter()

    def __len__(self) -> int:
        return len(self._cases)

    def add(self, where: str, expected: str, case: str, remedy: str = "") -> None:
        """Add one case.

        Args:
            where: the field, or another part of the file, that is wrong.
            expected: a clause that the case's name ends ("Expected a text, but got").
            case: what was found and where, as the user knows it ("`7` (line 3)").
            remedy: what to do about every case of the kind.
        """
        kind = (where, expected, remedy)
        self._counts[kind] += 1
        named = self._cases.setdefault(kind, [])
        if len(named) < NAMED:
            named.append(printable(case))

    def raise_if_any(self, title: str, outcome: str = "") -> None:
        """Raise one InputError with one line per kind, in the order in which they were found; see `Problems`."""
        self.as_problems().raise_if_any(title, outcome)

    def as_problems(self, prefix: str = "", remedy: str = "") -> Problems:
        """One problem per kind, in the order in which they were found.

        Args:
            prefix: Stands before the part that is wrong.
            remedy: What to do about kinds that have no remedy of their own.
        """
        problems = Problems()
        for (where, expected, own_remedy), named in self._cases.items():
            more = self._counts[where, expected, own_remedy] - len(named)
            cases = ", ".join([*named, *([f"… and {more:,} more"] if more else [])])
            problems.add(f"{prefix}{where}", f"{expected} {cases}.", own_remedy or remedy)
        return problems


UNEXPECTED = re.compile(r"(?:\w+\.)*(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'")


def blame(error: BaseException, folder: Path | None) -> str:
    """Describe an error and its place in a folder's code on one line, as in ``mine/hooks.py, line 12: KeyError:
    'totl'``."""
    frames = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own = [
        (frame, line)
        for frame, line in frames
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

"""What packages announce by entry points: benchmarks, and what makes sets of their form or trains on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from lmms_eval_tasks.utils.core.blame import blame
from lmms_eval_tasks.utils.core.problems import InputError

OURS = "lmms-eval-tasks"


class Announced(NamedTuple):
    """What was loaded of a group of entry points."""

    found: Mapping[str, Any]
    faults: tuple[str, ...]


def announced(group: str) -> list[EntryPoint]:
    """The entry points of a group, ours first, in alphabetical order."""
    return sorted(entry_points(group=group), key=lambda entry: (_package(entry) != OURS, entry.name, entry.value))


def load_announced(group: str, what: str) -> Announced:
    return load_entries(announced(group), what)


def load_entries(entries: Iterable[EntryPoint], what: str) -> Announced:
    """Load entry points; of two of the same name the first is used."""
    found: dict[str, Any] = {}
    faults = []
    for entry in entries:
        try:
            if entry.name in found:
                raise ValueError(f"the name {entry.name} is taken")
            found[entry.name] = entry.load()
        except Exception as error:  # whatever somebody else's package raises
            faults.append(describe_fault(what, entry, error))
    return Announced(found, tuple(faults))


def describe_fault(what: str, entry: EntryPoint, error: Exception) -> str:
    """Why what a package announces cannot be used: in the words of an `InputError`, or by file, line and error."""
    unusable = f"{begin_fault(what, entry.name)} {_package(entry)} cannot be used"
    if isinstance(error, InputError):
        return f"{unusable}. The others work. {error}"
    return f"{unusable} ({blame(error, _folder(entry))}). The others work."


def begin_fault(what: str, name: str) -> str:
    """How the fault of what is announced by a name begins."""
    return f"The {what} {name} of the package"


def _folder(entry: EntryPoint) -> Path | None:
    """Where the code that an entry point names is; None where it is not found."""
    try:
        spec = find_spec(entry.value.partition(":")[0].partition(".")[0])
    except (ImportError, ValueError):
        return None
    return Path(spec.origin).parent if spec and spec.origin else None


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.value

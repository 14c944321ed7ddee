"""What the modules of a package declare under an agreed name."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType
from typing import TypeVar

Declared = TypeVar("Declared")


def declared(package: ModuleType, name: str, kind: type[Declared]) -> dict[str, Declared]:
    """The values of `name` in the modules of a package that have it, by module in alphabetical order.

    Raises:
        TypeError: a module declares something else under that name.
    """
    values = {}
    for module in sorted(entry.name for entry in pkgutil.iter_modules(package.__path__)):
        value = getattr(import_module(f"{package.__name__}.{module}"), name, None)
        if value is None:
            continue
        if not isinstance(value, kind):
            raise TypeError(
                f"Expected {package.__name__}.{module}.{name} to be a {kind.__name__} but got {type(value).__name__}."
            )
        values[module] = value
    return values

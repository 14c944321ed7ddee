"""Replacing a method of one object for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def replaced_method(owner: Any, name: str, method: Callable[..., Any]) -> Iterator[None]:
    """Replace an object's method as long as the context lasts, and restore it afterwards."""
    own = vars(owner).get(name)
    setattr(owner, name, method)
    try:
        yield
    finally:
        delattr(owner, name)
        if own is not None:
            setattr(owner, name, own)

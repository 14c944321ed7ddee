"""Replacing a method of one object for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def replaced_method(owner: Any, name: str, method: Callable[..., Any]) -> Iterator[None]:
    """As long as it lasts, an object's method is another one; then the object is as it was."""
    own = vars(owner).get(name)
    setattr(owner, name, method)
    try:
        yield
    finally:
        delattr(owner, name)
        if own is not None:
            setattr(owner, name, own)

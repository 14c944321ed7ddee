"""Requests that are there only so that each rank has as many as the others; nobody reads their answers."""

from __future__ import annotations

from typing import Any

PADDING = "__padding_only__"
"""The entry of a request's metadata that says so, as lmms-eval has it."""


def is_padding(request: Any) -> bool:
    """Whether a request is there only to make ranks equal."""
    return bool((getattr(request, "metadata", None) or {}).get(PADDING))

"""Requests that lmms-eval adds so that each rank has as many; nobody reads their answers."""

from __future__ import annotations

from typing import Any


def is_padding(request: Any) -> bool:
    """Whether a request was added for the number alone."""
    return bool((getattr(request, "metadata", None) or {}).get("__padding_only__"))

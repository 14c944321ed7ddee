"""Arguments written as ``name=value,name=value``, as lmms-eval's ``--model_args`` has them."""

from __future__ import annotations

from collections.abc import Mapping


def parse_arguments(arguments: str | Mapping[str, object] | None) -> dict[str, str]:
    """Values by name, both without the white space around them; a name without ``=`` has an empty value."""
    if isinstance(arguments, Mapping):
        return {str(name): str(value) for name, value in arguments.items()}
    parts = (part.partition("=") for part in (arguments or "").split(",") if part.strip())
    return {name.strip(): value.strip() for name, _, value in parts}

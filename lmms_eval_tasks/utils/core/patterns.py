"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import re
from typing import Any, cast


class _Pattern:
    """Becomes what `re.compile` gives as soon as one of its attributes is asked for."""

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        # A protocol's own names, as for a copy, compile nothing.
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self._text, self._flags)
        # Found without this function from now on.
        vars(self).update((each, getattr(compiled, each)) for each in dir(compiled) if not each.startswith("__"))
        return getattr(compiled, name)


def late_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """What `re.compile` gives, compiled when it is first used: those of our readers take a third of a command's start.

    Functions of `re` take its text alone, `.pattern`, and a match's `.re` is another object. A mistake in the text is
    found when it is used.
    """
    return cast("re.Pattern[str]", _Pattern(text, flags))

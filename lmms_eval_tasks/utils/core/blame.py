"""Errors of somebody else's code, in words that its author can act on."""

from __future__ import annotations

import re
import traceback
from dataclasses import fields, is_dataclass
from pathlib import Path

from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.wording import first_line, suggest

UNEXPECTED = re.compile(r"(?:\w+\.)*(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'")


def blame(error: BaseException, folder: Path | None) -> str:
    """What went wrong and where in a folder's code: ``mine/hooks.py, line 12: KeyError: 'totl'``, on one line."""
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

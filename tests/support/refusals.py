"""What a command or a function says that must refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lmms_eval_tasks.utils.core.errors import InputError


def refusal(call: Callable[..., object], *arguments: Any, **named: Any) -> str:
    """The message of a call that must refuse, also where it ends the run."""
    with pytest.raises((InputError, SystemExit)) as caught:
        call(*arguments, **named)
    return str(caught.value)


def refused(prepare: Callable[[Path], object], source: Path, tmp_path: Path) -> str:
    """The message of a prepare that must fail, with the test's folder as `~`."""
    return refusal(prepare, source).replace(str(tmp_path), "~")

"""What a command says that must refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lmms_eval_tasks.utils.core.errors import InputError


def refused(prepare: Callable[[Path], object], source: Path, tmp_path: Path) -> str:
    """The message of a prepare that must fail, with the test's folder as `~`."""
    with pytest.raises(InputError) as caught:
        prepare(source)
    return str(caught.value).replace(str(tmp_path), "~")

"""Commands that are imported when they are called."""

from __future__ import annotations

import pytest

from lmms_eval_tasks.cli.commands import CommandPlace
from lmms_eval_tasks.utils.core.errors import InputError


def test_a_command_that_cannot_be_imported_is_listed_with_why_and_says_so_when_it_is_called() -> None:
    place = CommandPlace("lmms-eval-tasks census", "no_such_package.census:census", "Data")
    said = "The command lmms-eval-tasks census cannot be used: ModuleNotFoundError: No module named 'no_such_package'"
    assert place.listed == (said, "Data")
    with pytest.raises(InputError, match="cannot be used: ModuleNotFoundError"):
        _ = place.command

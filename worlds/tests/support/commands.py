"""The command `lmms-eval-tasks`, found as its installed script finds it, and functions that must refuse."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from lmms_eval_tasks.api import InputError


@cache
def _app() -> typer.Typer:
    (script,) = entry_points(group="console_scripts", name="lmms-eval-tasks")
    app: typer.Typer = script.load()
    return app


def called(*words: object, status: int = 0) -> str:
    """What the command prints with these words; what it says on its error stream where it must fail."""
    done = CliRunner().invoke(_app(), [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == status, (done.stdout, done.stderr)
    assert not (status and done.stdout), done.stdout
    return done.stderr if status else done.stdout


def refusal(call: Callable[..., object], *arguments: Any, **named: Any) -> str:
    """The message of a call that must refuse."""
    with pytest.raises(InputError) as caught:
        call(*arguments, **named)
    return str(caught.value)

"""Commands whose options are the parameters of a benchmark's own function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def command_of(function: Callable[..., Any], run: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options and the help of a function.

    Args:
        function: Its parameters are typer options, but for ``progress``.
        run: Runs the command, given the options by name.

    Returns:
        The command.
    """
    signature = inspect.signature(function, eval_str=True)
    options = [parameter for name, parameter in signature.parameters.items() if name != "progress"]
    run.__signature__ = signature.replace(parameters=options, return_annotation=None)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in options}
    run.__doc__ = (inspect.getdoc(function) or "").partition("\n")[0]
    return run

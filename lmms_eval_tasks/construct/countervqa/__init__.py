"""`lmms-eval-tasks build countervqa`: a set of questions from annotated clips."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from lmms_eval_tasks.construct.engine.command import pipeline_command
from lmms_eval_tasks.construct.engine.config import CHANGE
from lmms_eval_tasks.construct.engine.running import BuiltSet

FORMER: Mapping[str, Any] = {
    **dict.fromkeys(("annotations",), list[Path]),
    **dict.fromkeys(("links", "takes", "clips"), Path),
    **dict.fromkeys(("encoder", "model"), str),
    **dict.fromkeys(("verify_with", "drop_solved_by"), list[str]),
    **dict.fromkeys(("min_ancd", "min_cnda", "pair_share"), float),
    **dict.fromkeys(("min_depth", "candidates", "frames", "seed"), int),
    **dict.fromkeys(("own_rules", "rephrase", "naive"), bool),
}
"""Keys of the configuration that were options, and are taken as such, with a warning, for one version."""


_build = pipeline_command(lambda: import_module(f"{__name__}.pipeline").PIPELINE)


def build(*, changes: list[str] | None = None, **options: Any) -> BuiltSet:
    """Make counterfactual questions from annotated clips and the causal links of their actions.

    Examples:
        {command} --config build.yaml --out set --dry-run
        {command} --config build.yaml --out set --set seed=1
    """
    given = []
    for key in FORMER:
        value = options.pop(key, None)
        if value is None or value == []:
            continue
        # A path of the command line begins at the current folder, one of the configuration at its own.
        given.append(f"{key}={json.dumps(value, default=lambda path: str(path.absolute()))}")
        flag = "--paper-rules" if key == "own_rules" and not value else f"--{key.replace('_', '-')}"
        shown = given[-1].partition("=")[2] if isinstance(value, bool) else "…"
        typer.echo(
            f"warning: {flag} is taken for the last time; write `{key}: {shown}` into the file of --config, or give "
            f"{CHANGE} {key}={shown}.",
            err=True,
        )
    return _build(changes=[*given, *(changes or ())], **{"config": None, **options})


_FLAGS = {"own_rules": ("--own-rules/--paper-rules",), "rephrase": ("--rephrase",), "naive": ("--naive",)}
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_signature = inspect.signature(_build, eval_str=True)
_options = [
    one.replace(kind=_KEYWORD, default=None if name == "config" else one.default)
    for name, one in _signature.parameters.items()
]
for _key, _kind in FORMER.items():
    _option: Any = Annotated[_kind | None, typer.Option(*_FLAGS.get(_key, ()), hidden=True)]
    _options.append(inspect.Parameter(_key, _KEYWORD, default=None, annotation=_option))
build.__signature__ = _signature.replace(parameters=_options)  # type: ignore[attr-defined]

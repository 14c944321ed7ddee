"""`lmms-eval-tasks build countervqa`: a set of questions from annotated clips."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from lmms_eval_tasks.construct.engine.attrition import BuiltSet
from lmms_eval_tasks.construct.engine.command import pipeline_command
from lmms_eval_tasks.construct.engine.config import CHANGE
from lmms_eval_tasks.construct.engine.running import Pipeline

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


def _load() -> Pipeline[Any]:
    from lmms_eval_tasks.construct.countervqa.pipeline import PIPELINE

    return PIPELINE


_build = pipeline_command(_load)


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


def _former_options() -> list[inspect.Parameter]:
    flags = {"own_rules": ("--own-rules/--paper-rules",), "rephrase": ("--rephrase",), "naive": ("--naive",)}
    return [
        inspect.Parameter(
            key,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[kind | None, typer.Option(*flags.get(key, ()), hidden=True)],
        )
        for key, kind in FORMER.items()
    ]


_signature = inspect.signature(_build, eval_str=True)
build.__signature__ = _signature.replace(  # type: ignore[attr-defined]
    parameters=[
        parameter.replace(
            kind=inspect.Parameter.KEYWORD_ONLY, default=None if parameter.name == "config" else parameter.default
        )
        for parameter in _signature.parameters.values()
    ]
    + _former_options()
)

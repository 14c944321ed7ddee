"""Whether the tools take a command as it stands on a page or in a help text; nothing is run."""

from __future__ import annotations

import argparse
import importlib.util
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from docs import ROOT

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.utils.benchmark.benchmark import split_name


def check_command(words: Sequence[str]) -> bool:
    """Fail where lmms-eval or our command does not take these words; False where the command is neither of them."""
    if words[0] == "lmms-eval-tasks":
        check_own_command(list(words[1:]))
        if words[1] == "launch":
            check_command(words[words.index("--") + 1 :])
    elif words[0] == "lmms-eval" and not words[1].startswith("-"):
        from lmms_eval.cli.dispatch import _build_parser

        _build_parser().parse_args(words[1:])
    elif words[0] == "lmms-eval":
        check_host_command(host_parser().parse_args(words[1:]))
    elif list(words[:2]) == ["accelerate", "launch"] or words[0] == "torchrun":
        check_host_command(host_parser().parse_args(words[words.index("lmms_eval") + 1 :]))
    else:
        return False
    return True


@cache
def host_parser() -> argparse.ArgumentParser:
    """The host's own parser, caught as it is about to parse."""
    from lmms_eval import __main__ as host

    class Caught(Exception):
        pass

    def stop(parser: argparse.ArgumentParser, *_: Any) -> None:
        raise Caught(parser)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(argparse.ArgumentParser, "parse_args", stop)
        with pytest.raises(Caught) as caught:
            host.parse_eval_args()
    parser = caught.value.args[0]
    assert isinstance(parser, argparse.ArgumentParser)
    return parser


@cache
def known_tasks() -> frozenset[str]:
    """Every task that lmms-eval has with ours."""
    import lmms_eval.models  # noqa: F401  (loads the entry points, as every evaluation does)
    from lmms_eval.tasks import TaskManager

    return frozenset(TaskManager().all_tasks)


def check_host_command(options: argparse.Namespace) -> None:
    from lmms_eval.models import MODEL_REGISTRY_V2

    if options.tasks in ("list", "list_subtasks"):
        return
    for task in options.tasks.split(","):
        # Views of tasks that are not ours are in files that a command before has written.
        parent, _ = split_name(task) or (task, None)
        assert task in known_tasks() or (options.include_path and parent in known_tasks()), task
    if options.power_analysis:
        return
    if options.model in ("brightness", "motion"):
        source = (ROOT / "examples/model_plugin/brightness_model/model.py").read_text(encoding="utf-8")
    else:
        manifest = MODEL_REGISTRY_V2.get_manifest(options.model)
        classes = [path for path in (manifest.chat_class_path, manifest.simple_class_path) if path]
        source = "".join(module_source(path.rpartition(".")[0]) for path in classes)
    for argument in filter(None, options.model_args.split(",")):
        name = argument.partition("=")[0]
        assert re.search(rf"\b{name}: ", source), f"{options.model} takes no {name}"


def module_source(module: str) -> str:
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    file = Path(spec.origin)
    files = sorted(file.parent.glob("*.py")) if file.name == "__init__.py" else [file]
    return "".join(path.read_text(encoding="utf-8") for path in files)


def check_own_command(words: list[str]) -> None:
    """The command exists and its words parse; nothing is run."""
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    command.make_context(command.name, words, resilient_parsing=False)

"""The YAML files that lmms-eval reads our tasks from, read without lmms-eval."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from lmms_eval_tasks.utils.core.files import open_regular

LARGEST_CONFIG = 1 << 20
"""Bytes of a file of a task's configuration or of a prompt."""
HOOKS = ("process_docs", "doc_to_visual", "doc_to_text", "doc_to_target", "process_results")
"""Where a task's configuration names its hooks, beside the aggregation of each score."""


class _Loader(yaml.SafeLoader):
    """Reads ``!function a.b.c`` as the text ``a.b.c``; nothing is imported."""


_Loader.add_constructor("!function", lambda _, node: str(node.value))


def read_task_file(path: Path) -> dict[str, Any]:
    """The configuration in a task's or template's file, what it includes merged in as lmms-eval does."""
    with open_regular(path) as file:
        content = file.read(LARGEST_CONFIG + 1)
    if len(content) > LARGEST_CONFIG:
        raise ValueError(f"Expected {path} to have at most {LARGEST_CONFIG:,} bytes.")
    config = yaml.load(content.decode("utf-8"), Loader=_Loader)
    if not isinstance(config, dict):
        raise ValueError(f"Expected {path} to hold a mapping, but got {type(config).__name__}.")
    included = config.pop("include", [])
    merged: dict[str, Any] = {}
    for name in reversed([included] if isinstance(included, str) else included):
        merged.update(read_task_file(path.parent / name))
    return {**merged, **config}


def read_closing(path: Path) -> str:
    """The instruction that a template's prompts end with: ``lmms_eval_specific_kwargs.default.post_prompt``.

    Args:
        path: A task's or template's YAML file, as lmms-eval reads it; no function that it names is imported.

    Raises:
        OSError: where the file, or one that it includes, cannot be read.
        LookupError: where it has no such setting.
        TypeError: where there is something else in the setting's place.
        ValueError: where it is no YAML, or the setting is no text.
    """
    try:
        closing = read_task_file(path)["lmms_eval_specific_kwargs"]["default"]["post_prompt"]
    except yaml.YAMLError as error:
        raise ValueError(f"no YAML: {error}") from error
    except RecursionError:
        raise ValueError("values nested too deeply, or files that include each other") from None
    if not isinstance(closing, str):
        raise ValueError(f"post_prompt is {closing!r}")
    return closing


@cache
def installed_file(path: Path) -> Mapping[str, Any]:
    """`read_task_file` of a file that stays as it is while the process runs, read once."""
    return read_task_file(path)


def file_of(folder: Path, name: str) -> str:
    """The name of the file in a folder that configures a task or group."""
    for path in sorted(folder.glob("*.yaml")):
        config = installed_file(path)
        if name == (config.get("group") or config["task"]):
            return path.name
    raise KeyError(name)


@cache
def task_configs(folder: Path) -> Mapping[str, Mapping[str, Any]]:
    """Name to configuration of every task and group in a folder, in the files' alphabetical order."""
    configs = [installed_file(path) for path in sorted(folder.glob("*.yaml"))]
    return {config.get("group") or config["task"]: config for config in configs}

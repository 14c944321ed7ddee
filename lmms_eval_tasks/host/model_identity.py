"""What tells a model of lmms-eval from any other whose answers may differ."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lmms_eval_tasks
from lmms_eval_tasks.host.environment import installed_version
from lmms_eval_tasks.host.weights import Weights, get_nested_attr, weights_identity
from lmms_eval_tasks.utils.core.arguments import parse_arguments
from lmms_eval_tasks.utils.data.manifest import file_sha256

ARGUMENTS = "_lmms_eval_tasks_arguments"
"""The model's attribute for the arguments that it was built with."""
PACKAGES = (
    "lmms-eval", "torch", "transformers", "decord", "av", "torchvision", "torchcodec", "qwen-vl-utils", "vllm",
    "sglang",
)  # fmt: skip
"""Whose versions may change an answer."""
VARIABLES = re.compile(r"FORCE_QWENVL_VIDEO_READER|(?:VIDEO|FPS|IMAGE)_[A-Z_]+|OPENAI_(?:API_BASE|BASE_URL)")
"""Variables of the environment that choose how clips are read, or which server answers."""
FILES = re.compile(r"pretrained|model|peft|lora|adapter|checkpoint|ckpt|weights|tokenizer|processor|prompt|^path$")
"""Arguments that may name a file or folder which a model is loaded from."""


def wrap_create(create: Any) -> Any:
    """The class method by which lmms-eval builds a model, which then knows its arguments."""

    @functools.wraps(create.__func__)
    def create_and_note(cls: Any, arg_string: Any, additional_config: Any = None) -> Any:
        model = create.__func__(cls, arg_string, additional_config)
        setattr(model, ARGUMENTS, arg_string)
        return model

    return classmethod(create_and_note)


def find_arguments(model: Any) -> dict[str, str] | None:
    """The arguments that lmms-eval built a model with; None where it did not build it."""
    given = getattr(model, ARGUMENTS, None)
    return None if given is None else parse_arguments(given)


def model_identity(model: Any, arguments: Mapping[str, str], weights: Weights) -> dict[str, Any]:
    """What a model's answers depend on beside the question, as JSON values; batch size and device are not in it."""
    kind = type(model)
    is_ours = kind.__module__.startswith(f"{lmms_eval_tasks.__name__}.")
    packages = [*PACKAGES, "lmms-eval-tasks"] if is_ours else PACKAGES
    servers = (get_nested_attr(model, *names) for names in (("base_url",), ("client", "base_url")))
    return {
        "class": f"{kind.__module__}.{kind.__qualname__}",
        "code": _digest_code(kind),
        "arguments": dict(arguments),
        # Not their family, which follows from the class and the files: answers kept by earlier versions lack it.
        "weights": {"commit": weights.commit, "precision": weights.precision},
        "files": _identify_files(arguments),
        "server": next((str(server) for server in servers if server), None),
        "software": {package: installed_version(package) for package in packages},
        "variables": {
            name: value
            for name, value in sorted(os.environ.items())
            # An argument names the server before a variable does.
            if VARIABLES.fullmatch(name) and not (name.startswith("OPENAI_") and arguments.get("base_url"))
        },
    }


def _digest_code(kind: type) -> list[str]:
    """SHA-256 of the modules of a model's classes, which may change between runs while they are being written."""
    names = dict.fromkeys(parent.__module__ for parent in kind.__mro__)
    files = [getattr(sys.modules.get(name), "__file__", None) for name in names]
    return [file_sha256(Path(file)) for file in files if file and Path(file).is_file()]


def _identify_files(arguments: Mapping[str, str]) -> dict[str, str | None]:
    """What tells two states of a file, folder or hub id apart, for each argument from which a model may be loaded."""
    identities: dict[str, str | None] = {}
    for name, value in arguments.items():
        if not FILES.search(name) or not value:
            continue
        try:
            file = Path(value).expanduser()
            if file.is_file():
                identities[name] = f"{file.stat().st_size} bytes of {file.stat().st_mtime_ns}"
            else:
                identities[name] = weights_identity(value, arguments.get("revision"))
        except (OSError, ValueError):  # no path, and no name of the hub
            identities[name] = None
    return identities

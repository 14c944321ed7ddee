"""The families of scenes: each module of this folder is one, and its `FAMILY` says how its scenes are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from lmms_eval_tasks.worlds.scenes.family import SceneFamily


@cache
def families() -> Mapping[str, SceneFamily]:
    """All families by name, in the order of the alphabet."""
    modules = sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_"))
    return {name: import_module(f"{__name__}.{name}").FAMILY for name in modules}

"""The families of scenes: each module of this folder is one, and its `FAMILY` says how its scenes are drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import numpy as np

from lmms_eval_tasks.worlds.engine.scene import Body, Scene


@dataclass(frozen=True)
class SceneFamily:
    """A family of scenes."""

    name: str
    about: str
    draw: Callable[[str, int, np.random.Generator], Scene]
    vary: Callable[[Scene, np.random.Generator], Sequence[Body]]
    for_training: bool = False


@cache
def families() -> Mapping[str, SceneFamily]:
    """All families by name, in the order of the alphabet."""
    modules = sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_"))
    return {name: import_module(f"{__name__}.{name}").FAMILY for name in modules}

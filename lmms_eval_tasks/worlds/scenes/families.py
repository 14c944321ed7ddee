"""The families of scenes by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from lmms_eval_tasks.worlds.scenes import collisions, structures
from lmms_eval_tasks.worlds.scenes.family import SceneFamily


@cache
def families() -> Mapping[str, SceneFamily]:
    """All families by name, in the order of the alphabet."""
    return {
        family.name: family for family in sorted((*collisions.FAMILIES, *structures.FAMILIES), key=lambda one: one.name)
    }

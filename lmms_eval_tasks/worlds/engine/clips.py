"""What a clip shows of a scene, and what its file is called."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from lmms_eval_tasks.worlds.engine.facts import Violation
from lmms_eval_tasks.worlds.engine.scene import Scene

LOOK = 1
"""Grows when the same scene is to look or to be coded otherwise, so that clips made before are made again."""


@dataclass(frozen=True)
class SceneClip:
    """A clip of a scene."""

    scene: Scene
    backwards: bool = False
    violation: Violation | None = None

    def __post_init__(self) -> None:
        """Refuse what no question asks for and what has no name."""
        if self.backwards and self.violation is not None:
            raise ValueError("Expected a clip that goes backwards or breaks a principle, but got both.")

    @property
    def name(self) -> str:
        """The name of its file."""
        if self.violation is not None:
            return f"{self.scene.id}_breaks_{self.violation.principle}.mp4"
        return f"{self.scene.id}_backwards.mp4" if self.backwards else f"{self.scene.id}.mp4"

    @property
    def digest(self) -> str:
        """Sixteen digits that change with anything that changes its frames; its file carries them."""
        broken = None if self.violation is None else self.violation.model_dump(mode="json")
        described = [LOOK, self.scene.model_dump(mode="json"), self.backwards, broken]
        return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:16]

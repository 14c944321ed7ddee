"""What a build was asked for."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from typing import Any

from lmms_eval_tasks.countervqa.construction.questions import CANDIDATES
from lmms_eval_tasks.countervqa.construction.roles import SHARE
from lmms_eval_tasks.countervqa.construction.solving import FRAMES
from lmms_eval_tasks.utils.core.redaction import hide_secrets
from lmms_eval_tasks.utils.graphs.encoders import TFIDF
from lmms_eval_tasks.utils.graphs.measures import Thresholds


@dataclass(frozen=True)
class BuildSettings:
    """What decides, with the annotations and the links, which set is built.

    Attributes:
        thresholds: Of the filters of graphs.
        encoder: Name of the sentence encoder.
        candidates: Questions a level and clip.
        own_rules: Whether questions are made by our rules beside the paper's.
        rephrase: Whether a model puts the questions into its words.
        seed: Of all draws.
        pair_share: Of a clip's pairs, those that go on from the observer.
        frames: Of a clip, that the models see that are to solve questions.
        naive: Whether a model writes the questions from the annotations alone.
    """

    thresholds: Thresholds = field(default_factory=Thresholds)
    encoder: str = TFIDF
    candidates: int = CANDIDATES
    own_rules: bool = True
    rephrase: bool = False
    seed: int = 0
    pair_share: float = SHARE
    frames: int = FRAMES
    naive: bool = False

    def facts(self) -> dict[str, Any]:
        """The settings as JSON values."""
        return {**asdict(self), "encoder": hide_secrets(self.encoder, os.environ)}

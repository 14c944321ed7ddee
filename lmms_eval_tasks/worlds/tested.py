"""Which families of scenes tests have."""

from __future__ import annotations

from pathlib import Path

STANDARD_SCENES = Path(__file__).parent / "standard_scenes.jsonl"
"""The standard set: a draft a line, as `engine.drafts` has them."""


def families_of_tests() -> frozenset[str]:
    """The families that sets are made of, and those of what is prepared.

    Raises:
        InputError: what is prepared cannot be read.
    """
    from lmms_eval_tasks.api.release import clip_path, load_table
    from lmms_eval_tasks.worlds.card import CARD, FAMILIES, SPLIT

    if not clip_path(CARD.name, SPLIT).is_dir():
        return frozenset(FAMILIES)
    return frozenset(FAMILIES) | set(load_table(CARD.name, SPLIT, require_clips=False)["family"])

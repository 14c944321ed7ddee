"""Which families of scenes tests have."""

from __future__ import annotations

from pathlib import Path

STANDARD_SCENES = Path(__file__).parent / "standard_scenes.jsonl"
"""The standard set: a draft a line, as `engine.drafts` has them."""


def families_of_tests() -> frozenset[str]:
    """The families that sets are made of, and those of what is prepared."""
    from lmms_eval_tasks.api import InputError
    from lmms_eval_tasks.api.release import load_table
    from lmms_eval_tasks.worlds.card import FAMILIES, SPLIT

    try:
        prepared = set(load_table("worlds", SPLIT, require_clips=False)["family"])
    except InputError:
        prepared = set()
    return frozenset(FAMILIES) | prepared

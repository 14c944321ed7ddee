"""Which families of scenes a test has."""

from __future__ import annotations

import json
from pathlib import Path

STANDARD_SCENES = Path(__file__).parent / "standard_scenes.jsonl"
"""The standard set: a draft a line, as `engine.drafts` has them."""


def families_of_tests() -> frozenset[str]:
    """The families of the standard set, and of what is prepared."""
    from lmms_eval_tasks.api import InputError
    from lmms_eval_tasks.api.release import load_table

    lines = STANDARD_SCENES.read_text(encoding="utf-8").splitlines()
    standard = {json.loads(line)["scene"]["family"] for line in lines}
    try:
        prepared = set(load_table("worlds", "standard", require_clips=False)["family"])
    except InputError:
        prepared = set()
    return frozenset(standard | prepared)

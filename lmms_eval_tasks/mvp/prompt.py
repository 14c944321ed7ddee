"""MVP's official prompt, rebuilt from a text that the machine already has."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from lmms_eval_tasks.mvp.card import CARD
from lmms_eval_tasks.utils.prompts import OFFICIAL, Prompt

LAYOUT = "Question: {question}\nOption:\n{options}"


def official_prompt(template: Mapping[str, Any]) -> Prompt:
    """The official prompt: question and options as the official task lays them out, then its closing instruction.

    Args:
        template: Content of an `mvp` task template that has the instruction at
            ``lmms_eval_specific_kwargs.default.post_prompt``, as lmms-eval's own has.

    Raises:
        KeyError: where there is no instruction, or its SHA-256 is not the official one's, which is in the card.
    """
    closing: str = template["lmms_eval_specific_kwargs"]["default"]["post_prompt"]
    digest = hashlib.sha256(closing.encode()).hexdigest()
    if digest not in CARD.prompt_sha256.values():
        raise KeyError(f"expected the instruction with SHA-256 {', '.join(CARD.prompt_sha256.values())}, got {digest}")
    return Prompt(OFFICIAL, LAYOUT + closing.replace("{", "{{").replace("}", "}}"))

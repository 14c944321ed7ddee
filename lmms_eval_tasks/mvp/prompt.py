"""MVP's official prompt, rebuilt from a text that the machine already has."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from lmms_eval_tasks.mvp.card import CARD
from lmms_eval_tasks.utils.prompts import DEFAULT, OFFICIAL, Prompt, read_prompt
from lmms_eval_tasks.utils.task_files import read_task_file

LAYOUT = "Question: {question}\nOption:\n{options}"

TEMPLATE = Path("tasks") / "mvp" / "_default_template_yaml"

logger = logging.getLogger(__name__)


@cache
def installed_official_prompt() -> Prompt:
    """The official prompt from lmms-eval's own `mvp` template; ours, with a warning, where that has it no more."""
    host = find_spec("lmms_eval")
    try:
        if host is None or host.origin is None:
            raise FileNotFoundError("there is no lmms-eval")
        return official_prompt(read_task_file(Path(host.origin).parent / TEMPLATE))
    except (OSError, LookupError, TypeError, ValueError, yaml.YAMLError) as error:
        logger.warning("MVP's official prompt is not in this lmms-eval (%s); asking with %s instead.", error, DEFAULT)
        return read_prompt(DEFAULT)


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

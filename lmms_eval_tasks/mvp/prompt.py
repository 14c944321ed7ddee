"""MVP's official prompt, rebuilt from the text in lmms-eval."""

from __future__ import annotations

import hashlib
import logging
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from lmms_eval_tasks.api import read_prompt
from lmms_eval_tasks.api.prompts import Prompt, read_closing
from lmms_eval_tasks.mvp.card import CARD

OURS = "mcq_letter"
LAYOUT = "Question: {question}\nOption:\n{options}"
TEMPLATE = Path("tasks") / "mvp" / "_default_template_yaml"

logger = logging.getLogger(__name__)


def find_prompt(name: str) -> Prompt:
    """The official prompt by its name, or one of ours.

    Raises:
        InputError: where there is no prompt of that name.
    """
    return installed_official_prompt() if name == "official" else read_prompt(name)


@cache
def installed_official_prompt() -> Prompt:
    """The official prompt from lmms-eval's own `mvp` template; ours, with a warning, where it is no longer there."""
    host = find_spec("lmms_eval")
    try:
        if host is None or host.origin is None:
            raise FileNotFoundError("there is no lmms-eval")
        return official_prompt(Path(host.origin).parent / TEMPLATE)
    except (OSError, LookupError, TypeError, ValueError) as error:
        logger.warning("MVP's official prompt is not in this lmms-eval (%s); asking with %s instead.", error, OURS)
        return read_prompt(OURS)


def official_prompt(template: Path) -> Prompt:
    """The official prompt: question and options as the official task lays them out, then its template's instruction.

    Raises:
        OSError, LookupError, TypeError, ValueError: where there is no instruction, or its SHA-256 is not the official
            one's, which is in the card.
    """
    closing = read_closing(template)
    digest = hashlib.sha256(closing.encode()).hexdigest()
    if digest not in CARD.prompt_sha256.values():
        known = ", ".join(CARD.prompt_sha256.values())
        raise LookupError(f"expected the instruction with SHA-256 {known}, got {digest}")
    return Prompt("official", LAYOUT + Prompt.literal(closing))

"""The hooks of MVP's tasks: how a question is asked and its answer graded."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from lmms_eval_tasks.api import Row, RunningTask, choice_grader, hook, read_prompt
from lmms_eval_tasks.api.prompts import Prompt, read_closing
from lmms_eval_tasks.mvp.card import CARD

_WORD_END = re.compile(r"[ab]\b")


def official_choice(text: str) -> str | None:
    """Extract a candidate the way the official `extract_pred` does, so that scores compare with published tables.

    What it does, quirks included:

    - The text is lower-cased, and every "a" or "b" that *ends a word* is a match: the article "a", "camera", "grab".
      The official pattern may take in a preceding "answer:" or "assistant:", but requires none and looks for no word
      start, so those prefixes change nothing.
    - With two or more matches the *second* one is the answer, otherwise the only one.
    - An underscore, digit or letter after the letter hides it (``_B_`` has no match).
    - The official fallback for one-character responses is unreachable, because the pattern has matched them before.

    Args:
        text: The model's response; any string.

    Returns:
        A for the first candidate, B for the second, None where the official function returns False (scored as wrong
        there, but written to the leaderboard file as the first candidate).

    Source: facebookresearch/minimal_video_pairs@149e336, tasks/mvp/utils.py, `extract_pred`.
    """
    matches = [match.group() for match in islice(_WORD_END.finditer(text.lower()), 2)]
    return matches[-1].upper() if matches else None


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


__all__ = ["process_results"]

INTPHYS = {"O1": "object permanence", "O2": "shape constancy", "O3": "spatio-temporal continuity"}
"""The concepts of IntPhys, by how the names of its clips begin, such as ``_O1_01_2.mp4``."""


def strata(row: Row) -> dict[str, str]:
    """Subset and source of a row, and the concept that a GRASP clip's folder or an IntPhys clip's name says."""
    *folders, name = PurePosixPath(row["clip"]).parts
    concept = None
    if row["source"] == "grasp":
        concept = next(iter(folders[:1:-1]), None)
    elif row["source"] == "intphys":
        concept = INTPHYS.get(name.lstrip("_").partition("_")[0])
    return {"subset": row["subset"], "source": row["source"], **({"concept": concept} if concept else {})}


grade = choice_grader(official_choice, stratum=strata)


@hook
def process_results(task: RunningTask, doc: Row, results: Sequence[Any]) -> dict[str, Any]:
    """The record of an answer, and what it contributes to each score."""
    return task.grade_first(doc, results, grade)

"""How IntPhys 2 asks, with its own prompt or an official one from a checkout, and how its answers are graded.

Source: facebookresearch/IntPhys2@faf78cd, IntPhys2_transformers.py (prompts) and ComputeScoreIntPhys2.ipynb (answers).
We have no digest of the prompts, so an imported one has a name of its own and is never called official.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lmms_eval_tasks.api import InputError, Reply, Row, RunningTask
from lmms_eval_tasks.api.answers import IMPOSSIBLE, POSSIBLE, plausibility_grader
from lmms_eval_tasks.api.prompts import OfficialPrompt, Prompt, TaskSettings, prompt_reader
from lmms_eval_tasks.intphys2.card import CARD

PROMPT = "intphys2"
"""Id of our own prompt."""
NUMBERED = "official_"
"""How the tasks that ask with one of them name it: with its place in the script, from 0."""
COUNT = 3
SHORTEST = 80
"""Characters; other texts of the script are short."""


def read_text(path: Path, number: int) -> str:
    """One of the prompts in the script, which is read and never executed, in their order there."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except SyntaxError as error:
        raise ValueError(f"it is no Python: {error}") from error
    comments = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [
        (node.lineno, node.col_offset, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in comments
        and len(node.value) >= SHORTEST
        and any(word in node.value.lower() for word in ("plausib", "possib"))
    ]
    if len(texts) != COUNT:
        raise ValueError(f"expected {COUNT} long texts on what is plausible, but got {len(texts)}")
    return sorted(texts)[number][2]


@dataclass(frozen=True)
class ThreePrompts:
    """The three prompts of one script."""

    parts: tuple[OfficialPrompt, ...]
    file: str = "IntPhys2_transformers.py"
    replaces: str = PROMPT
    for_items: bool = True

    def find(self, name: str) -> Prompt:
        """An imported prompt by its name, or its place in the script (``official_0``); raises InputError."""
        for number, part in enumerate(self.parts):
            if name == f"{NUMBERED}{number}":
                return part.find_only()
        if name == "official":
            raise InputError(
                "IntPhys 2 has three official prompts. Import them with `lmms-eval-tasks prompts import intphys2 "
                "--from CHECKOUT --accept-other`, and run intphys2_main_official, which asks with each of them, or "
                "choose one by the name that `lmms-eval-tasks prompts list` shows."
            )
        return self.parts[0].find(name)

    def import_from(self, checkout: Path, accept_other: bool = False) -> Prompt:
        """Take all three from a checkout of the official repository; gives the first; raises InputError."""
        first, *_ = [part.import_from(checkout, accept_other) for part in self.parts]
        return first


OFFICIAL_PROMPTS = ThreePrompts(
    tuple(
        OfficialPrompt(
            benchmark="intphys2",
            part=f"prompt {number}",
            file="IntPhys2_transformers.py",
            template=lambda text: Prompt.literal(text.strip()),
            replaces=PROMPT,
            read=partial(read_text, number=number),
        )
        for number in range(COUNT)
    )
)
_READER = prompt_reader(OFFICIAL_PROMPTS.find, fields=frozenset({"question"}), default=PROMPT)


def read_settings(kwargs: Mapping[str, Any], environment: Mapping[str, str]) -> TaskSettings:
    """The settings of a task: its prompt, ours with the question or an imported one, which is asked as it stands."""
    own, everywhere = str(kwargs.get("prompt", PROMPT)), environment.get("LMMS_EVAL_TASKS_PROMPT")
    if everywhere and own.startswith(NUMBERED):
        raise InputError(
            f"Expected no LMMS_EVAL_TASKS_PROMPT where tasks ask with prompts of their own, here {own}, but got "
            f"{everywhere}. Unset it, or run intphys2_main with it."
        )
    return _READER(kwargs, environment)


def asks_for_digit(prompt: Prompt) -> bool:
    """Whether a prompt names 1 and 0 as answers, as the second official one does."""
    words = {word.strip(".,:;'\"()`*") for word in prompt.text.split()}
    return {"0", "1"} <= words


def official_answer(text: str, digits: bool = False) -> str | None:
    """Read a response as the official notebook does.

    "Yes" or "yes" anywhere is possible, else "No" or "no" anywhere is impossible: so "I do not know, yes" is possible,
    and "cannot" is impossible, as is "now". YES and NO in capitals are nothing. To the prompt that asks for a digit, 1
    anywhere is possible, else 0 anywhere is impossible: so "100" is possible.

    Args:
        text: The response.
        digits: Whether the prompt asked for 1 or 0.

    Returns:
        The letter of the option; None where neither occurs, which the notebook counts as wrong.

    Source: facebookresearch/IntPhys2@faf78cd, ComputeScoreIntPhys2.ipynb.
    """
    if any(sign in text for sign in (("1",) if digits else ("yes", "Yes"))):
        return POSSIBLE
    return IMPOSSIBLE if any(sign in text for sign in (("0",) if digits else ("no", "No"))) else None


def own_fields(row: Row, reply: Reply, context: RunningTask) -> dict[str, Any]:
    """The clip's ``pair`` and ``coding``, what the official notebook reads, and whether that is right.

    It is wrong, too, where the clip is missing, as the notebook counts every row of its metadata.
    """
    prompt = context.settings.prompt
    official = None
    if not reply.missing:
        official = official_answer(reply.text, digits=prompt is not None and asks_for_digit(prompt))
    return {
        "pair": row["pair"],
        "coding": row["coding"],
        "official_answered": official,
        "official_correct": None if row["answer"] is None else official == row["answer"],
    }


grade = plausibility_grader(CARD.strata_columns, own_fields)

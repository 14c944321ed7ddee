"""IntPhys 2's official prompts, from a checkout of the official repository.

Source: facebookresearch/IntPhys2@faf78cd, IntPhys2_transformers.py. We have no digest of its texts, so an imported one
has a name of its own and is never called official.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lmms_eval_tasks.api import InputError
from lmms_eval_tasks.api.prompts import OfficialPrompt, Prompt, TaskSettings, prompt_reader

PROMPT = "intphys2"
"""Id of our own prompt."""
IMPORTED = "intphys2-other-"
"""How the ids of imported prompts begin."""
NUMBERED = "official_"
"""How the tasks that ask with one of them name it: with its place in the script, from 0."""
COUNT = 3
SHORTEST = 80
"""Characters; other texts of the script are short."""

_OURS = prompt_reader(fields=frozenset({"question"}), default=PROMPT)


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
_THEIRS = prompt_reader(OFFICIAL_PROMPTS.find, fields=frozenset())


def read_settings(kwargs: Mapping[str, Any], environment: Mapping[str, str]) -> TaskSettings:
    """The settings of a task: its prompt, ours with the question or an imported one, which is asked as it stands."""
    own, everywhere = str(kwargs.get("prompt", PROMPT)), environment.get("LMMS_EVAL_TASKS_PROMPT")
    if everywhere and own.startswith(NUMBERED):
        raise InputError(
            f"Expected no LMMS_EVAL_TASKS_PROMPT where tasks ask with prompts of their own, here {own}, but got "
            f"{everywhere}. Unset it, or run intphys2_main with it."
        )
    chosen = everywhere or own
    theirs = chosen.startswith(("official", IMPORTED))
    return (_THEIRS if theirs else _OURS)(kwargs, environment)


def asks_for_digit(prompt: Prompt) -> bool:
    """Whether a prompt names 1 and 0 as answers, as the second official one does."""
    words = {word.strip(".,:;'\"()`*") for word in prompt.text.split()}
    return {"0", "1"} <= words

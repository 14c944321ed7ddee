"""A prompt as a text with fields and a digest that records its wording, and its lettered options."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Formatter, ascii_uppercase
from typing import Protocol

DEFAULT = "mcq_letter"
OFFICIAL = "official"
QUESTION_AND_OPTIONS = frozenset({"question", "options"})


@dataclass(frozen=True)
class Prompt:
    """A prompt text with its fields in braces.

    Attributes:
        prompt_id: Name by which a task's configuration chooses it.
        text: The text, for `str.format`.
    """

    prompt_id: str
    text: str

    @property
    def fields(self) -> frozenset[str]:
        """Names of the fields that the text has."""
        return frozenset(name for _, name, _, _ in Formatter().parse(self.text) if name is not None)

    @property
    def sha256(self) -> str:
        """Hexadecimal SHA-256 of the text in UTF-8."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def signature(self) -> str:
        """Id and the digest's first eight digits, as written into every record."""
        return f"{self.prompt_id}:{self.sha256[:8]}"

    @staticmethod
    def literal(text: str) -> str:
        """A part of a prompt's text that stands for just this: braces are doubled."""
        return text.replace("{", "{{").replace("}", "}}")

    def render(self, **fields: str) -> str:
        """The prompt with its fields filled in; braces inside the fields stay as they are.

        Raises:
            KeyError: where the text names a field that is not given.
        """
        return self.text.format(**fields)


class PromptSource(Protocol):
    """Source of a benchmark's official prompt; `OfficialPrompt` explains its parts."""

    @property
    def file(self) -> str:
        """Path of its file in the official repository."""

    @property
    def replaces(self) -> str:
        """Id of our prompt in whose place it is asked."""

    @property
    def for_items(self) -> bool:
        """Whether items are asked with it."""

    def find(self, name: str) -> Prompt:
        """An imported prompt by its name; raises InputError."""

    def import_from(self, checkout: Path, accept_other: bool = False) -> Prompt:
        """Take the prompt from a checkout of the official repository; raises InputError."""


OPTIONS_PROMPT = "mcq_options"
"""The prompt that asks with lettered options and without the question."""
NO_CLIP = "(The clip of this question is missing. The answer will not be scored.)"


def list_options(options: Sequence[str]) -> str:
    """The options one per line, lettered: ``(A) …``."""
    return "\n".join(f"({letter}) {option}" for letter, option in zip(ascii_uppercase, options, strict=False))


def without_clip(text: str, asked: bool) -> str:
    """A prompt, in other words where the clip is missing."""
    return text if asked else "\n".join(filter(None, (NO_CLIP, text)))

"""The lines of official prediction files, which name an item by its question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class QuestionText:
    """Text of a question by which a line of a prediction file is joined with an item; made by `of`.

    Attributes:
        question: The question; any white space is a single space.
        options: The options' texts in their order, likewise; those without a text are left out.
    """

    question: str
    options: tuple[str, ...]

    @classmethod
    def of(cls, question: str, options: Iterable[str]) -> QuestionText:
        """Return the text of a question and its options as written."""
        texts = (" ".join(option.split()) for option in options)
        return cls(" ".join(question.split()), tuple(text for text in texts if text))


@dataclass(frozen=True)
class PredictionLines:
    """The lines of a benchmark's official prediction file, which hold the prompt in place of the item's id.

    Attributes:
        read: What the prompt of a line's JSON object asks, and the response; None for any other line.
        fields: What such a line has, for messages.
        options: How its prompt lists options, for messages.
    """

    read: Callable[[Mapping[str, Any]], tuple[QuestionText, str] | None]
    fields: str
    options: str

"""Parts of the reader of answers in words, for a benchmark whose answers are no options."""

from __future__ import annotations

from lmms_eval_tasks.utils.answers.contractions import spell_out
from lmms_eval_tasks.utils.answers.text import open_response, plain_text
from lmms_eval_tasks.utils.answers.tokens import tokenize
from lmms_eval_tasks.utils.answers.words import load_words

__all__ = [
    "load_words",
    "open_response",
    "plain_text",
    "spell_out",
    "tokenize",
]

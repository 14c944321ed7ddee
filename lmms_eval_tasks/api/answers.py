r"""Parts of the reader of answers in words, for a benchmark whose answers are no options.

Examples:
    A benchmark asks how often something happens in a clip, and reads a number from a free answer. `open_response` takes
    off marked reasoning, and parts JSON objects from the text around them:

    >>> from lmms_eval_tasks.api.answers import load_words, open_response, plain_text, spell_out, tokenize
    >>> opened = open_response('<think>Three? No, four.</think> Here: {"answer": "four", "reason": "four jumps"}')
    >>> opened.values, opened.prose.strip()
    (['four'], 'Here:')

    Where an answer breaks off within its reasoning, there is no text, and the last line of it is all that is known:

    >>> opened = open_response("<think>The dog jumps.\nSo the answer is two")
    >>> opened.text, opened.closing
    ('', 'So the answer is two')

    An answer in prose is made plain before words are looked for: no markup, no odd letters, and then no contractions,
    so that a rule meets one form of each phrase:

    >>> plain = plain_text("**Answer:** I’d say it’s \\boxed{２}, it couldn’t be three.")
    >>> plain
    "Answer: I'd say it's final answer: 2 , it couldn't be three."
    >>> [token.word for token in tokenize(spell_out(plain.lower()))][-8:]
    ['2', ',', 'it', 'could', 'not', 'be', 'three', '.']

    A token has its place in the text, so that what stands before it can be looked at:

    >>> tokenize("It jumps 3-4 times.")[2]
    Token(raw='3-4', word='3-4', start=9, end=12)

    The words that such a reader knows stand in a file of JSON by language and role. Each role is one set of them all,
    as a plain text in lower case has them; patterns are of whole statements:

    >>> import json
    >>> from pathlib import Path
    >>> content = {
    ...     "roles": {"never": "Words for zero.", "once": "Words for one."},
    ...     "languages": {"en": {"never": ["never"], "once": ["once"]}, "es": {"never": ["jamás"], "once": ["una"]}},
    ...     "combined": {"counted": "never + once"},
    ...     "patterns": {"unclear": ["cannot (?:tell|count)"]},
    ... }
    >>> _ = Path("words.json").write_text(json.dumps(content), encoding="utf-8")
    >>> words, patterns = load_words(Path("words.json"))
    >>> sorted(words["counted"])
    ['jamas', 'never', 'once', 'una']
    >>> any(token.word in words["never"] for token in tokenize(plain_text("¡Jamás!")))
    True
    >>> any(pattern.search("i cannot count them") for pattern in patterns["unclear"])
    True

    A role of a language that is not among the roles, with what it means, is refused:

    >>> _ = Path("words.json").write_text(json.dumps({**content, "roles": {"never": "Words for zero."}}), "utf-8")
    >>> load_words(Path("words.json"))
    Traceback (most recent call last):
        ...
    KeyError: 'once'
"""

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

"""Which answers exclude each other, so that two clips with one question are a pair."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable

from lmms_eval_tasks.build.curation.candidates import plain_text
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import first_line

Rule = Callable[[str, str, str], bool]
"""Given a question and two answers, whether neither answer can be right where the other is.

It is called once for a question and two answers, in alphabetical order of the answers, never for answers that are the
same but for case, white space and a final full stop; its result must not depend on their order.
"""

_WORD = re.compile(r"\w+")


def answers_differ(question: str, first: str, second: str) -> bool:
    """The default: answers that differ in more than case, white space and a final full stop."""
    return plain_text(first) != plain_text(second)


def no_answer_within_the_other(question: str, first: str, second: str) -> bool:
    """Stricter: neither answer's words are all among the other's, as those of "a ball" are among "a red ball"."""
    one, other = (set(_WORD.findall(plain_text(text))) for text in (first, second))
    return not (one <= other or other <= one)


RULES: dict[str, Rule] = {"differ": answers_differ, "not-within": no_answer_within_the_other}
"""Our rules by name."""


def find_rule(name: str) -> Rule:
    """A rule of ours, or a function of another package as ``package.module:function``."""
    if name in RULES:
        return RULES[name]
    module, _, function = name.replace(":", ".").rpartition(".")
    reason = ""
    if module:
        try:
            rule = getattr(importlib.import_module(module), function)
            if callable(rule):
                return rule  # type: ignore[no-any-return]
            reason = " It is not a function."
        except Exception as error:  # whatever importing somebody else's module raises
            reason = f" ({first_line(error)})"
    raise InputError(f"Expected a rule, one of {', '.join(RULES)} or package.module:function, but got {name}.{reason}")


def apply_rule(rule: Rule, question: str, first: str, second: str) -> bool:
    """Whether two answers exclude each other."""
    one, other = sorted((first, second))
    try:
        return bool(rule(question, one, other))
    except Exception as error:  # whatever somebody else's rule raises
        raise InputError(
            f"The rule fails on the answers {one!r} and {other!r} to {question!r}: "
            f"{type(error).__name__}: {first_line(error)}"
        ) from error

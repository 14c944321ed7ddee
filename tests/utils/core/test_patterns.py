"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from lmms_eval_tasks.utils import answers
from lmms_eval_tasks.utils.core.patterns import late_pattern

MODULES = sorted(path.stem for path in Path(answers.__path__[0]).glob("*.py"))


def test_a_late_pattern_does_what_a_compiled_one_does() -> None:
    plain, late = re.compile("(?P<word>[a-z]+)", re.IGNORECASE), late_pattern("(?P<word>[a-z]+)", re.IGNORECASE)
    text = "One, two."
    assert [found.span("word") for found in late.finditer(text)] == [
        found.span("word") for found in plain.finditer(text)
    ]
    assert late.sub("-", text) == plain.sub("-", text) == "-, -."
    assert (late.pattern, late.flags, dict(late.groupindex)) == (plain.pattern, plain.flags, dict(plain.groupindex))
    assert late.fullmatch("One") and not late.fullmatch(text)


def test_a_late_pattern_is_compiled_when_it_is_first_used() -> None:
    wrong = late_pattern("(")
    with pytest.raises(re.error):
        wrong.search("a")


def _late(value: object) -> Iterator[re.Pattern[str]]:
    if type(value) is type(late_pattern("")):
        yield value
    elif isinstance(value, tuple | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _late(part)


@pytest.mark.parametrize("name", MODULES)
def test_the_patterns_of_a_reader_can_be_compiled(name: str) -> None:
    for value in vars(import_module(f"{answers.__name__}.{name}")).values():
        for pattern in _late(value):
            assert isinstance(pattern.pattern, str)

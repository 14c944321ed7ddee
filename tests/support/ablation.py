"""The readers of answers without some of their rules: of the letters' tables, or roles and languages of word lists."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from lmms_eval_tasks.utils.answers import choice_letters
from lmms_eval_tasks.utils.answers.reply import Reply

FOLDER = Path(choice_letters.__file__).parent
MODULES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "choice": ("words.json", ("choice_letters", "choice_statements", "choice")),
    "verdict": ("verdict_words.json", ("verdict",)),
    "plausibility": ("plausible_words.json", ("plausible",)),
}
"""A reader's word list, and its modules, those that others import first."""
NOTHING = "(?!)"
"""A pattern that matches nothing."""
NO_WORD = "qqqqqq"
"""A word that no response has: a role without any would be a pattern that matches everywhere."""
Read = Callable[[Mapping[str, Any]], object]
"""Reads a labelled response; what is not read is None."""


def rules_of_letters() -> list[str]:
    return [f"{name}: {rule.example}" for name, table in tables(choice_letters).items() for rule in table.rules]


def rules_of_words(reader: str) -> list[str]:
    """The roles, patterns and languages of a reader's word list, all but English."""
    file = MODULES[reader][0]
    words = json.loads((FOLDER / file).read_text(encoding="utf-8"))
    languages = [f"language {name}" for name in words["languages"] if name != "english"]
    patterns = [f"pattern {role}" for role in words.get("patterns", ())]
    return [f"{file}: {name}" for name in [*words["roles"], *patterns, *languages]]


def tables(module: ModuleType) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if isinstance(value, module.RuleTable)}


def reader_without(reader: str, rules: Collection[str] = ()) -> Read:
    """A new copy of a reader that lacks some of its rules."""
    file, names = MODULES[reader]
    words = json.loads((FOLDER / file).read_text(encoding="utf-8"))
    for language in [*words["languages"]]:
        if f"{file}: language {language}" in rules:
            del words["languages"][language]
    for role in words["roles"]:
        if f"{file}: {role}" in rules:
            for of_language in words["languages"].values():
                of_language.pop(role, None)
            words["languages"]["english"][role] = [NO_WORD]
    for role in words.get("patterns", ()):
        if f"{file}: pattern {role}" in rules:
            words["patterns"][role] = [NOTHING]
    modules = _load(names, file, words)
    if reader == "choice":
        letters = modules["choice_letters"]
        for name, table in tables(letters).items():
            kept = [rule for rule in table.rules if f"{name}: {rule.example}" not in rules]
            setattr(letters, name, letters.RuleTable(*kept))
    return _reading(reader, modules[names[-1]])


def _load(names: tuple[str, ...], file: str, words: Mapping[str, Any]) -> dict[str, ModuleType]:
    read_text, loaded = Path.read_text, dict[str, ModuleType]()

    def read(path: Path, *args: Any, **named: Any) -> str:
        return json.dumps(words) if path.name == file else read_text(path, *args, **named)

    with patch.dict(sys.modules), patch.object(Path, "read_text", read):
        for name in names:
            full = f"{choice_letters.__package__}.{name}"
            spec = importlib.util.spec_from_file_location(full, FOLDER / f"{name}.py")
            assert spec and spec.loader
            loaded[name] = sys.modules[full] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(loaded[name])
    return loaded


def _reading(reader: str, module: ModuleType) -> Read:
    def read(case: Mapping[str, Any]) -> object:
        reply = Reply(case["input"]).used_all() if case.get("cut_off") else Reply(case["input"])
        if reader == "choice":
            return module.read_choice(reply, case["options"])
        if reader == "verdict":
            verdict = module.read_verdict(reply, case.get("question") or "")
            return None if verdict == module.UNCLEAR else verdict
        try:
            return module.read_plausibility(reply)
        except KeyError:  # Yes and no, which its code names, are words of a role too.
            return KeyError

    return read

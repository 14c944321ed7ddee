import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lmms_eval_tasks.utils.answers import choice_letters
from lmms_eval_tasks.utils.answers.opening import load_words, tokenize
from lmms_eval_tasks.utils.answers.verdict import spell_out

TABLES = {name: value for name, value in vars(choice_letters).items() if isinstance(value, choice_letters.RuleTable)}
RULES = [
    pytest.param(name, index, id=f"{name}: {rule.example}")
    for name, table in TABLES.items()
    for index, rule in enumerate(table.rules)
]
WORDS_FILE = Path(choice_letters.__file__).with_name("words.json")


@pytest.mark.parametrize(("table", "index"), RULES)
def test_a_rule_decides_its_example(table: str, index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = list(TABLES[table].rules)
    verdicts = []

    def then(mention: choice_letters.Mention, at: int) -> Any:
        verdict = rule.then if isinstance(rule.then, str) else rule.then(mention, at)
        verdicts.append(verdict)
        return verdict

    rule, rules[index] = rules[index], replace(rules[index], then=then)
    monkeypatch.setattr(choice_letters, table, choice_letters.RuleTable(*rules))
    tokens = tokenize(rule.example)
    place = next(place for place, token in enumerate(tokens) if token.raw == "B")
    choice_letters.read_after(choice_letters.Mention(tokens, choice_letters.padded_words(tokens), place))
    # The rule for "option" is the only one that says more than its verdict.
    assert any(verdicts) or rule.words is choice_letters.words.OPTION


def test_every_role_of_the_words_is_used_and_every_used_one_is_there() -> None:
    known = {role.upper() for role in load_words(WORDS_FILE)[0]}
    used = set()
    for module in WORDS_FILE.parent.glob("*.py"):
        used |= set(re.findall(r"\bwords\.([A-Z_]+)\b", module.read_text(encoding="utf-8")))
    data = WORDS_FILE.read_text(encoding="utf-8")
    combined = set(re.findall(r"[a-z_]+", data.partition('"combined"')[2]))
    assert used <= known
    assert known <= used | {role.upper() for role in combined}


def test_a_role_without_a_meaning_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "words.json"
    path.write_text('{"roles": {}, "languages": {"english": {"label": ["answer"]}}, "combined": {}}', encoding="utf-8")
    with pytest.raises(KeyError, match="label"):
        load_words(path)


def test_a_contraction_is_spelled_out() -> None:
    """In one place, for the rewards and for the verdicts alike."""
    assert spell_out("he couldn't, can't and won't") == "he could not, can not and will not"
    assert spell_out("that's why they'd stop who'd know") == "that is why they would stop who would know"
    assert spell_out("the cook's knife") == "the cook's knife"

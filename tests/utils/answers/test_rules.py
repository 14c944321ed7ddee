"""Each rule of the readers stands on a labelled response that is read otherwise without it: rules.jsonl names them.

`real`: a response that was collected (from a model, or by others) is read otherwise without the rule. `guard`: a text
that we wrote is then read as another answer than its label, not merely left unread. `python tools/reader_rules.py`
writes the table again, and prints the rules that stand on nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from ablation import MODULES, reader_without, rules_of_letters, rules_of_words

RULES: dict[str, dict[str, Any]] = {
    line["rule"]: line
    for line in map(json.loads, Path(__file__).with_name("rules.jsonl").read_text(encoding="utf-8").splitlines())
}


def check(reader: str, rules: Collection[str]) -> None:
    """What a rule stands on is read rightly, and without the rule wrongly."""
    assert [rule for rule in rules if rule not in RULES] == [], "rules without a response: tools/reader_rules.py"
    whole = reader_without(reader)
    for rule in rules:
        case = RULES[rule]
        right = {"real": [case["expected"]], "guard": [case["expected"], None]}[case["stands"]]
        read = reader_without(reader, {rule})(case)
        assert whole(case) in right and read not in right, (rule, case, read)


@pytest.mark.slow
def test_each_rule_of_the_letters_stands_on_a_response() -> None:
    assert len(rules_of_letters()) >= 40
    check("choice", rules_of_letters())


@pytest.mark.slow
@pytest.mark.parametrize("reader", MODULES)
def test_each_role_and_language_of_the_word_lists_stands_on_a_response(reader: str) -> None:
    check(reader, rules_of_words(reader))


def test_the_table_names_no_rule_that_is_not_there() -> None:
    known = [*rules_of_letters(), *(rule for reader in MODULES for rule in rules_of_words(reader))]
    assert sorted(RULES) == sorted(known)

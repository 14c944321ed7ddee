"""Which rules of `lmms-eval-tasks bias` choose right options more often than guessing."""

from __future__ import annotations

from collections.abc import Iterable
from string import ascii_uppercase

from lmms_eval_tasks.utils.scoring.bootstrap import Estimate
from lmms_eval_tasks.utils.scoring.shortcuts import ChoiceItem, ShortcutScore, chance, score_shortcut, text_shortcuts


def rules_above_chance(asked: Iterable[tuple[str, str, Iterable[str], str]]) -> list[str]:
    """The rules whose interval lies above guessing; of each question its group, text, options and right letter."""
    items = [
        ChoiceItem(group, (), question, tuple(options), ascii_uppercase.index(answer))
        for group, question, options, answer in asked
    ]
    guessed = single(chance(items, None)).value
    scores = [score_shortcut(rule, items, None) for rule in text_shortcuts(items)]
    return [one.name for one in scores if single(one).low > guessed]


def single(score: ShortcutScore) -> Estimate:
    """Its share of questions answered right."""
    assert score.single is not None, score.name
    return score.single

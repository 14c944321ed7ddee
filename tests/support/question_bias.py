"""Which rules of `lmms-eval-tasks bias` choose right options more often than guessing, after Holm's correction."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from string import ascii_uppercase

from lmms_eval_tasks.utils.scoring.shortcuts import ChoiceItem, Shortcut, constant_shortcuts, text_shortcuts
from lmms_eval_tasks.worlds.questions.question import Question

Stratum = Callable[[Question], tuple[str, ...]]


def rules_above_chance(questions: Sequence[Question], stratum: Stratum, level: float = 0.05) -> list[str]:
    """Names of the rules that are above chance, one-sided, over the rules of all tasks together."""
    by_task: defaultdict[str, list[Question]] = defaultdict(list)
    for question in questions:
        by_task[question.task].append(question)
    found = []
    for task, asked in by_task.items():
        items = choice_items(asked, stratum)
        rules = text_shortcuts(items) if asked[0].options else constant_shortcuts(items)
        found += [(chance_of(rule, items), f"{task}: {rule.name}") for rule in rules]
    rejected = []
    for place, (chance, name) in enumerate(sorted(found)):
        if chance > level / (len(found) - place):
            break
        rejected.append(name)
    return rejected


def choice_items(questions: Sequence[Question], stratum: Stratum) -> list[ChoiceItem]:
    """Questions as `bias` takes them; those without options are a choice among the answers that occur."""
    answers = tuple(sorted({one.answer for one in questions if not one.options}))
    return [
        ChoiceItem(
            one.group_id,
            stratum(one),
            one.question,
            answers or tuple(one.options),
            (answers or tuple(ascii_uppercase)).index(one.answer),
        )
        for one in questions
    ]


def chance_of(rule: Shortcut, items: Sequence[ChoiceItem]) -> float:
    """The chance that guessing is as often right as a rule, by the normal distribution over groups."""
    groups: defaultdict[object, float] = defaultdict(float)
    for item, choice in zip(items, rule.choose(items), strict=True):
        assert item.key is not None
        groups[item.group] += choice[item.key] - 1 / len(item.options)
    spread = math.sqrt(sum(one * one for one in groups.values()))
    return 0.5 * math.erfc(sum(groups.values()) / spread / math.sqrt(2)) if spread else 0.5

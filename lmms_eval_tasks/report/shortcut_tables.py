"""Tables of shortcuts for `lmms-eval-tasks bias`: accuracy of rules that need no clip, on the questions of a split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm, Task
from lmms_eval_tasks.utils.core.output import Cell, FittingTable, Number, show_progress, text_table
from lmms_eval_tasks.utils.data.card import Card
from lmms_eval_tasks.utils.data.home import load_table
from lmms_eval_tasks.utils.scoring import shortcuts
from lmms_eval_tasks.utils.scoring.bootstrap import Estimate

MOST_ANSWERS = 6
"""Different keys up to which questions without options count as a choice among the keys."""


@dataclass(frozen=True)
class ChoiceSet:
    """The questions of one split, as the tasks ask them that share their items."""

    tasks: tuple[str, ...]
    items: tuple[shortcuts.ChoiceItem, ...]
    left_out: int
    together: int | None
    whole: str
    from_keys: bool


def read_choice_sets(card: Card, tasks: Iterable[Task], split: str) -> list[ChoiceSet]:
    """The sets of questions of a prepared split; none where nothing of it is answered by choosing."""
    by_items: dict[Any, list[Task]] = {}
    for task in tasks:
        if task.split == split and task.kind.answer_form is AnswerForm.WORDS:
            by_items.setdefault(task.kind.rows, []).append(task)
    table = load_table(card, split, require_clips=False)
    sets = []
    for change, sharing in by_items.items():
        with _without_bars():
            rows = list(change(table) if change else table)
        items, from_keys = _read_items(rows, card.strata_columns)
        if items:
            # What counts only together does so in the first score that says it.
            known = (metric for task in sharing for metric in task.kind.metrics if metric.together)
            together, whole = next(((metric.together, metric.title) for metric in known), (None, ""))
            names = tuple(task.name for task in sharing)
            sets.append(ChoiceSet(names, tuple(items), len(rows) - len(items), together, whole, from_keys))
    return sets


@contextmanager
def _without_bars() -> Iterator[None]:
    import datasets

    shown = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            datasets.enable_progress_bars()


def _read_items(rows: Sequence[Mapping[str, Any]], strata: Sequence[str]) -> tuple[list[shortcuts.ChoiceItem], bool]:
    """The items that have two options or more, and whether their options are the keys that occur."""
    from_keys = not any(row["options"] for row in rows)
    answers = sorted({row["answer"] for row in rows if row["answer"]}) if from_keys else []
    if from_keys and len(answers) > MOST_ANSWERS:
        return [], True
    items = []
    for row in rows:
        options = tuple(answers or row["options"])
        known = tuple(answers or ascii_uppercase[: len(options)])
        if len(options) < 2:
            continue
        # The same group id in two subsets names two groups.
        group = (row["group_id"], row.get("subset"))
        key = known.index(row["answer"]) if row["answer"] in known else None
        stratum = tuple(str(row[name]) for name in strata)
        items.append(shortcuts.ChoiceItem(group, stratum, str(row["question"] or ""), options, key))
    return items, from_keys


HOW = (
    "Percent of items, with 95% intervals over groups; above/below: the interval, as printed, excludes what guessing "
    "scores; open: it contains it. A tie is a guess among those tied, the same for items with the same texts. Most "
    "frequent answer: the option that is most often right in the other groups of its stratum (leave one group out). "
    "Like the question: share of an option's words and pairs of words that the question has. decided: items of which "
    "one option is liked best."
)
PAIRED = "removed: of the right answers to items that count together, those in no group that is wholly right."
WITHHELD = "The release withholds the keys, so no accuracy can be computed: only the rules' choices are shown."


def describe_set(one: ChoiceSet) -> str:
    counts = Counter(len(item.options) for item in one.items)
    if one.from_keys:
        return f"{len(one.items):,} items without options, whose keys are {', '.join(one.items[0].options)},"
    options = " or ".join(str(number) for number in sorted(counts))
    return f"{len(one.items):,} items of {options} options"


def rules_of(one: ChoiceSet, model: shortcuts.TextModel | None) -> list[shortcuts.Shortcut]:
    rules = shortcuts.constant_shortcuts(one.items) if one.from_keys else shortcuts.text_shortcuts(one.items)
    if model is None:
        return rules
    with show_progress() as progress:
        return [*rules, *shortcuts.prior_shortcuts(model, one.items, progress)]


def score_table(one: ChoiceSet, rules: list[shortcuts.Shortcut]) -> FittingTable:
    guess = shortcuts.chance(one.items, one.together)
    scores = [shortcuts.score_shortcut(rule, one.items, one.together) for rule in rules]
    with_pairs = guess.pair is not None
    headings = ["choice", "decided", "single accuracy", *([one.whole, "removed"] if with_pairs else [])]
    table = text_table(None, *headings)
    for score in (guess, *scores):
        cells: list[Cell] = [_share(score.decided), _cell(score.single, guess.single)]
        if with_pairs:
            cells += [_cell(score.pair, guess.pair), "" if score.removed is None else _share(score.removed)]
        table.add_row(score.name, *cells)
    return table


def _cell(score: Estimate | None, guess: Estimate | None) -> Number:
    """A score with its interval, and on which side of guessing that lies; guessing itself has neither."""
    if score is None or guess is None:
        return Number(None, unit="%")
    if score is guess:
        return Number(score.value, n=score.groups, unit="%")
    found = Number(score.value, score.low, score.high, score.groups, "%")
    return replace(found, mark=found.side_of(guess.value))


def _share(percent: float, digits: int = 0) -> Number:
    return Number(percent, unit="%", digits=digits, after="%")


def choice_table(one: ChoiceSet, rules: list[shortcuts.Shortcut]) -> FittingTable:
    """Without keys: of how many items each rule likes one option best, and how often it chooses alike in a group."""
    shares = {rule.name: shortcuts.same_choice(rule, one.items, one.together) for rule in rules}
    grouped = any(share is not None for share in shares.values())
    table = text_table(None, "choice", "decided", *(["same text in a group"] if grouped else []))
    for rule in rules:
        share = shares[rule.name]
        same = Number(None, unit="%") if share is None else _share(share, digits=1)
        decided = shortcuts.score_shortcut(rule, one.items, one.together).decided
        table.add_row(rule.name, _share(decided), *([same] if grouped else []))
    return table

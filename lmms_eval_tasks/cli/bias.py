"""`lmms-eval-tasks bias`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from lmms_eval_tasks.cli.options import FormatOption
from lmms_eval_tasks.installed.registry import read_card, registry
from lmms_eval_tasks.utils.core.cells import Cell, Number
from lmms_eval_tasks.utils.core.console import show_progress, text_table
from lmms_eval_tasks.utils.core.output import open_output
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.data.home import read_manifest
from lmms_eval_tasks.utils.reporting.references import compare_to_reference
from lmms_eval_tasks.utils.stats.choice_sets import ChoiceSet, read_choice_sets
from lmms_eval_tasks.utils.stats.estimates import METHOD
from lmms_eval_tasks.utils.stats.shortcuts import (
    FREQUENT_ANSWER,
    Shortcut,
    chance,
    constant_shortcuts,
    same_choice,
    score_shortcut,
    text_shortcuts,
)

if TYPE_CHECKING:
    from lmms_eval_tasks.utils.core.tables import FittingTable
    from lmms_eval_tasks.utils.stats.estimates import Estimate
    from lmms_eval_tasks.utils.stats.option_priors import TextModel

HOW = (
    "Percent of items, with 95% intervals over groups; above/below: the interval excludes what guessing scores; open: "
    "it contains it. A tie is a guess among those tied, the same for items with the same texts. Most frequent answer: "
    "the option that is most often right in the other groups of its stratum (leave one group out). Like the question: "
    "share of an option's words and pairs of words that the question has. decided: items of which one option is liked "
    "best."
)
PAIRED = "removed: of the right answers to items that count together, those in no group that is wholly right."
WITHHELD = "The release withholds the keys, so no accuracy can be computed: only what the rules choose is shown."


def bias(
    benchmark: Annotated[str, typer.Argument(help="A prepared benchmark whose questions have options.")],
    split: Annotated[str, typer.Option(help="Only this split; all that are prepared by default.")] = "",
    model: Annotated[
        str, typer.Option(help="A causal language model, by name or folder, whose likeliest option is a rule too.")
    ] = "",
    form: FormatOption = None,
) -> None:
    """Show what the prepared questions give away without a clip: places, lengths, frequent answers, likely options."""
    card, own = read_card(benchmark), registry().tasks_of(benchmark).values()
    manifest = read_manifest(card)
    splits = [split] if split else list(manifest.splits)
    sets = {name: read_choice_sets(card, own, name) for name in splits}
    if not any(sets.values()):
        raise InputError(
            f"{card.title} has no questions that are answered by choosing among options, so there is nothing that a "
            "rule could choose."
        )
    text_model = _load(model) if model else None
    with open_output("bias", form) as output:
        paired = False
        for name in splits:
            for number, one in enumerate(sets[name]):
                rules = _rules(one, text_model)
                keyless = sum(item.key is None for item in one.items)
                withheld = keyless == len(one.items)
                if withheld:
                    table = _choice_table(one, [rule for rule in rules if rule is not FREQUENT_ANSWER])
                else:
                    table = _score_table(one, rules)
                    paired = paired or one.together is not None
                groups = len({item.group for item in one.items})
                tasks = f" as {one.tasks[0]} asks them" if number else ""
                table.title = f"{benchmark}, {name}{tasks}: {_size(one)} in {groups:,} groups"
                table.signature = f"{benchmark}, {name}; {METHOD}"
                if apart := manifest.splits[name].data_set.apart:
                    table.warnings.append(f"{apart}: it says nothing about the whole release")
                if one.left_out:
                    table.warnings.append(f"without options, and left out: {one.left_out:,} items")
                if keyless:
                    table.warnings.append(
                        WITHHELD if withheld else f"without a key, and in no accuracy: {keyless:,} items"
                    )
                output.table(table, gap=True)
        output.note(f"{HOW} {PAIRED}" if paired else HOW)


def _load(name: str) -> TextModel:
    from lmms_eval_tasks.utils.stats.option_priors import TextModel

    return TextModel(name)


def _size(one: ChoiceSet) -> str:
    counts = Counter(len(item.options) for item in one.items)
    if one.from_keys:
        return f"{len(one.items):,} items without options, whose keys are {', '.join(one.items[0].options)},"
    options = " or ".join(str(number) for number in sorted(counts))
    return f"{len(one.items):,} items of {options} options"


def _rules(one: ChoiceSet, model: TextModel | None) -> list[Shortcut]:
    rules = constant_shortcuts(one.items) if one.from_keys else text_shortcuts(one.items)
    if model is None:
        return rules
    from lmms_eval_tasks.utils.stats.option_priors import prior_shortcuts

    with show_progress() as progress:
        return [*rules, *prior_shortcuts(model, one.items, progress)]


def _score_table(one: ChoiceSet, rules: list[Shortcut]) -> FittingTable:
    """Each rule's accuracy on items and on groups beside that of guessing, which is the first row."""
    guess = chance(one.items, one.together)
    scores = [score_shortcut(rule, one.items, one.together) for rule in rules]
    with_pairs = guess.pair is not None
    headings = ["what is chosen", "decided", "single accuracy", *([one.whole, "removed"] if with_pairs else [])]
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
    mark = compare_to_reference(score, guess.value)
    return Number(score.value, score.low, score.high, score.groups, "%", mark=mark)


def _share(percent: float, digits: int = 0) -> Number:
    return Number(percent, unit="%", digits=digits, after="%")


def _choice_table(one: ChoiceSet, rules: list[Shortcut]) -> FittingTable:
    """Without keys: of how many items each rule likes one option best, and how often it chooses alike in a group."""
    shares = {rule.name: same_choice(rule, one.items, one.together) for rule in rules}
    grouped = any(share is not None for share in shares.values())
    table = text_table(None, "what is chosen", "decided", *(["same text in a group"] if grouped else []))
    for rule in rules:
        share = shares[rule.name]
        same = Number(None, unit="%") if share is None else _share(share, digits=1)
        decided = score_shortcut(rule, one.items, one.together).decided
        table.add_row(rule.name, _share(decided), *([same] if grouped else []))
    return table

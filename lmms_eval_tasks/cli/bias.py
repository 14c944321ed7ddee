"""`lmms-eval-tasks bias`."""

from __future__ import annotations

from typing import Annotated

import typer

from lmms_eval_tasks.cli.options import FormatOption
from lmms_eval_tasks.registry import read_card, registry
from lmms_eval_tasks.report import shortcut_tables
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.output import open_output
from lmms_eval_tasks.utils.data.home import read_manifest
from lmms_eval_tasks.utils.scoring.bootstrap import METHOD
from lmms_eval_tasks.utils.scoring.shortcuts import FREQUENT_ANSWER, TextModel


def bias(
    benchmark: Annotated[str, typer.Argument(help="A prepared benchmark whose questions have options.")],
    split: Annotated[str, typer.Option(help="Only this split; all that are prepared by default.")] = "",
    model: Annotated[
        str, typer.Option(help="A causal language model, by name or folder, whose likeliest option is a rule too.")
    ] = "",
    form: FormatOption = None,
) -> None:
    """Show how far the text alone gives the answers away: by an option's place, length, frequency or likelihood.

    Examples:
        lmms-eval-tasks bias mvp
        lmms-eval-tasks bias causalvqa --split debug --model Qwen/Qwen2.5-0.5B
    """
    card, own = read_card(benchmark), registry().tasks_of(benchmark).values()
    manifest = read_manifest(card)
    splits = [split] if split else list(manifest.splits)
    sets = {name: shortcut_tables.read_choice_sets(card, own, name) for name in splits}
    if not any(sets.values()):
        raise InputError(
            f"{card.title} has no questions that are answered by choosing among options, so there is nothing that a "
            "rule could choose."
        )
    text_model = TextModel(model) if model else None
    with open_output("bias", form) as output:
        paired = False
        for name in splits:
            for number, one in enumerate(sets[name]):
                rules = shortcut_tables.rules_of(one, text_model)
                keyless = sum(item.key is None for item in one.items)
                withheld = keyless == len(one.items)
                if withheld:
                    table = shortcut_tables.choice_table(one, [rule for rule in rules if rule is not FREQUENT_ANSWER])
                else:
                    table = shortcut_tables.score_table(one, rules)
                    paired = paired or one.together is not None
                groups = len({item.group for item in one.items})
                tasks = f" as {one.tasks[0]} asks them" if number else ""
                table.title = f"{benchmark}, {name}{tasks}: {shortcut_tables.describe_set(one)} in {groups:,} groups"
                table.signature = f"{benchmark}, {name}; {METHOD}"
                if apart := manifest.splits[name].data_set.apart:
                    table.warnings.append(f"{apart}: it says nothing about the whole release")
                if one.left_out:
                    table.warnings.append(f"without options, and left out: {one.left_out:,} items")
                if keyless:
                    table.warnings.append(
                        shortcut_tables.WITHHELD
                        if withheld
                        else f"without a key, and in no accuracy: {keyless:,} items"
                    )
                output.table(table, gap=True)
        output.note(f"{shortcut_tables.HOW} {shortcut_tables.PAIRED}" if paired else shortcut_tables.HOW)

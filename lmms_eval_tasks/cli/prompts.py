"""`lmms-eval-tasks prompts`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.prompting import imported, installed_official, prompt_ids, read_prompt
from lmms_eval_tasks.registry import find_benchmark, registry
from lmms_eval_tasks.utils.answers.hooks import OFFICIAL
from lmms_eval_tasks.utils.benchmark.tasks import task_configs
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.output import make_console, text_table
from lmms_eval_tasks.utils.core.text import summarize_names

prompts_app = typer.Typer(no_args_is_help=True, help="List prompts, and import official ones.")
SHOWN = 16


@prompts_app.command("import")
def import_prompt(
    benchmark: Annotated[str, typer.Argument(help="Name of the benchmark.")],
    checkout: Annotated[Path, typer.Option("--from", help="Your checkout of the official repository.")],
    accept_other: Annotated[
        bool, typer.Option("--accept-other", help="Keep a text that is not the official one, under another name.")
    ] = False,
) -> None:
    """Take the official prompt from a checkout into the data home, so that runs can choose it.

    Examples:
        lmms-eval-tasks prompts import causalvqa --from CausalVQA
        lmms-eval-tasks prompts import intphys2 --from IntPhys2 --accept-other
    """
    source = find_benchmark(benchmark).official_prompt
    if source is None:
        raise InputError(
            f"{benchmark} has no official prompt to import; `lmms-eval-tasks prompts list` shows those there are."
        )
    prompt = source.import_from(checkout, accept_other)
    name = prompt.prompt_id
    official = "the official text: its SHA-256 is the card's"
    status = official if name == OFFICIAL else "NOT the official text, and never called so"
    use = f"LMMS_EVAL_TASKS_PROMPT={name}" if source.for_items else f"{benchmark} label --prompt {name}"
    console = make_console()
    console.print(f"Imported {source.file} as {name}: {status}.", soft_wrap=True)
    console.print(f"In records: {prompt.signature}. To ask with it: {use}", soft_wrap=True)


@prompts_app.command("list")
def list_prompts() -> None:
    """Show each benchmark's prompts: which its tasks ask with by default, their digests, and which are official.

    Examples:
        lmms-eval-tasks prompts list
        LMMS_EVAL_TASKS_HOME=own lmms-eval-tasks prompts list
    """
    console = make_console()
    for benchmark in registry().benchmarks:
        table = text_table(benchmark, "prompt", "default of", "SHA-256", "official")
        for row in _rows(benchmark):
            table.add_row(*row)
        console.print(table)
    console.print("To choose one: LMMS_EVAL_TASKS_PROMPT=…, or prompt in lmms_eval_specific_kwargs.")


def _rows(benchmark: str) -> list[tuple[str, str, str, str]]:
    users: dict[str, list[str]] = {}
    for task, config in task_configs(find_benchmark(benchmark).folder).items():
        if name := config.get("lmms_eval_specific_kwargs", {}).get("default", {}).get("prompt"):
            users.setdefault(name, []).append(task)
    source = find_benchmark(benchmark).official_prompt
    if source is not None and source.replaces not in users:
        users[source.replaces] = [f"{benchmark} label"]
    absent = _name_imported(benchmark, users)
    official = installed_official(benchmark)
    asked = [official if name == OFFICIAL else read_prompt(name) for name in users if name in (OFFICIAL, *prompt_ids())]
    fields = {prompt.fields for prompt in asked if prompt is not None}
    tasks = {name: summarize_names(of_name, 2) for name, of_name in users.items()}
    rows = [
        (name, tasks.get(name, ""), read_prompt(name).sha256[:SHOWN], "no, ours")
        for name in prompt_ids()
        if read_prompt(name).fields in fields
    ]
    if official is not None:
        rows.append((OFFICIAL, tasks.get(OFFICIAL, ""), official.sha256[:SHOWN], "yes"))
    elif source is not None or OFFICIAL in users:
        rows.append((OFFICIAL, tasks.get(OFFICIAL, ""), "", "not on this machine"))
    for name in imported(benchmark):
        if source is not None and name != OFFICIAL:
            try:
                rows.append((name, tasks.get(name, ""), source.find(name).sha256[:SHOWN], "no, another text"))
            except InputError:
                rows.append((name, "", "", "altered since"))
    return rows + [(name, tasks[name], "", "not on this machine") for name in absent]


def _name_imported(benchmark: str, users: dict[str, list[str]]) -> list[str]:
    """Give what tasks ask with, where it is to be imported, the name that it has here; those that are not here."""
    source, absent = find_benchmark(benchmark).official_prompt, []
    for name in [name for name in users if source and name not in (OFFICIAL, *prompt_ids())]:
        assert source is not None
        try:
            here = source.find(name).prompt_id
        except InputError:
            absent.append(name)
        else:
            users[here] = users.pop(name)
    return absent

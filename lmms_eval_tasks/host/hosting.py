"""What every benchmark's hooks share: opening the prepared table that a task points to, and stopping a run clearly."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loguru import logger

from lmms_eval_tasks.host.judge import check_judge
from lmms_eval_tasks.host.weights import Weights
from lmms_eval_tasks.utils.benchmark.card import read_card
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.data.home import load_table, read_manifest
from lmms_eval_tasks.utils.prompting.official_prompts import check_choice
from lmms_eval_tasks.utils.prompting.prompts import QUESTION_AND_OPTIONS, Prompt, choose_prompt

if TYPE_CHECKING:
    import datasets


@dataclass
class Session:
    """What holds for the whole of a run in this process.

    Attributes:
        clips_needed: False where the model that runs never looks at a clip, so that none has to be there.
        model: The model that runs, once it is loaded; None before and where the host does not tell.
        weights: What the model told of its weights when it was loaded.
        configurations: What a benchmark's tasks read from their configuration and need again when scoring.
        prompts: Benchmark or task to the signature of the prompt that its items are asked with, for their records.
        asked: The prompts themselves, for the run card.
        judge_needed: False where saved responses are scored again with the verdicts that were saved with them.
        verdicts: Those verdicts, in the judge's place; None where nothing was judged.
    """

    clips_needed: bool = True
    model: Any = None
    weights: Weights = field(default_factory=Weights)
    configurations: dict[str, Any] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    asked: dict[str, Prompt] = field(default_factory=dict)
    judge_needed: bool = True
    verdicts: Any = None

    def start(self, clips_needed: bool, judge_needed: bool = True) -> None:
        """A new run begins: forget the last one."""
        self.clips_needed = clips_needed
        self.judge_needed = judge_needed
        self.model = None
        self.weights = Weights()
        self.verdicts = None
        self.configurations.clear()
        self.prompts.clear()
        self.asked.clear()


session = Session()


def open_split(pointer: Mapping[str, Any]) -> datasets.Dataset:
    """The rows of the prepared table that a task's pointer file names.

    Args:
        pointer: ``{"benchmark": …, "split": …}`` and, where a task is a part of a split, ``"subset"``.
            What `check_grading` reads of it is not looked at here.

    Returns:
        The table with the columns ``split``, ``sample`` (whether the data is simulated) and ``asked`` (False where the
        clip is missing and the model needs it), rows at the index that they have in the table or its subset.

    Raises:
        InputError: where the split is not prepared, clips are missing and that is not allowed, or the run's choice of
            prompt names none.
    """
    benchmark, split = pointer["benchmark"], pointer["split"]
    check_choice(benchmark)
    table = load_table(benchmark, split, require_clips=session.clips_needed)
    if subset := pointer.get("subset"):
        table = table.select([row for row, value in enumerate(table["subset"]) if value == subset])
    asked = [present or not session.clips_needed for present in table["clip_present"]]
    sample = read_manifest(benchmark).splits[split].sample
    for name, column in {"split": [split] * len(asked), "sample": [sample] * len(asked), "asked": asked}.items():
        table = table.add_column(name, column)
    return table


def check_grading(pointer: Mapping[str, Any]) -> None:
    """Refuse a run of a task that a judge grades, where the judge cannot be asked.

    Args:
        pointer: As for `open_split`, and ``"judged": true`` where the task needs the judge.

    Raises:
        InputError: where no judge is named, nor that there is to be none, or its settings cannot be used.
    """
    if not pointer.get("judged") or not session.judge_needed:
        return
    try:
        check_judge()
    except InputError as error:
        raise InputError(f"{read_card(pointer['benchmark']).title}'s free answers need a judge. {error}") from None


def process_docs(dataset: datasets.Dataset) -> datasets.Dataset:
    """lmms-eval's ``process_docs``: swap a one-row pointer for the prepared table.

    Raises:
        SystemExit: with the message of `open_split` or `check_grading`; lmms-eval retries and hides every other
            exception.
    """
    try:
        check_grading(dataset[0])
        return open_split(dataset[0])
    except InputError as error:
        raise SystemExit(f"\n{error}") from None


def stop_if_any(message: str | None) -> None:
    """End the run on every rank where one of them has a message; every rank has to call this.

    The first rank prints the messages, each once. The others wait for it, because the launcher ends all ranks as soon
    as one has ended.

    Args:
        message: Why this rank cannot go on; None where it can.

    Raises:
        SystemExit: on every rank.
    """
    import torch.distributed as dist

    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        if message:
            raise SystemExit(f"\n{message}")
        return
    messages: list[str | None] = [None] * dist.get_world_size()
    dist.all_gather_object(messages, message)
    found = list(dict.fromkeys(text for text in messages if text))
    if not found:
        return
    if dist.get_rank() == 0:
        os.write(2, "".join(f"\n{text}\n" for text in found).encode())
    dist.barrier()
    raise SystemExit(1)


def submissions_dir(args: Any) -> Path | None:
    """Where submission files go: ``submissions`` in the run's output path; None where the run has none."""
    output_path = getattr(args, "output_path", None)
    return Path(output_path) / "submissions" if output_path else None


def tell_submission(path: Path, rows: int, expected: int, empty: int) -> None:
    """Log what a submission file that has just been written holds, as a warning where it is not all it could be.

    Args:
        path: The file.
        rows: Its rows.
        expected: How many items the split has.
        empty: Rows whose answer is empty, because it was unparsed or the item could not be asked.
    """
    parts = [f"{path} holds {rows} of {expected} items"]
    if rows < expected:
        parts.append("it is incomplete and a leaderboard should refuse it")
    if empty:
        parts.append(f"{empty} answers, unparsed or never asked, are empty texts, which no scorer takes for an option")
    (logger.warning if len(parts) > 1 else logger.info)("; ".join(parts))


def asked_prompt(
    task: str,
    kwargs: Mapping[str, Any] | None,
    find: Callable[[str], Prompt] | None = None,
    fields: frozenset[str] = QUESTION_AND_OPTIONS,
) -> Prompt:
    """`choose_prompt`, its signature kept for the records: lmms-eval does not hand the configuration to scoring.

    Args:
        task: The task, or the benchmark where all of its tasks ask alike.
        kwargs: As for `choose_prompt`.
        find: As for `choose_prompt`.
        fields: As for `choose_prompt`.

    Raises:
        SystemExit: where there is no such prompt, or another one was asked with before in this run, with a message;
            lmms-eval would print a traceback and end with status 0.
    """
    try:
        prompt = choose_prompt(kwargs, find, fields)
    except InputError as error:
        raise SystemExit(f"\n{error}") from None
    if (first := session.prompts.setdefault(task, prompt.signature)) != prompt.signature:
        raise SystemExit(
            f"\nTasks of this run ask {task} with different prompts, {first} and {prompt.signature}: run them one at a "
            "time."
        )
    session.asked[task] = prompt
    return prompt

"""What every benchmark's hooks share: opening the prepared table that a task points to, and stopping a run clearly."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from lmms_eval_tasks.utils.home import load_table, read_manifest
from lmms_eval_tasks.utils.problems import InputError

if TYPE_CHECKING:
    import datasets


@dataclass
class Session:
    """What holds for the whole of a run in this process.

    Attributes:
        clips_needed: False where the model that runs never looks at a clip, so that none has to be there.
        model: The model that runs, once it is loaded; None before and where the host does not tell.
        configurations: What a benchmark's tasks read from their configuration and need again when scoring.
    """

    clips_needed: bool = True
    model: Any = None
    configurations: dict[str, Any] = field(default_factory=dict)

    def start(self, clips_needed: bool) -> None:
        """A new run begins: forget the last one."""
        self.clips_needed = clips_needed
        self.model = None
        self.configurations.clear()


session = Session()


def open_split(pointer: Mapping[str, str]) -> datasets.Dataset:
    """The rows of the prepared table that a task's pointer file names.

    Args:
        pointer: ``{"benchmark": …, "split": …}`` and, where a task is a part of a split, ``"subset"``.

    Returns:
        The table with the columns ``split``, ``sample`` (whether the data is simulated) and ``asked`` (False where the
        clip is missing and the model needs it), rows at the index that they have in the table or its subset.

    Raises:
        InputError: where the split is not prepared, or clips are missing and that is not allowed.
    """
    benchmark, split = pointer["benchmark"], pointer["split"]
    table = load_table(benchmark, split, require_clips=session.clips_needed)
    if subset := pointer.get("subset"):
        table = table.select([row for row, value in enumerate(table["subset"]) if value == subset])
    asked = [present or not session.clips_needed for present in table["clip_present"]]
    sample = read_manifest(benchmark).splits[split].sample
    for name, column in {"split": [split] * len(asked), "sample": [sample] * len(asked), "asked": asked}.items():
        table = table.add_column(name, column)
    return table


def process_docs(dataset: datasets.Dataset) -> datasets.Dataset:
    """lmms-eval's ``process_docs``: swap a one-row pointer for the prepared table.

    Raises:
        SystemExit: with the message of `open_split`; lmms-eval retries and hides every other exception.
    """
    try:
        return open_split(dataset[0])
    except InputError as error:
        raise SystemExit(f"\n{error}") from None


def stop_all_ranks(message: str) -> NoReturn:
    """End the run on every rank with one message; to be called by all ranks.

    The first rank prints. The others wait for it, because the launcher ends all ranks as soon as one has ended.
    """
    import torch.distributed as dist

    together = dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
    first = not together or dist.get_rank() == 0
    if first and together:
        os.write(2, f"\n{message}\n".encode())
    if together:
        dist.barrier()
    raise SystemExit(1 if together else f"\n{message}")


def submissions_dir(args: Any) -> Path | None:
    """Where submission files go: ``submissions`` in the run's output path; None where the run has none."""
    output_path = getattr(args, "output_path", None)
    return Path(output_path) / "submissions" if output_path else None


def output_notice(rows: int, total: int, unparsed: int, path: Path) -> str:
    """What to tell about a submission file that has just been written."""
    parts = [f"{path} holds {rows} of {total} items"]
    if rows < total:
        parts.append("it is incomplete and a leaderboard should refuse it")
    if unparsed:
        parts.append(f"{unparsed} unparsed answers are written as empty text, which no scorer takes for an option")
    return "; ".join(parts)

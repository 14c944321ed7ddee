"""Whether the parts of a launch are merged already, and whether they can be."""

from __future__ import annotations

from pathlib import Path

from lmms_eval_tasks.launch.plan import OUTPUT, LaunchPlan
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.data.manifest import file_sha256
from lmms_eval_tasks.utils.runs.results_file import card_path, results_files
from lmms_eval_tasks.utils.runs.run_card import read_run_card
from lmms_eval_tasks.utils.runs.shards import Shard

MERGED = "merged"
"""The section of a card that `merge` writes: each part, and its results file with its SHA-256."""


def find_merged(plan: LaunchPlan) -> Path | None:
    """The results file of the run that the parts were merged into; None where they are not."""
    runs = results_files(plan.out)
    if not runs:
        return None
    cards = {path: read_run_card(card_path(path)).get(MERGED, {}) for path in runs}
    if other := next((path for path, merged in cards.items() if not merged), None):
        raise InputError(f"The parts could not be merged beside the run {other}. Give another {OUTPUT}.")
    parts = {
        f"part {Shard(part.number, part.count)}": f"{part.read_results().name} {file_sha256(part.read_results())}"
        for part in plan.parts
        if part.is_done
    }
    complete = len(parts) == len(plan.parts)
    return next((path for path, merged in cards.items() if complete and parts.items() <= merged.items()), None)

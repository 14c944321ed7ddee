"""A small release of every benchmark, prepared, and answers to all of its items."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

from cast_bench import ROW, row
from cast_bench import write_release as write_cast_bench
from hook_runs import MVP_MINI, Answer
from releases import question_row, write_causalvqa, write_clip, write_mvp
from yocausal_records import denoised
from yocausal_world import write_release as write_yocausal

from lmms_eval_tasks.cast_bench.benchmark import prepare as prepare_cast_bench
from lmms_eval_tasks.cast_bench.card import CARD as CAST_BENCH
from lmms_eval_tasks.causalvqa.benchmark import CARD as CAUSALVQA
from lmms_eval_tasks.causalvqa.benchmark import prepare as prepare_causalvqa
from lmms_eval_tasks.intphys2.benchmark import prepare as prepare_intphys2
from lmms_eval_tasks.intphys2.card import CARD as INTPHYS2
from lmms_eval_tasks.mvp.benchmark import CARD as MVP
from lmms_eval_tasks.mvp.benchmark import prepare as prepare_mvp
from lmms_eval_tasks.utils.data.card import SplitFacts
from lmms_eval_tasks.utils.data.prepare import Preparation
from lmms_eval_tasks.yocausal.card import CARD as YOCAUSAL
from lmms_eval_tasks.yocausal.prepare import prepare as prepare_yocausal

Line = dict[str, Any]
"""A line of a sample log."""
SUBSETS = {
    "human_object_interactions": "pt",
    "robot_object_interactions": "language_table",
    "intuitive_physics": "grasp",
    "temporal_reasoning": "star",
}
HELD_OUT = ("held_1", "held_2")
"""Names of IntPhys 2's held-out clips."""


def prepare_world(root: Path) -> None:
    """Prepare it in the data home that the environment names; the files of the releases go below `root`.

    It is taken for the official releases, as if these were as small.
    """
    with ExitStack() as stack:
        for card, sizes in ((CAUSALVQA, {"test": 2, "debug": 1}), (MVP, {"mini": 4})):
            whole = {split: SplitFacts(2 * groups, groups) for split, groups in sizes.items()}
            stack.enter_context(patch.dict(card.splits, whole))
        for card, split, items in ((CAST_BENCH, "test", 3), (YOCAUSAL, "test", 8), (INTPHYS2, "heldout", 2)):
            stack.enter_context(patch.dict(card.splits, {split: SplitFacts(items, items)}))
        stack.enter_context(taken_for_released())
        _prepare_world(root)


def taken_for_released() -> AbstractContextManager[object]:
    """Every release that is prepared passes for its authors'."""
    return patch("lmms_eval_tasks.utils.data.identity.is_released", return_value=True)


def _prepare_world(root: Path) -> None:
    test = [question_row("7", "planning", "medium", (1, 2)), question_row("8", "descriptive", "easy", (3, 4))]
    write_causalvqa(root, "debug", [question_row("1", "planning", "easy", (5, 1))])
    prepare_causalvqa(Preparation(), write_causalvqa(root, "test", test, withheld=True))
    snapshot, videos = write_mvp(root, "mini", {subset: [(f"{kind}_1", kind)] for subset, kind in SUBSETS.items()})
    prepare_mvp(Preparation(), videos, str(snapshot), "mini")
    for name in HELD_OUT:
        write_clip(root / "intphys2" / "HeldOut" / f"{name}.mp4", frames=2)
    prepare_intphys2(Preparation(), str(root / "intphys2"))
    questions = [ROW, row(question="Why does it stop?"), row(question="Who pushed it?", answer="A")]
    prepare_cast_bench(Preparation(), str(write_cast_bench(root / "cast", questions)))
    release = write_yocausal(root / "yocausal", pairs=2)
    (release / "SAMPLE.json").unlink()
    prepare_yocausal(Preparation(), str(release))


def choose(letter: str) -> Answer:
    """One letter for every item."""
    return lambda doc: f"({letter})"


def cast_bench_answer(doc: Mapping[str, Any]) -> str:
    """An answer without evidence."""
    return json.dumps({"instances": [], "answer_choice": "B"})


def losses(doc: Mapping[str, Any]) -> str:
    """Losses by which the forward clip wins in the first pair of each subset, and loses in the others."""
    forward, backward = (0.25, 0.5) if doc["item_id"].endswith("_1") else (0.5, 0.25)
    return denoised(doc["item_id"], forward, backward)


EVERY: dict[str, Answer] = {
    "causalvqa_paired": choose("B"),
    **dict.fromkeys(MVP_MINI, choose("A")),
    "intphys2_heldout": lambda doc: "Yes" if doc["item_id"] == HELD_OUT[0] else "No",
    "cast_bench": cast_bench_answer,
    "yocausal": losses,
}
"""Every benchmark's task, answered."""


def with_log(run: Path, copy: Path, task: str, change: Callable[[list[Line]], list[Line]]) -> Path:
    """A copy of a run whose sample log of a task is changed."""
    shutil.copytree(run, copy)
    (log,) = copy.glob(f"*_samples_{task}.jsonl")
    lines = change([json.loads(line) for line in log.read_text("utf-8").splitlines()])
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return copy

"""Responses and records of the task `yocausal` whose winners and labels are known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.utils.answers.losses import DenoisingResponse, Directed, WindowRecord
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, UnscoredReason


def pair_record(
    item_id: str, subset: str, winner: str | None, causal: object = None, discriminable: object = None
) -> Record:
    """The record of a pair; without a winner it is unscored."""
    outcome = Outcome.UNSCORED if winner is None else Outcome.CORRECT if winner == "forward" else Outcome.WRONG
    return Record(
        item_id=item_id,
        group_id=item_id,
        stratum={"subset": subset},
        expected="forward",
        answered=winner,
        outcome=outcome,
        unscored_reason=UnscoredReason.SHORT_CLIP if winner is None else None,
        fields={"vlm_causality": causal, "human_discriminable": discriminable, "motion_symmetric": None},
    )


def denoised(item_id: str, forward: float, backward: float, **more: Any) -> str:
    """What a model answers whose losses of a pair's two clips are these at both of its timesteps."""
    return DenoisingResponse(
        item_id=item_id,
        loss=Directed(forward=forward, backward=backward),
        losses=Directed(forward=[[forward, forward]], backward=[[backward, backward]]),
        timesteps=[100.0, 200.5],
        windows=[WindowRecord(start=0, stop=5, borrowed=0, skipped=0, latents=2)],
        settings={"model": "Toy", "combine": "latents"},
        settings_digest="0" * 16,
        **more,
    ).to_json()


def run(name: str, causal: str, other: str = "", kind: SetKind = SetKind.OFFICIAL, task: str = "yocausal") -> Run:
    """A run that wins (+) or loses (-) pairs of the causal half and of the other."""
    wins = [(won, half) for half, part in ((True, causal), (False, other)) for won in part]
    records = tuple(
        pair_record(f"animal_{number}", "animal", "forward" if won == "+" else "backward", half).with_fields(model=name)
        for number, (won, half) in enumerate(wins)
    )
    path = Path(f"out/{name}/1_results.json")
    return Run(path, "video_diffusion", {task: records}, {}, {}, {task: DataSet(kind=kind)})


def logged(folder: Path, model: str, prompt: str, wins: str) -> Run:
    """A run of two pairs of each half whose sample log says with which prompt it was measured."""
    folder.mkdir()
    finished = replace(run(model, wins[:2], wins[2:]), path=folder / "1_results.json")
    loss = {"item_id": "x", "forward": 1.0, "backward": 2.0, "digest": "", "versions": {}}
    steps = {"steps": {"forward": [], "backward": []}, "timesteps": []}
    rows = {"submission_rows": {**loss, **steps, "settings": {"model": model, "prompt": prompt}}}
    records = [one.with_fields(motion_symmetric=False) for one in finished.records["yocausal"]]
    lines = [json.dumps({**rows, "record": one.to_json()}) + "\n" for one in records]
    (folder / "1_samples_yocausal.jsonl").write_text("".join(lines))
    return finished

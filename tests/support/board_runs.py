"""Runs as a repository of results keeps them: files of scores and cards, without items."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmms_eval_tasks.mvp.benchmark import SUBSETS
from lmms_eval_tasks.runs.scores import PartScores, ScoreEntry, ScoresFile, scores_text
from lmms_eval_tasks.utils.data.card import DataSet, SetKind

TASK = "mvp_mini"
OFFICIAL = DataSet(kind=SetKind.OFFICIAL, items=1586, of=1586)
OWN = DataSet(kind=SetKind.OWN, items=40)
Span = tuple[float | None, float | None, float | None]


def entry(metric: str, span: Span, groups: int = 793) -> ScoreEntry:
    """A score, given with its interval."""
    value, low, high = span
    return ScoreEntry(
        metric=metric,
        title=metric.replace("_", " "),
        kind="mean",
        unit="%",
        higher_is_better=True,
        value=value,
        low=low,
        high=high,
        groups=groups,
        items=2 * groups,
    )


def part(
    span: Span,
    name: str = TASK,
    version: str = "1-A",
    view: str = "",
    data: DataSet = OFFICIAL,
    apart: str | None = None,
    **further: Span,
) -> PartScores:
    """The scores of a task, or of MVP's group, by its leading one; `further` are others, by metric."""
    scores = {"pair_accuracy": span, **further}
    return PartScores(
        name=name,
        tasks=[f"{TASK}_{subset}{name.removeprefix(TASK)}" for subset in SUBSETS] if name.startswith(TASK) else [name],
        benchmark="mvp",
        version=version,
        view=view,
        data=[data],
        apart=data.apart if apart is None else apart,
        outcomes={"correct": 800, "wrong": 786, "unparsed": 0, "unscored": 0},
        leading="pair_accuracy",
        scores=[entry(metric, value) for metric, value in scores.items()],
    )


def write_scored(
    folder: Path,
    *parts: PartScores,
    parameters: int | None = None,
    frames: Mapping[str, Any] | None = None,
    digest: str = "",
    date: str = "20261121",
) -> Path:
    """A folder with a file of scores and a card; its name is the model's."""
    folder.mkdir(parents=True, exist_ok=True)
    scores = ScoresFile(
        form=1,
        lmms_eval_tasks="1.0",
        results=f"{date}_results.json",
        model=folder.name,
        method="95% intervals",
        without_intervals="",
        parts=list(parts),
    )
    (folder / f"{date}_scores.json").write_text(scores_text(scores), encoding="utf-8")
    data = {f"task {task}": {"data sha256": digest} for one in parts for task in one.tasks} if digest else {}
    card = {"model": {"parameters": parameters}, "frames": dict(frames or {}), **data}
    (folder / f"{date}_run_card.json").write_text(json.dumps(card), encoding="utf-8")
    return folder

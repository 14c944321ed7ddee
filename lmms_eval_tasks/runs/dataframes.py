"""Runs as pandas tables: one of scores, one of items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.scores import scores_of
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.scoring.record import Outcome

if TYPE_CHECKING:
    import pandas as pd

STRATUM = "stratum_"
"""Columns of strata begin so."""
_SCORES = {
    **dict.fromkeys(("run", "model", "task", "version", "view", "apart", "metric", "title", "unit"), "string"),
    "leading": "bool",
    **dict.fromkeys(("value", "low", "high"), "float64"),
    **dict.fromkeys(("n", "items", "sampled_from"), "Int64"),
}
_ITEMS = {
    **dict.fromkeys(("run", "model", "task", "item_id", "group_id", "view"), "string"),
    "sample": "Int64",
    "outcome": "category",
    "correct": "boolean",
    **dict.fromkeys(("reason", "expected", "answered"), "string"),
}


class RunTables(NamedTuple):
    """Runs as tables.

    Attributes:
        scores: A row for each run, task or group, and score, with the columns

            - ``run``: the run's name; ``model``: the model with its checkpoint;
            - ``task``: the task or group; ``version``: its version N-X; ``view``: its view, empty of whole items;
            - ``apart``: why it is not compared with published scores, empty of all items of the official release;
            - ``metric``, ``title``, ``unit``: the score; ``leading``: whether it is the one that the paper leads with;
            - ``value``, ``low``, ``high``: the score and its 95% interval in its unit, as `report` has them; NaN where
              there is none;
            - ``n``: how many groups (pairs, clips) it is computed from; ``items``: how many items;
            - ``sampled_from``: how many groups the set has of which a sample was asked, and from which the score of all
              is estimated; missing where all were asked.
        items: A row for each run, task, item and sample of it, with the columns ``run``, ``model``, ``task``,
            ``item_id``, ``group_id``, ``view``, ``sample`` (its number, from 1), ``outcome`` (correct, wrong, unparsed,
            unscored), ``correct`` (missing where the item is unscored), ``reason`` (why it is unscored or unparsed),
            ``expected`` (the key), ``answered`` (what was read of the response), and one beginning with ``stratum_``
            for each stratum of any of the tasks.
    """

    scores: pd.DataFrame
    items: pd.DataFrame


def load_runs(*sources: str | Path, names: Sequence[str] | None = None, allow_incomplete: bool = False) -> RunTables:
    """Read runs as tidy pandas tables: one of scores with their intervals, and one of items.

    Args:
        sources: Output folders of runs, of each its latest run; or results files.
        names: What the runs are called in the column ``run``; without it as in `sources`.
        allow_incomplete: Whether to read the part that is there of a run that was cut short.

    Returns:
        Both tables; `RunTables` lists their columns. They can be unpacked: ``scores, items = load_runs("out/a")``.

    Raises:
        InputError: where a run cannot be read, or has answers alone; where two runs have one name, or there are more or
            fewer names than runs.
        OSError: where a file cannot be read.

    Examples:
        >>> from lmms_eval_tasks.api.runs import load_runs
        >>> scores, items = load_runs("out/qwen", "out/internvl")  # doctest: +SKIP
        >>> scores[scores.leading][["run", "task", "value", "low", "high", "n"]]  # doctest: +SKIP
    """
    called = [str(source) for source in sources] if names is None else list(names)
    if len(called) != len(sources):
        raise InputError(f"Expected a name for each run, but got {len(called)} for {len(sources)}.")
    if doubled := [name for name, count in Counter(called).items() if count > 1]:
        raise InputError(f"Expected another name for each run, but got {', '.join(doubled)} more than once.")
    runs = {name: read_run(Path(source), allow_incomplete) for name, source in zip(called, sources, strict=True)}
    scores = [
        {
            **part.model_dump(include={"version", "view", "apart"}),
            **score.model_dump(),
            **{"run": name, "model": run.name, "task": part.name},
            **{"leading": score.metric == part.leading, "n": score.groups},
            "sampled_from": part.sampled.groups if part.sampled else None,
        }
        for name, run in runs.items()
        for part in scores_of(run).parts
        for score in part.scores
    ]
    items = [
        {
            **vars(record),
            "sample": record.sample or 1,
            **{"run": name, "model": run.name, "task": task, "outcome": record.outcome.value},
            **{
                "correct": record.correct,
                "reason": why.value if (why := record.unscored_reason or record.unparsed_reason) else None,
            },
            **{f"{STRATUM}{column}": value for column, value in record.stratum.items()},
        }
        for name, run in runs.items()
        for task, records in run.records.items()
        for item in records
        for record in item.each
    ]
    strata = dict.fromkeys(column for row in items for column in row if column.startswith(STRATUM))
    return RunTables(_table(scores, _SCORES), _table(items, _ITEMS | dict.fromkeys(strata, "string")))


def _table(rows: Sequence[dict[str, Any]], columns: dict[str, Any]) -> pd.DataFrame:
    import pandas as pd  # half a second, which every command would pay

    outcomes = pd.CategoricalDtype([outcome.value for outcome in Outcome])
    types = {name: outcomes if form == "category" else form for name, form in columns.items()}
    return pd.DataFrame(rows, columns=list(columns)).astype(types)

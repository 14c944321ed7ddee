"""lmms-eval's ``--predict_only``: answers are logged with their items, so that they can be scored later."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lmms_eval_tasks.host.captions import CLIP
from lmms_eval_tasks.host.state import TaskState
from lmms_eval_tasks.utils.runs.results_file import BYPASS, DATA_SET
from lmms_eval_tasks.utils.scoring.records import CUT_OFF, FRAME, HOW_ASKED, Outcome, Record, UnscoredReason


def keep_items(state: TaskState, task: Any) -> None:
    """Let a task whose answers are only kept log their items: lmms-eval has taken the hook away that graded them."""
    grade = state.process_results
    if grade is not None and [entry.get("metric") for entry in task.config.metric_list or ()] == [BYPASS]:
        task.config.process_results = functools.partial(keep_prediction, state, grade)


def keep_prediction(
    state: TaskState, grade: Callable[..., Mapping[str, Any]], doc: Mapping[str, Any], results: Sequence[Any]
) -> dict[str, Any]:
    """What is logged beside an answer that is not graded: an unscored record that says how its item was asked."""
    graded = grade(doc, [""])["record"]
    record = Record.from_json(graded)
    unscored = replace(
        record,
        answered=None,
        outcome=Outcome.UNSCORED,
        unscored_reason=record.unscored_reason if record.unanswered else UnscoredReason.ONLY_PREDICTED,
        detail=record.detail if record.unanswered or record.detail == CUT_OFF else "",
        fields={name: record.fields[name] for name in (*HOW_ASKED, FRAME, CLIP) if name in record.fields},
    )
    return {BYPASS: None, "record": {**unscored.to_json(), DATA_SET: graded[DATA_SET]}}

"""lmms-eval's ``--predict_only``: answers are logged with their items, so that they can be scored later.

lmms-eval then takes a task's hook away that grades, and with it all that names the item of a logged answer.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

from lmms_eval_tasks.host.index import WRAPPED, state_of
from lmms_eval_tasks.utils.runs.results_file import BYPASS


def hook_predict_only() -> None:
    """Wrap the method by which lmms-eval makes a task one whose answers are only kept.

    Raises:
        ImportError, AttributeError, TypeError: where it is not there, or does not take the arguments used here.
    """
    from lmms_eval.api.task import Task

    override = Task.override_metric
    if getattr(override, WRAPPED, False):
        return
    inspect.signature(override).bind(None, metric_name="")

    @functools.wraps(override)
    def override_and_keep_items(self: Any, metric_name: str) -> None:
        state = state_of(self)
        override(self, metric_name)
        if state is not None and metric_name == BYPASS:
            self.config.process_results = state.keep_prediction

    setattr(override_and_keep_items, WRAPPED, True)
    Task.override_metric = override_and_keep_items

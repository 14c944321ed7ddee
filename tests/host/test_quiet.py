"""Silence while lmms-eval's tasks are loaded to be shown, and no longer."""

from __future__ import annotations

import datasets
import pytest
from loguru import logger

from lmms_eval_tasks.host.quiet import quiet_host


def test_messages_and_progress_bars_are_muted_as_long_as_it_lasts_also_where_it_fails(log: list[str]) -> None:
    def heard() -> list[str]:
        """The packages that are heard, and whether bars are shown."""
        log.clear()
        for name in ("lmms_eval.tasks", "other", "lmms_eval_tasks.cli"):
            exec("logger.info(__name__)", {"logger": logger, "__name__": name})
        return [*log, *(() if datasets.are_progress_bars_disabled() else ("bars",))]

    before = heard()
    assert before == ["lmms_eval.tasks", "other", "lmms_eval_tasks.cli", "bars"]
    with pytest.raises(RuntimeError), quiet_host("other"):
        assert heard() == ["lmms_eval_tasks.cli"]
        raise RuntimeError
    assert heard() == before

"""How a run ends that its user interrupts, and one that fails."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from lmms_eval_tasks.host import ranks


def test_an_interruption_is_one_line_and_an_error_has_its_trace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    traced: list[object] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: traced.append(error))
    monkeypatch.setattr(ranks, "logger", SimpleNamespace(add=lambda *sink, **options: None))
    ranks.end_where_lmms_eval_goes_on()
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    said = capsys.readouterr().err
    assert said == "\nInterrupted. The same command begins again, with the answers that are kept.\n" and not traced
    error = ValueError("no number")
    sys.excepthook(ValueError, error, None)
    assert traced == [error] and not capsys.readouterr().err

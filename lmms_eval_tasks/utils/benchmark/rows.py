"""What a row of a prepared table is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]
"""A row of a prepared table: ``item_id``, ``group_id``, ``question``, ``options``, ``answer`` (None where it is
withheld), ``clip``, ``clip_present``, the benchmark's own columns, and ``clip_seconds`` (how long its clips are
together; tables of earlier versions lack it). While a task runs it also has ``asked`` (False where the clip is missing
and the model needs it) and ``split``, and while an answer is graded that used all of its tokens, ``cut_off``."""

"""What a benchmark's own subcommands print with."""

from __future__ import annotations

from lmms_eval_tasks.utils.core.console import make_console, show_progress, text_table

__all__ = [
    "make_console",
    "show_progress",
    "text_table",
]

"""Consoles, tables and progress bars for a benchmark's own subcommands."""

from __future__ import annotations

from lmms_eval_tasks.utils.core.output import make_console, show_progress, text_table

__all__ = ["make_console", "show_progress", "text_table"]

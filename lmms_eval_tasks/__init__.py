"""Video causal-reasoning benchmarks for lmms-eval."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lmms_eval_tasks.finished.dataframes import load_runs

__all__ = ["__version__", "load_runs"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import what needs pandas only where it is asked for: lmms-eval imports this package at every start."""
    if name == "load_runs":
        from importlib import import_module

        return import_module("lmms_eval_tasks.finished.dataframes").load_runs
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

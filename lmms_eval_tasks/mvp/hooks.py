"""Hooks by the names that YAML files of earlier versions give."""

from lmms_eval_tasks.api.hooks import process_results as process_results

"""Prompt texts, one file each, read through `lmms_eval_tasks.utils.prompting.prompts`."""

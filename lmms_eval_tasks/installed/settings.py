"""What reads a task's settings, which name one of this installation's prompts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lmms_eval_tasks.installed.prompts import choose_prompt, prompt_ids, read_prompt
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm, Benchmark, TaskKind, TaskSettings
from lmms_eval_tasks.utils.core.problems import InputError, Problems
from lmms_eval_tasks.utils.evidence.settings import EvidenceSettings, read_evidence_settings
from lmms_eval_tasks.utils.prompting.prompts import QUESTION_AND_OPTIONS, Prompt


def prompt_reader(
    find: Callable[[str], Prompt] | None = None,
    fields: frozenset[str] = QUESTION_AND_OPTIONS,
    default: str | None = None,
) -> Callable[[Mapping[str, Any], Mapping[str, str]], TaskSettings]:
    """What reads the settings of a task of which only the prompt can be chosen, for `TaskKind.read_settings`.

    Args:
        find: Finds the benchmark's own prompts by name, such as ``official``; None where it has none.
        fields: What the task asks with: the fields that a prompt's text has to have.
        default: Id of the prompt where the configuration names none; without it ``mcq_letter``.

    Returns:
        A function of a task's ``lmms_eval_specific_kwargs`` and the environment variables, of which
            LMMS_EVAL_TASKS_PROMPT wins. It raises InputError where no prompt of the name is to be had, or it has other
            fields.
    """

    def read_settings(kwargs: Mapping[str, Any], environment: Mapping[str, str]) -> TaskSettings:
        named = {"prompt": default, **kwargs} if default else kwargs
        return TaskSettings(choose_prompt(named, find, fields, environment))

    return read_settings


def evidence_settings_reader(
    title: str, default: str, find: Callable[[str], Prompt]
) -> Callable[[Mapping[str, Any], Mapping[str, str]], EvidenceSettings]:
    """Reads a task's ``lmms_eval_specific_kwargs``, and what the environment overrides of it for one run.

    The first has ``prompt``; ``boxes``, a `BoxConvention`, and for ``xyxy_resized`` perhaps ``min_pixels`` and
    ``max_pixels``; ``eps_overlap``, ``tau_t``, ``tau_st`` and ``coverage_aware`` as in `GroundingSettings`. What is
    missing has its default; other keys are ignored. The environment may have ``LMMS_EVAL_TASKS_BOXES``, such as
    ``xyxy_resized,min_pixels=3136,max_pixels=602112``, and ``LMMS_EVAL_TASKS_PROMPT``, the id of a prompt.

    Args:
        title: The benchmark's, for messages.
        default: Id of the prompt where the configuration names none.
        find: Finds the benchmark's own prompts, such as ``official``; raises InputError where there is none.

    Returns:
        A function for `TaskKind.read_settings`. It raises InputError, which lists every value that cannot be used.
    """

    def read_settings(kwargs: Mapping[str, Any], environment: Mapping[str, str]) -> EvidenceSettings:
        problems, unknown = Problems(), Problems()
        try:
            prompt = choose_prompt({"prompt": default, **kwargs}, find, environment=environment)
        except InputError as error:
            unknown.add("prompt", str(error))
            prompt = read_prompt(default)
        settings = read_evidence_settings(kwargs, environment, prompt, problems)
        problems.extend(unknown)
        problems.raise_if_any(f"{title} cannot be run as configured")
        return settings

    return read_settings


def read_task_settings(
    benchmark: Benchmark, kind: TaskKind, kwargs: Mapping[str, Any], environment: Mapping[str, str]
) -> TaskSettings:
    """The settings of a benchmark's tasks of a kind, as the kind reads them."""
    if kind.read_settings:
        return kind.read_settings(kwargs, environment)
    if kind.answer_form is not AnswerForm.WORDS:
        return TaskSettings()
    asks_judges = benchmark.official_prompt is not None and not benchmark.official_prompt.for_items
    named = kwargs.get("prompt")
    fields = read_prompt(named).fields if named in prompt_ids() else QUESTION_AND_OPTIONS
    find = None if asks_judges else benchmark.find_prompt
    return prompt_reader(find, fields if fields < QUESTION_AND_OPTIONS else QUESTION_AND_OPTIONS)(kwargs, environment)


def kwargs_for_checks(benchmark: Benchmark, kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
    """A task's ``lmms_eval_specific_kwargs`` as checks use them, which give everybody the same."""
    source = benchmark.official_prompt
    if source is None or not source.for_items or kwargs.get("prompt") in (None, *prompt_ids()):
        return kwargs
    return {**kwargs, "prompt": source.replaces}

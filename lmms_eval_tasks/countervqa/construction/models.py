"""The models that a build asks, all through the one client of judges, with every reply recorded in the set's folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lmms_eval_tasks.countervqa.construction.steps import OpenModel
from lmms_eval_tasks.host.judge import open_judge, read_settings
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.redaction import hide_secrets
from lmms_eval_tasks.utils.judge.record import ReplyRecord
from lmms_eval_tasks.utils.judge.settings import JudgeSettings
from lmms_eval_tasks.utils.pipeline.budget import RequestBudget

REPLIES = "replies"
STEPS = "steps.jsonl"

ModelChoice = str | JudgeSettings
"""A model as it is named on the command line, or as it stands in a configuration."""


@dataclass(frozen=True)
class BuildModels:
    """Who is asked what.

    Attributes:
        builder: For links, absent actions and other words; None where nobody is.
        verifiers: For answers to the questions.
        record: Of all replies.
        budget: Of the requests to them.
    """

    builder: JudgeSettings | None
    verifiers: tuple[JudgeSettings, ...]
    record: ReplyRecord
    budget: RequestBudget

    def open_builder(self) -> OpenModel | None:
        """What asks the builder; None where there is none."""
        return None if self.builder is None else self._opened(self.builder)

    def open_verifiers(self) -> list[tuple[str, OpenModel]]:
        """Name of each verifying model, and what asks it."""
        return [(f"{number} ({one.model})", self._opened(one)) for number, one in enumerate(self.verifiers, start=1)]

    def facts(self) -> dict[str, Any]:
        """Which models were asked and how, for `build.json`."""
        return {"model": _facts(self.builder), "verify_with": [_facts(one) for one in self.verifiers]}

    def _opened(self, settings: JudgeSettings) -> OpenModel:
        return lambda form: open_judge(form, settings, record=self.record, spend=self.budget.spend)


def _facts(settings: JudgeSettings | None) -> dict[str, Any] | None:
    if settings is None:
        return None
    sampling = asdict(settings.sampling)
    return {**sampling, "server": hide_secrets(sampling["server"], os.environ)}


def choose_models(
    model: ModelChoice | None, verify_with: Sequence[ModelChoice], out: Path, max_requests: int | None = None
) -> BuildModels:
    """The models that were named on the command line, or in a configuration.

    Raises:
        InputError: a model cannot be asked as it is named, or two verifying ones are the same.
    """
    builder = _settings(model, "--model") if model is not None else None
    verifiers = tuple(_settings(choice, "--verify-with") for choice in verify_with)
    if len({one.sampling for one in verifiers}) < len(verifiers):
        raise InputError("Expected each --verify-with to be another model, but got the same twice.")
    return BuildModels(builder, verifiers, ReplyRecord(out / REPLIES), RequestBudget(max_requests))


def _settings(choice: ModelChoice, option: str) -> JudgeSettings:
    if isinstance(choice, JudgeSettings):
        return choice
    settings = read_settings(choice)
    if settings is None:
        raise InputError(f"Expected {option} to name a model, but got {choice!r}.")
    return settings

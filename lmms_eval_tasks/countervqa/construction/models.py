"""The models that a build asks, all through the one client of judges, with every reply recorded in the set's folder."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lmms_eval_tasks.countervqa.construction.steps import OpenModel
from lmms_eval_tasks.host.judge import open_judge, read_settings
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.redaction import hide_secrets
from lmms_eval_tasks.utils.judge.client import Sampling
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
        builder: For links, main goals, absent actions and other words; None where nobody is.
        verifiers: For answers to the questions from the annotations. A model that is named again is asked again.
        solvers: For answers to the questions from frames.
        record: Of all replies.
        budget: Of the requests to them.
    """

    builder: JudgeSettings | None
    verifiers: tuple[JudgeSettings, ...]
    solvers: tuple[JudgeSettings, ...]
    record: ReplyRecord
    budget: RequestBudget

    def open_builder(self) -> OpenModel | None:
        """What asks the builder; None where there is none."""
        return None if self.builder is None else self._opened(self.builder, self.record)

    def open_verifiers(self) -> list[tuple[str, OpenModel]]:
        """Name of each verifying model, and what asks it."""
        return self._open_each(self.verifiers)

    def open_solvers(self) -> list[tuple[str, OpenModel]]:
        """Name of each model that is to solve questions, and what asks it."""
        return self._open_each(self.solvers)

    @property
    def repeated(self) -> list[str]:
        """Verifying models that are asked again with temperature 0, so that they are sure to say the same."""
        settings = Counter(one.sampling for one in self.verifiers)
        return [sampling.model for sampling, times in settings.items() if times > 1 and not sampling.temperature]

    def facts(self) -> dict[str, Any]:
        """Which models were asked and how, for `build.json`."""
        return {
            "model": _facts(self.builder),
            "verify_with": [_facts(one) for one in self.verifiers],
            "drop_solved_by": [_facts(one) for one in self.solvers],
        }

    def _open_each(self, models: Sequence[JudgeSettings]) -> list[tuple[str, OpenModel]]:
        opened = []
        before = Counter[Sampling]()
        for number, one in enumerate(models, start=1):
            # A record gives one reply to the same request: who is asked again has one of their own.
            again = before[one.sampling]
            record = ReplyRecord(self.record.folder / f"run_{again + 1}") if again else self.record
            opened.append((f"{number} ({one.model})", self._opened(one, record)))
            before[one.sampling] += 1
        return opened

    def _opened(self, settings: JudgeSettings, record: ReplyRecord) -> OpenModel:
        return lambda form: open_judge(form, settings, record=record, spend=self.budget.spend)


def _facts(settings: JudgeSettings | None) -> dict[str, Any] | None:
    if settings is None:
        return None
    sampling = asdict(settings.sampling)
    return {**sampling, "server": hide_secrets(sampling["server"], os.environ)}


def choose_models(
    model: ModelChoice | None,
    verify_with: Sequence[ModelChoice],
    drop_solved_by: Sequence[ModelChoice],
    out: Path,
    max_requests: int | None = None,
) -> BuildModels:
    """The models that were named on the command line, or in a configuration.

    Raises:
        InputError: a model cannot be asked as it is named.
    """
    builder = _settings(model, "--model") if model is not None else None
    verifiers = tuple(_settings(choice, "--verify-with") for choice in verify_with)
    solvers = tuple(_settings(choice, "--drop-solved-by") for choice in drop_solved_by)
    return BuildModels(builder, verifiers, solvers, ReplyRecord(out / REPLIES), RequestBudget(max_requests))


def _settings(choice: ModelChoice, option: str) -> JudgeSettings:
    if isinstance(choice, JudgeSettings):
        return choice
    settings = read_settings(choice)
    if settings is None:
        raise InputError(f"Expected {option} to name a model, but got {choice!r}.")
    return settings

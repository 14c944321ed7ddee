"""The models that a build asks: the one that makes questions, and those that verify and solve them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lmms_eval_tasks.construct.engine.config import DEFAULT_ROLE, BuildConfig, RoleSettings
from lmms_eval_tasks.construct.engine.roles import Models
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import hide_secrets
from lmms_eval_tasks.utils.judge.named import judge_sender, read_settings
from lmms_eval_tasks.utils.judge.replies import Sampling

REPLIES = "replies"

ModelChoice = str | RoleSettings
"""A model as it is named on the command line, or as it stands in a configuration."""


@dataclass(frozen=True)
class BuildModels:
    """Models of a build, by the roles in which they are asked."""

    builder: RoleSettings | None
    verifiers: Mapping[str, RoleSettings]
    solvers: Mapping[str, RoleSettings]

    def open(self, out: Path, max_requests: int | None = None) -> Models:
        """Return the models ready to be asked, with every reply recorded in the set's folder."""
        default = {DEFAULT_ROLE: self.builder} if self.builder else {}
        config = BuildConfig(roles={**default, **self.verifiers, **self.solvers})
        apart = {**_asked_again(self.verifiers), **_asked_again(self.solvers)}
        return Models(config, out / REPLIES, max_requests, apart, judge_sender)

    @property
    def repeated(self) -> list[str]:
        """Verifying models that are asked again with temperature 0, so that they are sure to say the same."""
        settings = Counter(one.sampling for one in self.verifiers.values())
        return [sampling.model for sampling, times in settings.items() if times > 1 and not sampling.temperature]

    def facts(self) -> dict[str, Any]:
        """Return the models that were asked, with their settings, for `build.json`."""
        return {
            "model": _facts(self.builder),
            "verify_with": [_facts(one) for one in self.verifiers.values()],
            "drop_solved_by": [_facts(one) for one in self.solvers.values()],
        }


def _asked_again(models: Mapping[str, RoleSettings]) -> dict[str, str]:
    """The roles of models that have one before, and the folder of the replies of each."""
    before = Counter[Sampling]()
    folders = {}
    for role, settings in models.items():
        before[settings.sampling] += 1
        if before[settings.sampling] > 1:
            folders[role] = f"run_{before[settings.sampling]}"
    return folders


def _facts(settings: RoleSettings | None) -> dict[str, Any] | None:
    if settings is None:
        return None
    sampling = asdict(settings.sampling)
    return {**sampling, "server": hide_secrets(sampling["server"], os.environ)}


def choose_models(
    model: ModelChoice | None, verify_with: Sequence[ModelChoice], drop_solved_by: Sequence[ModelChoice]
) -> BuildModels:
    """The models that were named on the command line, or in a configuration."""
    builder = _settings(model, "--model") if model is not None else None
    verifiers = [_settings(choice, "--verify-with") for choice in verify_with]
    solvers = [_settings(choice, "--drop-solved-by") for choice in drop_solved_by]
    return BuildModels(builder, _by_role("verifying model", verifiers), _by_role("solving model", solvers))


def _by_role(role: str, models: Sequence[RoleSettings]) -> dict[str, RoleSettings]:
    return {f"{role} {number} ({one.model})": one for number, one in enumerate(models, start=1)}


def _settings(choice: ModelChoice, option: str) -> RoleSettings:
    if isinstance(choice, RoleSettings):
        return choice
    settings = read_settings(choice)
    if settings is None:
        raise InputError(f"Expected {option} to name a model, but got {choice!r}.")
    return RoleSettings.model_validate(settings.model_dump())

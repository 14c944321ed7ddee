"""The file that says how a set is built."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo
from pydantic_core import PydanticCustomError

from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.text import describe, first_line, hide_secrets, is_utf8
from lmms_eval_tasks.utils.judge.replies import JudgeSettings

DEFAULT_ROLE = "default"
"""The model of all roles that are not named."""


def _beside_config(value: Any, info: ValidationInfo) -> Any:
    if isinstance(value, str) and ("\0" in value or not is_utf8(value)):
        raise PydanticCustomError("path", "Expected a path, which no file system has with these characters")
    folder = (info.context or {}).get("folder")
    return Path(folder) / value if isinstance(value, str) and folder is not None else value


ConfigPath = Annotated[Path, BeforeValidator(_beside_config)]
"""A path; a relative one begins at the configuration's folder."""


class Price(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float = Field(ge=0.0, allow_inf_nan=False)
    output: float = Field(ge=0.0, allow_inf_nan=False)


class RoleSettings(JudgeSettings):
    price: Price | None = None
    tokens_an_image: int = Field(default=800, ge=0)


class BuildConfig(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    roles: dict[str, RoleSettings] = Field(default_factory=dict)
    seed: int = 0
    replies: ConfigPath | None = None

    @property
    def models(self) -> Mapping[str, RoleSettings]:
        """Role to the model that is asked in it."""
        return self.roles

    @property
    def reply_folders(self) -> Mapping[str, str]:
        """Role to a folder of its own for its replies, below that of all others."""
        return {}

    def role(self, name: str) -> RoleSettings:
        return self.models[name] if name in self.models else self.models[DEFAULT_ROLE]

    def check_roles(self, needed: Sequence[str], where: str) -> None:
        problems = Problems()
        missing = [name for name in needed if name not in self.models and DEFAULT_ROLE not in self.models]
        if missing:
            example = f"roles: {{{missing[0]}: {{model: NAME, url: http://localhost:8000/v1}}}}"
            remedy = f"add them, for instance {example}, or one named {DEFAULT_ROLE} for all."
            problems.add(f"{where}, roles", f"Expected {', '.join(missing)}, but got none.", remedy=remedy)
        unknown = [name for name in self.models if name not in (*needed, DEFAULT_ROLE)]
        if unknown:
            expected = ", ".join((*needed, DEFAULT_ROLE))
            problems.add(f"{where}, roles", f"Expected only {expected}, but got {', '.join(map(describe, unknown))}.")
        problems.raise_if_any("Nothing can be built", "nothing was asked")


CHANGE = "--set"
"""The option that changes a key."""

C = TypeVar("C", bound=BuildConfig)
Values = TypeVar("Values", bound=BaseModel)


def read_config(path: Path, form: type[Values], changes: Sequence[str] = ()) -> tuple[Values, dict[str, Any]]:
    """A configuration with changes ``key=value``, and its values as they are written, without keys and passwords."""
    values: Any = _read_yaml(path, path)
    if not isinstance(values, dict):
        raise InputError(f"{path} cannot be used: Expected names and values, such as `seed: 0`, but got none.")
    for change in changes:
        key, sign, value = change.partition("=")
        if not sign:
            raise InputError(f"Expected {CHANGE} KEY=VALUE, such as {CHANGE} seed=0, but got {describe(change)}.")
        values[key.strip()] = _read_yaml(f"{CHANGE} {key}", value)
    problems = Problems()
    try:
        config = form.model_validate(values, context={"folder": path.parent})
    except ValidationError as error:
        for fault in error.errors(include_url=False):
            # The value of a name that does not exist may be a key.
            got = "" if fault["type"] in ("extra_forbidden", "missing") else f", but got {describe(fault['input'])}"
            where = ".".join(map(str, fault["loc"])) or "values"
            message = "Expected no such name" if fault["type"] == "extra_forbidden" else fault["msg"]
            problems.add(f"{path.name}, {where}", hide_secrets(f"{message}{got}.", os.environ))
    problems.raise_if_any(f"{path.name} cannot be used", "nothing was asked")
    try:
        json.dumps(values)
    except TypeError as error:
        raise InputError(
            f"{path} cannot be used: Expected texts, numbers and lists, but got others: {error}."
        ) from None
    return config, _without_secrets(values)


def _read_yaml(name: Path | str, source: Path | str) -> Any:
    try:
        text = source if isinstance(source, str) else source.read_text(encoding="utf-8")
        return yaml.load(text, _UniqueLoader)
    # An impossible number or date raises ValueError, not an error of YAML's.
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{name} cannot be read: {first_line(error)}.") from None


class _UniqueLoader(yaml.SafeLoader):
    """Reads YAML, and refuses a name that stands twice, of which YAML's own reader takes the last."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    fault = f"{describe(key.value)} is there twice, in line {key.start_mark.line + 1}"
                    raise yaml.constructor.ConstructorError(problem=fault)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def _without_secrets(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _without_secrets(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_secrets(inner) for inner in value]
    return hide_secrets(value, os.environ) if isinstance(value, str) else value

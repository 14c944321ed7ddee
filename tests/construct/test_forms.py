"""What forms ask of what is read: of configurations, files of others, replies of models, and answers of people."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from expected import Expected
from pydantic import BaseModel

import lmms_eval_tasks
from lmms_eval_tasks.construct.engine.steps import PipelineRow

PARTS = ("cast_bench", "causalvqa", "construct", "countervqa", "intphys2", "mvp", "yocausal")
"""Parts of the package, whose modules are imported so that all their forms are there."""
for part in PARTS:
    package = importlib.import_module(f"{lmms_eval_tasks.__name__}.{part}")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)

ASKED = {
    *("const", "enum", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties"),
}
"""What a JSON schema says of a value beyond its kind."""


def below(form: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for one in form.__subclasses__():
        yield one
        yield from below(one)


def asks(schema: Any) -> bool:
    if isinstance(schema, list):
        return any(map(asks, schema))
    return isinstance(schema, dict) and (not ASKED.isdisjoint(schema) or any(map(asks, schema.values())))


def has_default(schema: dict[str, Any]) -> bool:
    return schema.get("default") is not None


def described(form: type[BaseModel]) -> list[str]:
    """A form's fields that have bounds, values to choose from or a default, as its JSON schema has them."""
    schema = form.model_json_schema()
    fields = {name: one for name, one in schema.get("properties", {}).items() if asks(one) or has_default(one)}
    shown = [{key: value for key, value in field.items() if key != "title"} for field in fields.values()]
    lines = [f"  {name}: {json.dumps(field, sort_keys=True)}" for name, field in zip(fields, shown, strict=True)]
    other = "" if schema.get("additionalProperties") is False else ", and others"
    return [f"{form.__name__}: {', '.join(schema.get('properties', {}))}{other}", *lines]


@pytest.mark.parametrize("part", PARTS)
def test_what_forms_take_is_what_they_took(part: str, expected: Expected) -> None:
    """Rows that one step of a build hands to the next are left out."""
    forms = {one for one in below(BaseModel) if one.__module__.startswith(f"{lmms_eval_tasks.__name__}.{part}.")}
    read = sorted((one for one in forms if not issubclass(one, PipelineRow)), key=lambda one: one.__name__)
    assert read
    expected("\n".join(line for form in read for line in described(form)))

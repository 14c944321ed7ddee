"""The configurations on the pages about building sets are ones that `build` takes."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from docs import ROOT

from lmms_eval_tasks.construct.cli.build import BUILDERS
from lmms_eval_tasks.construct.engine.config import RoleSettings, read_config
from lmms_eval_tasks.construct.engine.steps import roles_of

PAGE = ROOT / "docs/building.md"
YAML = re.compile(r"```yaml\n(.*?)```", re.DOTALL)


MODULES = {name: importlib.import_module(f"lmms_eval_tasks.construct.{name}.pipeline") for name in BUILDERS.found}
PIPELINES: dict[str, Any] = {name: module.PIPELINE for name, module in MODULES.items() if hasattr(module, "PIPELINE")}
"""Of those benchmarks that have one on the engine."""


@pytest.mark.parametrize("name", PIPELINES)
def test_a_page_shows_a_configuration_that_is_taken_and_names_each_step_and_role(name: str, tmp_path: Path) -> None:
    assert {path.stem.removeprefix("building_") for path in PAGE.parent.glob("building_*.md")} == set(PIPELINES)
    page = (PAGE.parent / f"building_{name}.md").read_text(encoding="utf-8")
    (example, *_) = YAML.findall(page)
    path = tmp_path / "build.yaml"
    path.write_text(example, encoding="utf-8")
    config, _ = read_config(path, PIPELINES[name].config)
    steps = PIPELINES[name].steps(config)
    config.check_roles(roles_of(steps), path.name)
    assert [step.name for step in steps if step.name not in page] == []
    assert [role for role in roles_of(steps) if f"`{role}`" not in page] == []


def test_the_page_about_the_engine_has_the_roles_settings() -> None:
    page = PAGE.read_text(encoding="utf-8")
    (example,) = YAML.findall(page)
    for role in yaml.safe_load(example)["roles"].values():
        RoleSettings.model_validate(role)
    table = "\n".join(line for line in page.splitlines() if line.startswith("| `"))
    left_out = {"first_delay", "longest_delay", "give_up_after", "seed"}
    assert {name for name in RoleSettings.model_fields if f"`{name}`" not in table} == left_out

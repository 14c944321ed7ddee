"""An environment that trains has what requirements-training.txt lists, and nothing else that this package needs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]

BLOCKING = """
import importlib.abc, sys
class Only(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        known = ("lmms_eval_tasks", "networkx", "lemminflect", "numpy", "pydantic", "filelock", "_rewards_of_a_file")
        needed_by_pydantic = ("pydantic_core", "annotated_types", "typing_extensions", "typing_inspection")
        if top not in (*sys.stdlib_module_names, *known, *needed_by_pydantic, *MORE) and top[:15] != "_sysconfigdata_":
            raise ModuleNotFoundError(f"blocked: {name}", name=name)
sys.meta_path.insert(0, Only())
"""
MODULES = (
    "lmms_eval_tasks",
    "lmms_eval_tasks.train.rewards.functions",
    "lmms_eval_tasks.train.rewards.swift",
    "lmms_eval_tasks.train.countervqa.rewards",
)
SCORES = '''
from lmms_eval_tasks.train.countervqa.rewards import REWARDS
from lmms_eval_tasks.train.rewards.reward_sample import read_sample
graph = {"actions": [{"id": "a", "text": "C opens the tap"}, {"id": "b", "text": "C fills the cup"}],
         "links": [{"cause": "a", "effect": "b"}]}
sample = read_sample({"graph": graph, "action": "a", "outcome": "b", "answer": "no"})
answer = """<think><claims>
happened: C opens the tap
happened: C fills the cup
conclusion: no
</claims></think><answer>No.</answer>"""
print({name: reward(answer, sample) for name, reward in REWARDS.items()})
'''


def listed_modules() -> list[str]:
    """The modules of what requirements-training.txt lists, and of what that needs itself."""
    listed = (ROOT / "requirements-training.txt").read_text(encoding="utf-8").splitlines()
    names, found = [line for line in listed if line and line[0] != "#"], set()
    while names:
        name = re.split(r"[^\w.-]", names.pop().lower().replace("_", "-"))[0]
        if name not in found:
            found.add(name)
            with suppress(PackageNotFoundError):
                names += [need for need in requires(name) or () if "extra ==" not in need]
    owners = packages_distributions().items()
    return [module for module, names in owners if found & {name.lower().replace("_", "-") for name in names}]


def run(code: str, more: Sequence[str] = ()) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"MORE = {more!r}" + BLOCKING + code], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_rewards_work_with_nothing_but_what_a_training_has() -> None:
    listed = (ROOT / "requirements-training.txt").read_text(encoding="utf-8")
    assert {f"\n{name}==" in listed for name in ("networkx", "lemminflect", "pydantic")} == {True}
    assert run("".join(f"import {name}\n" for name in MODULES) + SCORES).strip() == str(
        {"causal": None, "visual": 1.0, "graph": 1.0, "choice": None, "format": 1.0, "verdict": 1.0}
    )
    with pytest.raises(AssertionError, match=r"blocked: (jinja2|markupsafe)"):
        run("import lmms_eval_tasks.report.page")


def test_their_judge_imports_nothing_but_what_is_listed() -> None:
    run("import lmms_eval_tasks.train.rewards.judged", listed_modules())

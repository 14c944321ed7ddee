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
LISTED = (Path(__file__).parents[3] / "requirements-training.txt").read_text(encoding="utf-8").splitlines()
BLOCKING = """
import importlib.abc, sys
class Only(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in (*sys.stdlib_module_names, "lmms_eval_tasks", *MORE) and top[:15] != "_sysconfigdata_":
            raise ModuleNotFoundError(f"blocked: {name}", name=name)
sys.meta_path.insert(0, Only())
"""
SCORES = '''
import lmms_eval_tasks.train.rewards.functions
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


def modules_of(packages: Sequence[str]) -> list[str]:
    """The modules of some packages, and of what these need themselves."""
    names, found = [line for line in packages if line and line[0] != "#"], set()
    while names:
        name = re.split(r"[^\w.-]", names.pop().lower().replace("_", "-"))[0]
        if name not in found:
            found.add(name)
            with suppress(PackageNotFoundError):
                names += [need for need in requires(name) or () if "extra ==" not in need]
    owners = packages_distributions().items()
    return [module for module, names in owners if found & {name.lower().replace("_", "-") for name in names}]


def run(code: str, packages: Sequence[str]) -> str:
    more = modules_of(packages)
    done = subprocess.run(
        [sys.executable, "-c", f"MORE = {more!r}" + BLOCKING + code], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_rewards_work_with_nothing_but_what_a_training_has() -> None:
    needed = [line for line in LISTED if line.startswith(("networkx=", "lemminflect=", "pydantic="))]
    assert len(needed) == 3
    # What is listed needs these.
    needed += ["filelock", "numpy"]
    assert run(SCORES, needed).strip() == str(
        {"causal": 1.0, "visual": 1.0, "graph": 1.0, "choice": None, "format": 1.0, "verdict": 1.0}
    )
    with pytest.raises(AssertionError, match=r"blocked: (jinja2|markupsafe)"):
        run("import lmms_eval_tasks.report.page", needed)
    # Their judge imports all that is listed.
    run("import lmms_eval_tasks.train.rewards.judged", LISTED)

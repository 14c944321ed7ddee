"""What is replaced in lmms-eval: each fits the installed version, is said to, and is replaced in one file alone."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace as changed
from pathlib import Path

import pytest

import lmms_eval_tasks
from lmms_eval_tasks.host import replacements
from lmms_eval_tasks.host.replacements import EVALUATE, REPLACEMENTS, SAVE, ManagesOurTasks, Replacement, replace

pytestmark = pytest.mark.slow  # lmms-eval is imported

PACKAGE = Path(lmms_eval_tasks.__file__).parent


@pytest.mark.parametrize("replacement", REPLACEMENTS, ids=lambda replacement: replacement.name)
def test_the_installed_lmms_eval_has_what_is_replaced(replacement: Replacement) -> None:
    owner = replacement.find_owner()
    for name, call in replacement.calls.items():
        method = getattr(owner, name)
        function = inspect.unwrap(getattr(method, "__func__", method))
        inspect.signature(function).bind(
            *[None] * (call.positional + inspect.ismethod(method)), **dict.fromkeys(call.named)
        )
    assert replacement.name in replacement.calls and replacement.reason.endswith(".") and replacement.loss


def test_no_more_is_replaced_than_is_said() -> None:
    """Five in all, with the class of task managers; nothing of lmms-eval is assigned to elsewhere."""
    assert len(REPLACEMENTS) + len([ManagesOurTasks]) <= 5
    assigned, wrapped = [], set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        imported = " ".join(re.findall(r"^ *from lmms_eval(?:\.\S+)? import (\([^)]*\)|.+)$", text, re.MULTILINE))
        hosts = "|".join({"lmms_eval", *re.findall(r"\w+", imported)})
        assigned += re.findall(rf"^ *(?:(?:{hosts})(?:\.\w+)+ = |setattr\((?:{hosts})\b).*", text, re.MULTILINE)
        if "patch.object(" in text:
            wrapped.add(path.stem)
    assert not assigned
    assert wrapped and [name for name in wrapped if f"`{name}`" not in (replacements.__doc__ or "")] == []


def test_what_another_lmms_eval_loses_is_named(log: list[str]) -> None:
    """As where the method is gone, or is called otherwise; what no one imported waits."""
    replace(changed(EVALUATE, module="lmms_eval.of_another_day"))
    assert not log
    gone = changed(SAVE, name="save")
    otherwise = changed(SAVE, name="save_results_samples", calls={"save_results_samples": SAVE.calls[SAVE.name]})
    for broken in (gone, otherwise):
        replace(broken)
        said = "lmms_eval_tasks writes no run cards in this lmms-eval, which is built differently"
        assert log.pop().startswith(said) and not log

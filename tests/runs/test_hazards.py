"""Known hazards: their entries are whole, the page has them, and versions and arguments are tested as they should."""

from __future__ import annotations

from typing import Any

import pytest
from docs import ROOT

from lmms_eval_tasks.runs.hazards import KNOWN_HAZARDS, Hazard, RunFacts
from lmms_eval_tasks.runs.run_card import HAZARD, describe_hazard, differences


def facts(version: str | None = "5.3.0", **arguments: Any) -> RunFacts:
    return RunFacts("chat.some", "qwen2_vl", "PyAV", lambda package: version, arguments.get)


def test_the_entries_are_whole_and_on_the_page() -> None:
    assert len(KNOWN_HAZARDS) == 9
    for name, entry in KNOWN_HAZARDS.items():
        assert entry.effect.endswith(".") and "  " not in entry.effect and entry.source
        assert describe_hazard(name) == f"{entry.effect} Source: {entry.source}"
        assert not entry.applies(RunFacts())
    assert describe_hazard("of_another_version") == "This version of lmms-eval-tasks does not know it."
    card = {f"{HAZARD}of_another_version": {"effect": "Scores move.", "source": "a file"}}
    assert describe_hazard("of_another_version", [{}, card]) == "Scores move. Source: a file"
    page = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")
    rows = page.partition("| hazard | where it applies | what happens |\n")[2].partition("\n\n")[0].splitlines()[1:]
    cells = [row.strip("| ").split(" | ") for row in rows]
    assert [(name.strip("`"), effect) for name, _, effect in cells] == [
        (name, hazard.effect.partition(". ")[0].rstrip(".")) for name, hazard in KNOWN_HAZARDS.items()
    ]


def test_what_a_card_says_of_one_that_applies_and_how_runs_differ_in_it() -> None:
    entry = Hazard(lambda run: True, "Scores move.", "a file", True, True, ("torch",), ("fps", "batch"))
    assert entry.found(facts(batch=4)) == {
        "adapter": "chat.some, weights qwen2_vl",
        "versions": "torch 5.3.0",
        "condition": "reader PyAV, fps not set, batch 4",
        "effect": "Scores move.",
        "source": "a file",
    }
    least = Hazard(lambda run: True, "Scores move.", "a file").found(facts())
    assert (least["adapter"], least["versions"], least["condition"]) == ("chat.some", "any", "none")
    name = f"{HAZARD}one"
    old, new = ({name: entry.found(facts(version))} for version in ("5.3.0", "5.4.0"))
    (found,) = differences([old, new])
    assert (found.section, found.field, found.text) == ("hazard one", "versions", "torch 5.3.0 against torch 5.4.0")
    assert differences([old, {name: {**old[name], "effect": "Other words."}}]) == []


def test_versions_arguments_and_batches() -> None:
    inside, outside = ("5.3.0", "5.5.4", "5.4.0.dev0", "5.4.0+local"), ("5.2.0", "5.6.0", "5.3.0rc1", "4.57.6", None)
    for version in (*inside, *outside):
        assert facts(version).has("transformers", ">=5.3.0,<5.6.0") is (version in inside)
        assert facts(version).has("transformers") is (version is not None)
    for value in (None, "library", "Reference", True):
        assert facts(some=value).says("some", "reference") is (value == "Reference")
        assert facts(some=value).says("some", "true") is (value is True)
    assert [facts(batch_size=value).is_batched() for value in (2, "2", 1, "1")] == [True, True, False, False]
    for text in ("auto", None):
        with pytest.raises(ValueError, match="Expected batch_size to be a number, but got"):
            facts(batch_size=text).is_batched()

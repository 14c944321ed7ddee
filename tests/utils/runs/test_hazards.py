"""The file of known hazards, and on which runs an entry applies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import generated_docs
import pytest
from pydantic import ValidationError

from lmms_eval_tasks.runs.run_card import (
    FILE,
    HAZARD,
    ArgumentTest,
    Hazard,
    RunFacts,
    applies,
    describe_hazard,
    differences,
    read_hazards,
)
from lmms_eval_tasks.utils.core.errors import InputError

ENTRY: dict[str, Any] = {"name": "one", "adapters": ["chat.some"], "effect": "Scores move.", "source": "a file"}


def facts(version: str | None = "5.3.0", weights: str | None = "qwen2_vl", **arguments: Any) -> RunFacts:
    return RunFacts("chat.some", weights, True, lambda package: version, arguments.get)


def hazard(**conditions: Any) -> Hazard:
    return Hazard.model_validate({**ENTRY, **conditions})


def write(folder: Path, *entries: Any) -> Path:
    path = folder / "hazards.json"
    path.write_text(json.dumps(entries), encoding="utf-8")
    return path


def test_the_file_is_in_the_package_and_its_entries_are_whole() -> None:
    hazards = read_hazards(FILE)
    assert FILE.is_file() and len(hazards) >= 3
    for name, entry in hazards.items():
        assert entry.name == name and entry.effect.endswith(".")
        assert describe_hazard(name) == f"{entry.effect} Source: {entry.source}"
    assert describe_hazard("of_another_version") == "This version of lmms-eval-tasks does not know it."
    card = {f"{HAZARD}of_another_version": {"effect": "Scores move.", "source": "a file"}}
    assert describe_hazard("of_another_version", [{}, card]) == "Scores move. Source: a file"


def test_the_page_has_the_entries() -> None:
    published = (generated_docs.DOCS / "runs.md").read_text(encoding="utf-8")
    assert published == generated_docs.write_hazards(), "Run `make docs-files`."
    assert all(f"| `{name}` | " in published for name in read_hazards(FILE))


def test_what_a_card_says_of_one_that_applies() -> None:
    entry = hazard(
        weights=["qwen2_vl"], packages={"torch": ">=5"}, arguments={"fps": {"unset": True}, "batch": {"above": 1}}
    )
    assert entry.where() == "adapter chat.some; weights qwen2_vl; torch >=5; fps not set; batch above 1"
    assert entry.found(facts(batch=4)) == {
        "adapter": "chat.some, weights qwen2_vl",
        "versions": "torch 5.3.0",
        "condition": "fps not set, batch 4",
        "effect": "Scores move.",
        "source": "a file",
    }
    assert hazard().found(facts())["versions"] == "any"
    assert hazard(arguments={"mode": {"none_of": ["fast", True]}}).where() == "adapter chat.some; mode not fast or true"


def test_runs_differ_in_the_versions_that_a_hazard_is_about() -> None:
    entry = hazard(packages={"torch": ">=5"})
    old, new = ({f"{HAZARD}one": entry.found(facts(version))} for version in ("5.3.0", "5.4.0"))
    (found,) = differences([old, new])
    assert (found.section, found.field, found.text) == ("hazard one", "versions", "torch 5.3.0 against torch 5.4.0")
    assert differences([old, {f"{HAZARD}one": {**old[f"{HAZARD}one"], "effect": "Other words."}}]) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"adapter": ["chat.some"]}, "hazards.json: Extra inputs are not permitted at 0.adapter."),
        (
            {"arguments": {"fps": {"below": 1}}},
            "hazards.json: Extra inputs are not permitted at 0.arguments.fps.below.",
        ),
        (
            {"arguments": {"fps": {"above": 1, "unset": False}}},
            "hazards.json: Value error, Expected exactly one test of an argument at 0.arguments.fps.",
        ),
        (
            {"arguments": {"fps": {"above": None}}},
            "hazards.json: Value error, Expected exactly one test of an argument at 0.arguments.fps.",
        ),
        (
            {"packages": {"torch": "5.3 or later"}},
            "hazards.json: Value error, Expected a specifier of versions, but got '5.3 or later' at 0.packages.torch.",
        ),
        ({"effect": ""}, "hazards.json: String should have at least 1 character at 0.effect."),
        ({"name": "One hazard"}, "hazards.json: String should match pattern '^[a-z0-9_]+$' at 0.name."),
        (
            {"adapters": []},
            "hazards.json: Value error, Expected adapters, weights or readers, for no hazard is one of every model at "
            "0.",
        ),
    ],
)
def test_what_is_not_in_the_vocabulary_is_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read_hazards(write(tmp_path, {**ENTRY, **change}))
    assert str(error.value) == message


def test_one_name_stands_for_one_hazard(tmp_path: Path) -> None:
    assert list(read_hazards(write(tmp_path, ENTRY, {**ENTRY, "name": "two"}))) == ["one", "two"]
    with pytest.raises(InputError, match="Expected names that differ, but got one twice"):
        read_hazards(write(tmp_path, ENTRY, ENTRY))


def test_a_hazard_and_its_tests_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        hazard().name = "two"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("version", "holds"),
    [
        ("5.3.0", True), ("5.5.4", True), ("5.4.0.dev0", True), ("5.4.0+local", True), ("5.2.0", False),
        ("5.6.0", False), ("5.3.0rc1", False), ("4.57.6", False), (None, False),
    ],
)  # fmt: skip
def test_versions_are_those_of_the_specifier(version: str | None, holds: bool) -> None:
    assert applies(hazard(packages={"transformers": ">=5.3.0,<5.6.0"}), facts(version)) is holds


@pytest.mark.parametrize(
    ("test", "value", "holds"),
    [
        ({"above": 1}, 2, True), ({"above": 1}, "2", True), ({"above": 1}, 1, False), ({"above": 0}, 0.5, True),
        ({"unset": True}, None, True), ({"unset": True}, 0, False), ({"unset": False}, 0, True),
        ({"unset": False}, None, False), ({"none_of": ["reference"]}, None, True),
        ({"none_of": ["reference"]}, "library", True), ({"none_of": ["reference"]}, "Reference", False),
        ({"none_of": [True]}, True, False), ({"none_of": [True]}, "true", False), ({"none_of": [True]}, False, True),
    ],
)  # fmt: skip
def test_arguments_are_tested(test: dict[str, Any], value: Any, holds: bool) -> None:
    assert ArgumentTest.model_validate(test).holds("some", value) is holds


@pytest.mark.parametrize("value", ["auto", None])
def test_what_should_be_a_number_is_not_guessed(value: str | None) -> None:
    batched = hazard(arguments={"batch_size": {"above": 1}})
    with pytest.raises(ValueError, match="Expected batch_size to be a number, but got"):
        applies(batched, facts(batch_size=value))
    # One condition that does not hold is enough, whatever the others are.
    assert not applies(hazard(weights=["other"], arguments={"batch_size": {"above": 1}}), facts(batch_size=value))


def test_every_condition_has_to_hold() -> None:
    both = hazard(weights=["qwen2_vl", "qwen2_5_vl"], arguments={"fps": {"unset": True}})
    assert applies(both, facts())
    assert not applies(both, facts(fps=2))
    assert not applies(both, facts(weights=None))
    assert not applies(both, RunFacts("chat.some", "qwen2_vl", False, lambda package: None, {}.get))
    assert not applies(both, RunFacts("chat.other", "qwen2_vl", True, lambda package: None, {}.get))


def test_a_hazard_may_be_of_a_reader_of_clips() -> None:
    entry = Hazard.model_validate({**ENTRY, "adapters": [], "readers": ["decord"]})
    for reader, is_one in (("decord", True), ("PyAV", False), (None, False)):
        known = RunFacts("any", None, True, lambda package: None, {}.get, reader)
        assert applies(entry, known) is is_one

"""The page on runs: its tables name every field of a card, and its commands run."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_lines import host_parser
from docs import ROOT, commands_of, run_all
from logged_runs import weak, write_run
from task_states import task_state

from lmms_eval_tasks.host.checks import REFUSED
from lmms_eval_tasks.host.saving import gather
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.runs.hazards import KNOWN_HAZARDS, RunFacts
from lmms_eval_tasks.runs.run_card import HAZARDS, NOT_KNOWN, TASK, Sections

PAGE = ROOT / "docs" / "runs.md"


def gathered() -> Sections:
    """A card of a run of both CaST-Bench tasks: all fields that a task can have."""
    run = Evaluation(clips_needed=False, model=SimpleNamespace(engine=SimpleNamespace(facts={"steps": 10})))
    configs = {}
    for task in ("cast_bench", "cast_bench_open"):
        task_state(task, run)
        configs[task] = {"lmms_eval_specific_kwargs": {"prompt": "any"}}
    return gather({"configs": configs}, run)


def named_on_page() -> dict[str, set[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    section = ""
    for first, fields in re.findall(r"^\| (.*?) ?\| (.*?) \| .* \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE):
        section = first.strip("` ") or section
        found[section] |= set(re.findall("`([^`]+)`", fields))
    return found


@pytest.mark.slow
def test_every_option_of_lmms_eval_is_on_the_page() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## lmms-eval's options")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \| (works|refused|not tried)\b", section, re.MULTILINE)
    listed = {name: state for names, state in rows for name in re.findall("`([^`]+)`", names)}
    options = {action.dest: action.option_strings for action in host_parser()._actions if action.dest != "help"}
    assert {name for names in options.values() for name in names} >= listed.keys()
    assert not [names for names in options.values() if len(listed.keys() & names) != 1]
    refused = {name for name, state in listed.items() if state == "refused"}
    assert refused == {f"--{name}" for name in REFUSED} | {"--fewshot_as_multiturn"}


def test_every_field_is_on_the_page_and_no_other() -> None:
    fields: defaultdict[str, set[str]] = defaultdict(set)
    for section, values in gathered().items():
        fields["task NAME" if section.startswith(TASK) else section] |= set(values)
    page = named_on_page()
    assert {name for name in fields["settings"] if name.startswith("LMMS_EVAL_TASKS_")}
    fields[HAZARDS] = {"NAME"}
    fields["hazard NAME"] = set(KNOWN_HAZARDS["decord_other_frames"].found(RunFacts()))
    # Only where a file beside the weights says so.
    fields["model"] |= {"trained on"}
    fields["settings"] = {re.sub("(?<=^LMMS_EVAL_TASKS_).*", "…", name) for name in fields["settings"]}
    assert {section: names for section, names in page.items() if section in fields and section != NOT_KNOWN} == {
        section: names for section, names in fields.items() if section != NOT_KNOWN
    }
    assert NOT_KNOWN in page


def test_its_commands_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("first", "second"):
        run = write_run(Path("out") / name, weak())
        (run / "20261121_run_card.json").write_text(json.dumps({"run": {"limit": "none"}}), encoding="utf-8")
    commands = commands_of(PAGE)
    named = "report report report report tasks --power-analysis --model rescore submit rescore rescore"
    assert " ".join(words[1] for words in commands) == named
    run_all(commands[:4])

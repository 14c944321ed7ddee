"""The profile of a model: numbers counted by hand, the command that prints them, and the page that draws them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from logged_runs import write_records
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.report.page import build_page
from lmms_eval_tasks.report.sections import build_sections
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.reporting.columns import RunRecords
from lmms_eval_tasks.utils.scoring.record import Outcome, Record
from lmms_eval_tasks.worlds import report
from lmms_eval_tasks.worlds.card import COLUMNS
from lmms_eval_tasks.worlds.profile import (
    ALL,
    CAUSAL,
    CONTROL_RIGHT,
    CONTROL_WRONG,
    NO_CONTROL,
    SEEN_RIGHTLY,
    ModelProfile,
    profile_of,
)

DEPTHS = {"s0": "1", "s1": "1", "s2": "2", "s3": "3"}
"""Scene to its depth. Each is asked what happens in it (hit) and what is first (fall), then why it is hit, what would
become of hit and of stop, and where it falls."""
ASKED = (
    ("perception", "seen", "hit"),
    ("perception", "ordered", "fall"),
    ("paired", "explained", "hit"),
    ("counterfactual", "counterfactual", "hit"),
    ("counterfactual", "counterfactual", "stop"),
    ("evidence", "grounded", "fall"),
)
TITLES = ("Profile: accuracy by step", "Which step fails first", "Causal questions by depth")
GROUNDING = {
    **dict.fromkeys(("temporal_recall", "tiou_tp_only", "im_tiou", "st_recall", "viou_tp_only", "im_viou"), 0.0),
    "supported": True,
    "supported_strict": False,
    "false_positives": 0,
    "pairs": [],
}
FORMAT = {"json_valid": True, "schema_valid": True, "recoverable": True, "answered": "A"}

Right = Callable[[str, str, str], bool | None]
"""Whether a run is right, of a scene's question about an event at a step; None where it was not scored."""
Records = dict[str, list[Record]]


def sees_wrongly(scene: str, step: str, event: str) -> bool:
    """Sees half of the scenes wrongly; of 16 causal questions one is wrong, in a scene that it saw rightly."""
    return not ((step == "seen" and scene in ("s0", "s1")) or (scene, event) == ("s3", "stop"))


def reasons_badly(scene: str, step: str, event: str) -> bool:
    """Sees all; of 16 causal questions one is right."""
    return step in ("seen", "ordered") or (scene, step) == ("s0", "explained")


def records_of(right: Right, view: str = "", supported: bool = True) -> Records:
    found: Records = {}
    for scene, depth in DEPTHS.items():
        for number, (subset, step, event) in enumerate(ASKED):
            verdict = right(scene, step, event)
            outcome = Outcome.UNSCORED if verdict is None else Outcome.CORRECT if verdict else Outcome.WRONG
            fields: dict[str, Any] = {"scene": scene, "step": step, "about": [event], "chance": 25.0, "prompt": "p:1"}
            if subset == "evidence":
                fields |= {"grounding": GROUNDING | {"supported": supported}, "format": FORMAT}
            stratum = {**dict.fromkeys(COLUMNS, ""), "depth": depth}
            item = f"{scene}_{subset}_{number}"
            task = f"worlds_{subset}_{view}" if view else f"worlds_{subset}"
            # Pairs, so that an interval over groups would stand on other numbers than one over scenes.
            group = f"{scene}_{number // 2}"
            found.setdefault(task, []).append(Record(item, group, stratum, "A", "A", outcome, fields=fields, view=view))
    return found


def profile(right: Right, supported: bool = True) -> ModelProfile:
    records = records_of(right, supported=supported)
    found = profile_of(RunRecords("1", "model", list(records.values())))
    assert found
    return found


def percent(found: ModelProfile, of: str, *steps: str, depth: str = "") -> tuple[float, int] | None:
    score = found.run.estimate(found.accuracy(of, steps, depth))
    return (score.value, score.groups) if score else None


def test_a_model_that_sees_wrongly_and_reasons_well_is_told_from_the_opposite() -> None:
    one, other = profile(sees_wrongly), profile(reasons_badly)
    assert [percent(one, ALL, step) for step in ("seen", "ordered", *CAUSAL)] == [
        (50, 4), (100, 4), (100, 4), (87.5, 4), (100, 4)
    ]  # fmt: skip
    assert [percent(one, SEEN_RIGHTLY, step) for step in CAUSAL] == [(100, 2), (75, 2), (100, 2)]
    assert percent(one, ALL, *CAUSAL) == (100 * 15 / 16, 4) and percent(one, SEEN_RIGHTLY, *CAUSAL) == (87.5, 2)
    assert one.first_failures() == {"seen": 2, "counterfactual": 1, "none fails": 1}
    assert [percent(other, ALL, step) for step in ("seen", "ordered", *CAUSAL)] == [
        (100, 4), (100, 4), (25, 4), (0, 4), (0, 4)
    ]  # fmt: skip
    assert percent(other, SEEN_RIGHTLY, *CAUSAL) == (100 / 16, 4)
    assert other.first_failures() == {"explained": 3, "counterfactual": 1}


def test_causal_questions_are_counted_by_their_own_control() -> None:
    found = profile(sees_wrongly)
    # In s0 and s1 the hit was not seen rightly, and why it is hit and what would become of it is asked.
    assert {of: found.questions(of, CAUSAL) for of in (CONTROL_RIGHT, CONTROL_WRONG, NO_CONTROL)} == {
        CONTROL_RIGHT: (8, 8),
        CONTROL_WRONG: (4, 4),
        NO_CONTROL: (3, 4),
    }
    assert percent(found, CONTROL_WRONG, *CAUSAL) == (100, 2) and percent(found, NO_CONTROL, *CAUSAL) == (75, 4)
    assert percent(found, CONTROL_RIGHT, "grounded") == (100, 4) and percent(found, CONTROL_RIGHT, "explained") == (
        100,
        2,
    )
    other = profile(reasons_badly)
    assert other.questions(CONTROL_RIGHT, CAUSAL) == (1, 12) and other.questions(CONTROL_WRONG, CAUSAL) == (0, 0)
    assert percent(other, CONTROL_WRONG, *CAUSAL) is None


def test_depths_are_scored_apart_and_shares_have_intervals() -> None:
    found = profile(sees_wrongly)
    assert found.depths == ["1", "2", "3"]
    assert [percent(found, ALL, *CAUSAL, depth=depth) for depth in found.depths] == [(100, 2), (100, 1), (75, 1)]
    assert percent(found, SEEN_RIGHTLY, *CAUSAL, depth="1") is None
    without = [one for of in records_of(sees_wrongly).values() for one in of if one.stratum["depth"] != "2"]
    perception = [one for one in records_of(sees_wrongly)["worlds_perception"] if one.stratum["depth"] == "2"]
    less = profile_of(RunRecords("1", "model", [without, perception]))
    assert less and less.depths == ["1", "3"]
    run, share = found.share_failing("seen")
    score = run.estimate(share)
    assert score and (score.value, score.groups) == (50, 4) and 0 < score.low < 50 < score.high < 100


def test_evidence_is_right_where_it_matches_and_what_is_unscored_counts_nowhere() -> None:
    assert percent(profile(sees_wrongly, supported=False), ALL, "grounded") == (0, 4)
    gaps = profile(lambda scene, step, event: None if (scene, step) in (("s0", "seen"), ("s1", "grounded")) else True)
    assert gaps.seen_rightly == {"s1", "s2", "s3"}
    assert percent(gaps, ALL, "seen") == (100, 3) and percent(gaps, ALL, "grounded") == (100, 3)
    assert gaps.questions(CONTROL_WRONG, CAUSAL) == (2, 2)
    # Of s0 one perception question is scored still.
    assert gaps.first_failures() == {"none fails": 4}
    no_controls = records_of(lambda scene, step, event: None if step in ("seen", "ordered") else True)
    assert profile_of(RunRecords("1", "model", list(no_controls.values()))) is None


def call(*words: str | Path) -> str:
    result = CliRunner().invoke(app, ["worlds", "profile", *map(str, words)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


def lines_of(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_the_command_prints_each_run(home: Path, tmp_path: Path) -> None:
    one = write_records(tmp_path / "one", records_of(sees_wrongly))
    other = write_records(tmp_path / "two" / "one", records_of(reasons_badly))
    text = call(one, other)
    assert max(map(len, text.splitlines())) <= 100, text
    lines = lines_of(text)
    for row in (
        "explained 100.0 [51.0, 100.0] 25.0 4 100.0 [34.2, 100.0] 2",
        "explained 25.0 [4.6, 69.9] 25.0 4 25.0 [4.6, 69.9] 4",
        "its control is right 8 8 100.0 [",
        "its control is right 12 1 8.3 [",
        "its control is not right 0 0 N/A 0",
        "no control of its own 4 3 75.0 [",
        "counterfactual 1 25.0 [4.6, 69.9]",
        "none fails 0 0.0 [0.0, 49.0]",
        "1 100.0 [",
        "3 75.0 [",
    ):
        assert any(line.startswith(row) for line in lines), (row, text)
    assert lines.count("Accuracy by step") == 2
    # Two runs of one model are told apart by their folders, which may be folded.
    assert all(f"replayone({folder})" in re.sub(r"\s", "", text) for folder in (one, other))


def test_each_view_has_a_profile_of_its_own(home: Path, tmp_path: Path) -> None:
    blind = records_of(reasons_badly, "blind")
    del blind["worlds_evidence_blind"]
    text = call(write_records(tmp_path / "one", records_of(sees_wrongly) | blind))
    assert [line for line in lines_of(text) if line.startswith("replay")] == ["replay one", "replay one, blind"]


@pytest.mark.parametrize("held", ["perception", "counterfactual"])
def test_a_run_without_both_kinds_of_questions_is_refused(home: Path, tmp_path: Path, held: str) -> None:
    whole = write_records(tmp_path / "whole", records_of(sees_wrongly))
    records = {task: records for task, records in records_of(sees_wrongly).items() if task == f"worlds_{held}"}
    # Of another view, questions of the other kind do not help.
    other = "perception" if held == "counterfactual" else "counterfactual"
    blind = records_of(sees_wrongly, "blind")[f"worlds_{other}_blind"]
    part = write_records(tmp_path / "part", records | {f"worlds_{other}_blind": blind})
    result = CliRunner().invoke(app, ["worlds", "profile", str(whole), str(part)])
    assert result.exit_code == 1 and result.stdout == ""
    said = " ".join(result.stderr.split())
    assert "of worlds_perception and of a causal task, any of worlds_counterfactual, worlds_paired" in said
    assert said.endswith(f"has worlds_{held}, worlds_{other}_blind.") and "Traceback" not in said


def section_titles(*folders: Path) -> dict[str, list[str]]:
    _, sections = build_sections([read_run(folder) for folder in folders])
    return {one.name: [panel.title for panel in one.panels if panel.title in TITLES] for one in sections}


def test_a_page_shows_the_profile_once_at_the_first_causal_task(home: Path, tmp_path: Path) -> None:
    records = records_of(sees_wrongly)
    whole = write_records(tmp_path / "whole", records)
    found = section_titles(whole)
    assert found.pop("worlds_counterfactual") == list(TITLES) and not any(found.values())
    less = {task: of for task, of in records.items() if task != "worlds_counterfactual"}
    without = write_records(tmp_path / "without", less)
    found = section_titles(without)
    assert found.pop("worlds_paired") == list(TITLES) and not any(found.values())
    alone = write_records(tmp_path / "alone", {"worlds_counterfactual": records["worlds_counterfactual"]})
    assert not any(section_titles(alone).values())
    assert 'href=""' not in build_page([read_run(alone)]), "a benchmark without a paper links to none"
    # Of runs that differ in their tasks, each is shown once.
    found = section_titles(whole, without, alone)
    assert found == {
        "worlds_perception": [],
        "worlds_paired": list(TITLES),
        "worlds_counterfactual": list(TITLES),
        "worlds_evidence": [],
    }


def test_a_page_reads_the_other_tasks_of_the_same_view(home: Path, tmp_path: Path) -> None:
    blind = records_of(reasons_badly, "blind")
    folder = write_records(tmp_path / "one", records_of(sees_wrongly) | blind)
    path = read_run(folder).path
    run = RunRecords("1", "model", [blind["worlds_counterfactual_blind"]], results=path)
    (steps, *_) = report.panels("worlds_counterfactual", [run])
    assert "of 12 causal questions whose control is right, 1 are right" in steps.note


def test_an_answer_is_shown_with_what_happens_in_the_other_world() -> None:
    record = records_of(sees_wrongly)["worlds_counterfactual"][0]
    row = {"intervention": "freeze", "changed": "blue box and red ball", "answer": "no", "seen": "yes"}
    assert report.counterfactual_answer(record, row, "Yes.").facts == {
        "verdict read": "A",
        "other world": "with the blue box and the red ball held, it does not happen",
        "by what was seen alone": "yes",
    }

"""The profile of a model: numbers counted by hand, the command that prints them, and the page that draws them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from commands import called
from expected import Expected
from logged_runs import write_records

from lmms_eval_tasks.api import Outcome, Record, RunRecords
from lmms_eval_tasks.api.runs import read_run
from lmms_eval_worlds import report
from lmms_eval_worlds.card import COLUMNS
from lmms_eval_worlds.profile import ALL, CAUSAL, CONTROL_WRONG, SEEN_RIGHTLY, ModelProfile, profile_of

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
TITLES = ["Profile: accuracy by step", "Which step fails first", "Causal questions by depth"]
SHARES = ("temporal_recall", "tiou_tp_only", "im_tiou", "st_recall", "viou_tp_only", "im_viou")
GROUNDING = {**dict.fromkeys(SHARES, 0.0), "supported_strict": False, "false_positives": 0, "pairs": []}
FORMAT = {"json_valid": True, "schema_valid": True, "recoverable": True, "answered": "A"}

Right = Callable[[str, str, str], bool | None]
"""Whether a run is right, of a scene's question about an event at a step; None where it was not scored."""
Records = dict[str, list[Record]]
Found = TypeVar("Found")


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
            # Pairs, so that an interval over groups would stand on other numbers than one over scenes.
            item, group = f"{scene}_{subset}_{number}", f"{scene}_{number // 2}"
            record = Record(item, group, stratum, "A", "A", outcome, fields=fields, view=view)
            found.setdefault(f"worlds_{subset}_{view}".rstrip("_"), []).append(record)
    return found


def run_of(right: Right, supported: bool = True) -> RunRecords:
    return RunRecords("1", "model", list(records_of(right, supported=supported).values()))


def profile(right: Right, supported: bool = True) -> ModelProfile:
    return known(profile_of(run_of(right, supported)))


def known(found: Found | None) -> Found:
    assert found is not None
    return found


def percent(found: ModelProfile, of: str, *steps: str, depth: str = "") -> tuple[float, int] | None:
    score = found.run.estimate(found.accuracy(of, steps, depth))
    return (score.value, score.groups) if score else None


def by_step(found: ModelProfile) -> list[tuple[float, int] | None]:
    return [percent(found, ALL, step) for step in ("seen", "ordered", *CAUSAL)]


def test_a_model_that_sees_wrongly_and_reasons_well_is_told_from_the_opposite() -> None:
    one, other = profile(sees_wrongly), profile(reasons_badly)
    assert by_step(one) == [(50, 4), (100, 4), (100, 4), (87.5, 4), (100, 4)]
    assert [percent(one, SEEN_RIGHTLY, step) for step in CAUSAL] == [(100, 2), (75, 2), (100, 2)]
    assert percent(one, ALL, *CAUSAL) == (100 * 15 / 16, 4) and percent(one, SEEN_RIGHTLY, *CAUSAL) == (87.5, 2)
    assert one.first_failures() == {"seen": 2, "counterfactual": 1, "none fails": 1}
    assert by_step(other) == [(100, 4), (100, 4), (25, 4), (0, 4), (0, 4)]
    assert percent(other, SEEN_RIGHTLY, *CAUSAL) == (100 / 16, 4)
    assert other.first_failures() == {"explained": 3, "counterfactual": 1}


def test_depths_are_scored_apart_and_shares_have_intervals() -> None:
    found, records = profile(sees_wrongly), records_of(sees_wrongly)
    assert found.depths == ["1", "2", "3"]
    assert [percent(found, ALL, *CAUSAL, depth=depth) for depth in found.depths] == [(100, 2), (100, 1), (75, 1)]
    assert percent(found, SEEN_RIGHTLY, *CAUSAL, depth="1") is None
    # Of depth 2 only perception is asked.
    left = [one for task, of in records.items() for one in of if one.stratum["depth"] != "2" or "perception" in task]
    assert known(profile_of(RunRecords("1", "model", [left]))).depths == ["1", "3"]
    run, share = found.share_failing("seen")
    score = known(run.estimate(share))
    assert (score.value, score.groups) == (50, 4) and 0 < score.low < 50 < score.high < 100


def test_evidence_is_right_where_it_matches_and_what_is_unscored_counts_nowhere() -> None:
    assert percent(profile(sees_wrongly, supported=False), ALL, "grounded") == (0, 4)
    gaps = profile(lambda scene, step, event: None if (scene, step) in (("s0", "seen"), ("s1", "grounded")) else True)
    assert gaps.seen_rightly == {"s1", "s2", "s3"}
    assert percent(gaps, ALL, "seen") == (100, 3) and percent(gaps, ALL, "grounded") == (100, 3)
    assert gaps.questions(CONTROL_WRONG, CAUSAL) == (2, 2)
    # Of s0 one perception question is scored still.
    assert gaps.first_failures() == {"none fails": 4}
    assert profile_of(run_of(lambda scene, step, event: None if step in ("seen", "ordered") else True)) is None


PRINTED = {
    "Accuracy by step": [
        ["seen", "50.0 [15.0, 85.0]", "25.0", "4"],
        ["ordered", "100.0 [51.0, 100.0]", "25.0", "4"],
        ["explained", "100.0 [51.0, 100.0]", "25.0", "4", "100.0 [34.2, 100.0]", "2"],
        ["counterfactual", "87.5 [62.5, 100.0]", "25.0", "4", "75.0 [50.0, 100.0]", "2"],
        ["grounded", "100.0 [51.0, 100.0]", "0.0", "4", "100.0 [34.2, 100.0]", "2"],
        ["causal, together", "93.8 [81.2, 100.0]", "18.8", "4", "87.5 [75.0, 100.0]", "2"],
    ],
    "Causal questions by their own control": [
        ["its control is right", "8", "8", "100.0 [51.0, 100.0]", "4"],
        ["its control is not right", "4", "4", "100.0 [34.2, 100.0]", "2"],
        ["no control of its own", "4", "3", "75.0 [30.1, 95.4]", "4"],
    ],
    "The step that fails first": [
        ["seen", "2", "50.0 [15.0, 85.0]"],
        ["ordered", "0", "0.0 [0.0, 49.0]"],
        ["explained", "0", "0.0 [0.0, 49.0]"],
        ["counterfactual", "1", "25.0 [4.6, 69.9]"],
        ["grounded", "0", "0.0 [0.0, 49.0]"],
        ["none fails", "1", "25.0 [4.6, 69.9]"],
    ],
    "Causal questions by depth": [
        ["1", "100.0 [34.2, 100.0]", "2", "N/A", "0"],
        ["2", "100.0 [20.7, 100.0]", "1", "100.0 [20.7, 100.0]", "1"],
        ["3", "75.0 [15.5, 94.8]", "1", "75.0 [15.5, 94.8]", "1"],
    ],
}
"""What the command prints of `sees_wrongly`: title to rows."""


def tables_of(text: str) -> dict[str, list[list[str]]]:
    """The tables of a printed profile: title to rows, each a list of cells."""
    found: dict[str, list[list[str]]] = {}
    for title, body in re.findall(r"^(\S.*)\n *\n .*\n *─+ *\n((?: .*\S.*\n)+)", text, re.MULTILINE):
        found[title] = [re.split(r" {2,}", line.strip()) for line in body.splitlines()]
    assert all(max(map(len, line.splitlines())) <= 100 for line in re.findall(r"^ .*", text, re.MULTILINE))
    return found


@pytest.mark.usefixtures("home")
def test_the_command_prints_each_run_and_each_view_and_refuses_one_without_both_kinds_of_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    # The folders by which two runs of one model are told apart would be folded otherwise.
    monkeypatch.chdir(tmp_path)
    blind, whole = records_of(reasons_badly, "blind"), records_of(sees_wrongly)
    one = write_records(Path("one"), whole | {task: of for task, of in blind.items() if "evidence" not in task})
    monkeypatch.setenv("COLUMNS", "120")
    text = called("worlds", "profile", one, write_records(Path("two/one"), records_of(reasons_badly)))
    expected("\n".join(map(str.rstrip, text.split("\n"))))
    of_whole, of_blind, of_other = re.split(r"^replay one .*\n", text, flags=re.MULTILINE)[1:]
    assert re.findall(r"^replay one .*", text, re.MULTILINE) == [
        "replay one (one)", "replay one (one), blind", "replay one (two/one)",
    ]  # fmt: skip
    assert tables_of(of_whole) == PRINTED
    assert tables_of(of_blind)["Causal questions by their own control"] == [
        ["its control is right", "8", "1", "12.5 [0.0, 50.0]", "4"],
        ["its control is not right", "0", "0", "N/A", "0"],
        ["no control of its own", "4", "0", "0.0 [0.0, 49.0]", "4"],
    ]
    assert tables_of(of_other)["Accuracy by step"][2][1] == "25.0 [4.6, 69.9]"
    for held, other in (("perception", "counterfactual"), ("counterfactual", "perception")):
        tasks = (f"worlds_{held}", f"worlds_{other}_blind")
        part = write_records(tmp_path / held, {task: (whole | blind)[task] for task in tasks})
        expected(called("worlds", "profile", one, part, status=1))


def section_titles(page: Path, *folders: Path) -> dict[str, list[str]]:
    """The profile's panels on a page, by task; tasks without any are left out."""
    called("report", *folders, "--html", page)
    sections = page.read_text(encoding="utf-8").split('<section id="')[1:]
    shown = {text.partition('"')[0]: re.findall(r"<figcaption><h3>([^<]*)</h3>", text) for text in sections}
    own = {name: [title for title in titles if title in TITLES] for name, titles in shown.items()}
    return {name: titles for name, titles in own.items() if titles}


@pytest.mark.slow
@pytest.mark.usefixtures("home")
def test_a_page_shows_the_profile_once_at_the_first_causal_task(tmp_path: Path) -> None:
    records, blind = records_of(sees_wrongly), records_of(reasons_badly, "blind")
    parts = {
        "whole": records,
        "without": {task: of for task, of in records.items() if task != "worlds_counterfactual"},
        "alone": {"worlds_counterfactual": records["worlds_counterfactual"]},
    }
    runs, page = {name: write_records(tmp_path / name, part) for name, part in parts.items()}, tmp_path / "page.html"
    assert {name: section_titles(page, run) for name, run in runs.items()} == {
        "whole": {"worlds_counterfactual": TITLES}, "without": {"worlds_paired": TITLES}, "alone": {},
    }  # fmt: skip
    assert 'href=""' not in page.read_text(encoding="utf-8"), "a benchmark without a paper links to none"
    # Of runs that differ in their tasks, each is shown once.
    assert section_titles(page, *runs.values()) == {"worlds_paired": TITLES, "worlds_counterfactual": TITLES}
    # It reads the other tasks of the same view.
    path = read_run(write_records(tmp_path / "both", records | blind)).path
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

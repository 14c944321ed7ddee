"""The study of people: Table 4's row of people, Figure 6b, planted answers, and the labels that follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.parquet
import pytest
from commands import printed, refusal
from expected import Expected
from prepared_texts import add_texts
from submission_world import taken_for_released
from yocausal_world import write_release

from lmms_eval_tasks.utils.data.card import SplitFacts
from lmms_eval_tasks.utils.data.home import table_path
from lmms_eval_tasks.utils.people.baseline import score_study
from lmms_eval_tasks.utils.people.responses import Response, read_human_responses
from lmms_eval_tasks.yocausal.benchmark import STUDY, prepare
from lmms_eval_tasks.yocausal.card import CARD

pytestmark = pytest.mark.usefixtures("home", "hundred_columns")
HEADER = "item,version,annotator,choice\n"
SHOWN = {"forward_first": ("first", "second"), "reversed_first": ("second", "first")}
"""How a pair is shown to the answers that are wrong and right."""

Row = dict[str, Any]


def pair(item: str, subset: str, causal: bool | None) -> Row:
    labels = {"vlm_causality": causal, "human_discriminable": None, "motion_symmetric": None}
    asked = {"question": "Which is reversed?", "answer": "A", "clip_backward": "test/b.mp4"}
    return {"item_id": item, "group_id": item, "subset": subset, "category": "any", **asked, **labels}


def write_responses(path: Path, answers: Mapping[str, Sequence[str]]) -> Path:
    """Answers by pair: r is right, w wrong, u unknown; each pair is shown in both orders in turn."""
    rows = []
    for item, given in answers.items():
        for number, answer in enumerate(given):
            version = list(SHOWN)[number % 2]
            choice = {"w": SHOWN[version][0], "r": SHOWN[version][1], "u": "unknown"}[answer]
            rows.append(f"{item},{version},p{number},{choice}\n")
    path.write_text(HEADER + "".join(rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("official", [True, False])
def test_a_worked_example(tmp_path: Path, expected: Expected, official: bool) -> None:
    """Credits: a1 3.5 of 4, a2 1 of 4, g1 1, g2 1.5 of 3; only subset means are averaged.

    The paper's stand beside those on the whole release, here taken to have five pairs.
    """
    with patch.dict(CARD.splits, {"test": SplitFacts(5, 5)} if official else {}), taken_for_released():
        add_texts("yocausal", "test", [
            pair("a1", "animal", True), pair("a2", "animal", False), pair("g1", "general", True),
            pair("g2", "general", None), pair("p1", "physics", True),
        ])  # fmt: skip
    path = write_responses(tmp_path / "people.csv", {"a1": "rrru", "a2": "wuuw", "g1": "rr", "g2": "rwu"})
    labels = tmp_path / "labels.jsonl"
    shown = printed("humans", path, "--items", "yocausal:test", "--labels-out", labels)
    rows = {row[0]: row[1:] for line in shown.splitlines() if (row := line.split())}
    animal, general = 100 * (3.5 / 4 + 1 / 4) / 2, 100 * (1 + 1.5 / 3) / 2
    causal, other = 100 * (3.5 / 4 + 1) / 2, 100 * 1 / 4
    for title, items, value, paper in (
        ("RSI", "4", (animal + general) / 2, "79.08"),
        ("animal", "2", animal, None),
        ("general", "2", general, None),
        ("causal", "2", causal, None),
        ("CCI", "3", causal - other, "8.67"),
    ):
        assert rows[title][:2] == [items, f"{value:.2f}"]
        assert paper is None or (rows[title][-1] == paper) == official
    expected(shown)
    expected(labels.read_text(encoding="utf-8"))


def test_the_judges_labels_of_60_clips_beside_peoples(tmp_path: Path) -> None:
    """Figure 6b prints F1 82.76: here 24 of 34 clips that one of the two calls causal, and 26 that none does.

    Its tau of 0.7613 fits no such table of 40 to 60 clips; of this one tau-b is (24 * 26 - 25) / (29 * 31).
    """
    judged, found = "+" * 29 + "-" * 31, "+" * 24 + "-" * 5 + "+" * 5 + "-" * 26
    rows = [pair(f"c{number}", "animal", label == "+") for number, label in enumerate(judged)]
    add_texts("yocausal", "test", [*rows, pair("unlabelled", "animal", None)])
    given = [f"c{number},,p1,{'CAUSAL' if label == '+' else 'NOT_CAUSAL'}\n" for number, label in enumerate(found)]
    (tmp_path / "people.csv").write_text(HEADER + "".join(given), encoding="utf-8")
    options = ("--items", "yocausal:test", "--mode", "causality")
    cells = [line.split() for line in printed("humans", tmp_path / "people.csv", *options).splitlines()]
    rows_of = {" ".join(line[: 3 if line[0] == "people" else 1]): line for line in cells if line}
    assert rows_of["people find it"][3:] == ["24", "5"] and rows_of["people do not"][3:] == ["5", "26"]
    assert (rows_of["F1"][1], rows_of["F1"][-1]) == ("82.76", "82.76")
    assert rows_of["Kendall"][2:] == [f"{(24 * 26 - 25) / (29 * 31):.4f}", "0.7613"]
    (tmp_path / "more.csv").write_text(HEADER + "unlabelled,,p1,CAUSAL\n", encoding="utf-8")
    assert "but got unlabelled" in refusal("humans", tmp_path / "more.csv", *options)


def read_back(folder: Path, rows: list[Row], answers: Mapping[str, Sequence[str]]) -> tuple[list[Response], Row]:
    """Answers as they are read from a file, and the study's estimates."""
    responses = read_human_responses(write_responses(folder / "people.csv", answers), STUDY.questions(rows))
    return responses, {score.metric.name: score.estimate for score in score_study(STUDY, rows, responses)}


def test_the_papers_row_of_people_is_rebuilt_from_its_subsets(tmp_path: Path) -> None:
    """Table 4, with one answer a pair. No number of 132 pairs gives 91.70, as printed for physics; 91.67 is nearest."""
    right = {"general": (383, 500), "physics": (121, 132), "human": (304, 400), "animal": (144, 200)}
    rows = [pair(f"{subset}_{n}", subset, None) for subset, (_, pairs) in right.items() for n in range(pairs)]
    answers = {f"{subset}_{n}": "rw"[n >= wins] for subset, (wins, pairs) in right.items() for n in range(pairs)}
    _, estimates = read_back(tmp_path, rows, answers)
    table = {"rsi": 79.07, "rsi_general": 76.6, "rsi_physics": 91.67, "rsi_human": 76.0, "rsi_animal": 72.0}
    assert {name: round(estimates[name].value, 2) for name in table} == table and estimates["cci"] is None


def test_answers_that_cannot_be_read_are_all_named(tmp_path: Path, expected: Expected) -> None:
    add_texts("yocausal", "test", [pair("a1", "animal", True)])
    path = tmp_path / "people.csv"
    path.write_text(HEADER + "a1,forward_first,p,A\na1,forward,q,first\na2,forward_first,r,first\n", encoding="utf-8")
    options = ("--items", "yocausal:test"), ("--labels-out", tmp_path / "labels.jsonl")
    expected("".join(refusal("humans", path, *some) for some in options))


@pytest.mark.slow
def test_what_people_can_tell_becomes_the_prepared_label(tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text(
        '{"id": "animal_1", "human_discriminable": false}\n'
        '{"id": "animal_2", "human_discriminable": true, "vlm_causality": true}\n',
        encoding="utf-8",
    )
    prepare(str(write_release(tmp_path / "release")), labels=labels)
    rows = pyarrow.parquet.read_table(table_path("yocausal", "test")).to_pylist()
    assert [(row["vlm_causality"], row["human_discriminable"]) for row in rows[:2]] == [(True, False), (True, True)]

"""The scores of made answers to 1,012 made clips, against the official notebook's functions, written again."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from expected import Expected

from lmms_eval_tasks.api import InputError, Problems, Record
from lmms_eval_tasks.api.prompts import Prompt
from lmms_eval_tasks.intphys2.benchmark import BENCHMARK, FORM, references
from lmms_eval_tasks.intphys2.card import CAMERA_OF, DIFFICULTY_OF, heldout_items, read_items
from lmms_eval_tasks.intphys2.hooks import grade
from lmms_eval_tasks.utils.answers.plausible import read_plausibility
from lmms_eval_tasks.utils.data.card import DataSet
from lmms_eval_tasks.utils.submission.form import Table

KINDS = ("1_Possible", "1_Impossible", "2_Possible", "2_Impossible")
SCENES = 253
CONDITIONS = (
    "permanence", "immutability", "immutability_texture", "continuity", "continuity_swap", "solidity"
)  # fmt: skip
ODDITIES = (
    "Yes", "No", "yes", "no", "YES", "NO", "1", "0", "10", "0.5", "", "I do not know, yes", "I cannot say",
    "Now it falls", "It is not possible.", "No, nothing is impossible here.", "Possible", "Impossible", "yes and no",
    "Unknown", "Hmm", "<think>no</think>Yes", "Answer: 0", "eyes", "The answer is 1.", "cannot", "No. 1", "0 or 1",
    "Not 0.", "yEs", "nO", "Nothing is impossible.", "１", "\n\n", "yes\0", "ноль",
)  # fmt: skip
# The parts of the notebook, spelt as its lists are.
PARTS: Mapping[str, tuple[str, str]] = {
    "easy": ("env", "BasicLevel_0"),
    "medium": ("env", "SaltFlats_0 DesertMap_0 RaceTrack_0 TropicalIsland_0"),
    "hard": ("env", "PLVDaylight_0 Egypt_0 RuralAustralia03_0 ParkingGarage_0 None"),
    "fixed": (
        "game_name",
        "FixedMarryPoppins FixedJumpSolidity RotatingCup HotAirBallon SphereFallingDown SolidityFallingFlat",
    ),
    "moving": (
        "game_name",
        "SphereFallingDownSoldity BoxSoldity Scaffoling CameraSolidity JumpSolidity Box MovingAroundOccluder JailStone "
        "PrisonCell Restaurant",
    ),
    "permanence": ("condition", "permanence"),
    "immutability": ("condition", "immutability immutability_texture"),
    "continuity": ("condition", "continuity continuity_swap"),
    "solidity": ("condition", "solidity"),
}


def official_accuracy(metadata: list[dict[str, str]], answers: Mapping[str, str], by_digit: bool) -> float:
    """Percent of all rows whose answer is the label; a row without an answer, or with neither sign, is wrong."""
    right = 0
    for row in metadata:
        label = 0 if "Impossible" in row["type"] else 1
        text = answers.get(row["name"])
        said = None
        if text is not None and by_digit:
            said = 1 if "1" in text else 0 if "0" in text else None
        elif text is not None:
            yes, no = "yes" in text or "Yes" in text, "no" in text or "No" in text
            said = 1 if yes else 0 if no else None
        right += said == label
    return 100 * right / len(metadata)


@pytest.fixture(scope="module")
def metadata() -> list[dict[str, str]]:
    draw = random.Random(0)
    rows = []
    for scene in range(SCENES):
        place = {
            "condition": draw.choice(CONDITIONS),
            "env": draw.choice(list(DIFFICULTY_OF)),
            "game_name": draw.choice(list(CAMERA_OF)),
        }
        rows += [{"SceneIndex": str(scene), "name": f"{scene}-{kind}", "type": kind, **place} for kind in KINDS]
    draw.shuffle(rows)
    return rows


@pytest.fixture(scope="module")
def rows(metadata: list[dict[str, str]]) -> list[Any]:
    lines = [",".join(metadata[0]), *(",".join(row.values()) for row in metadata)]
    problems = Problems()
    items = read_items("main", "metadata.csv", "\n".join(lines).encode(), problems)
    assert not problems and len(items) == 1012
    return items


def context(prompt: str) -> Any:
    return SimpleNamespace(settings=SimpleNamespace(prompt=Prompt("a prompt", prompt), signature=prompt))


def grade_all(rows: list[Any], answers: Mapping[str, str], prompt: str = "{question}") -> list[Record]:
    """Graded, a clip without an answer being missing."""
    return [
        grade({**row, "asked": row["item_id"] in answers}, answers.get(row["item_id"]), context(prompt)).record
        for row in rows
    ]


def score(records: list[Record], name: str, kind: str = "main") -> float | None:
    return BENCHMARK.kinds[kind].metric(name).score_records(records)


@pytest.fixture(scope="module")
def answers(metadata: list[dict[str, str]]) -> dict[str, str]:
    draw = random.Random(1)
    given = [(row["name"], draw.choice(ODDITIES)) for row in metadata]
    missing = {name for name, _ in given if draw.random() < 0.05}
    assert missing and {text for name, text in given if name not in missing} == set(ODDITIES)
    return {name: text for name, text in given if name not in missing}


@pytest.mark.parametrize(("prompt", "by_digit"), [("{question} Yes or No?", False), ("Say (1) or 0.", True)])
def test_official_scores_are_those_of_the_notebook(
    metadata: list[dict[str, str]], rows: list[Any], answers: dict[str, str], prompt: str, by_digit: bool
) -> None:
    records = grade_all(rows, answers, prompt)
    assert score(records, "single_accuracy_official") == pytest.approx(official_accuracy(metadata, answers, by_digit))
    for part, (column, values) in PARTS.items():
        chosen = [row for row in metadata if row[column] in values.split()]
        assert 0 < len(chosen) < len(metadata)
        expected = official_accuracy(chosen, answers, by_digit)
        assert score(records, f"single_accuracy_official_{part}") == pytest.approx(expected)


def test_our_scores_by_hand(metadata: list[dict[str, str]], rows: list[Any], answers: dict[str, str]) -> None:
    records = grade_all(rows, answers)
    label = {row["name"]: "B" if "Impossible" in row["type"] else "A" for row in metadata}
    right = {name: read_plausibility(text) == label[name] for name, text in answers.items()}
    assert score(records, "single_accuracy") == pytest.approx(100 * sum(right.values()) / len(right))
    places = [
        [
            all(right[f"{scene}-{place}_{kind}"] for kind in ("Possible", "Impossible"))
            for scene in range(SCENES)
            if all(f"{scene}-{place}_{kind}" in right for kind in ("Possible", "Impossible"))
        ]
        for place in (1, 2)
    ]
    assert score(records, "pairs_scored") == sum(map(len, places)) < 2 * SCENES
    assert score(records, "pair_accuracy") == pytest.approx(50 * sum(sum(one) / len(one) for one in places))
    whole = [
        all(right[f"{scene}-{kind}"] for kind in KINDS)
        for scene in range(SCENES)
        if all(f"{scene}-{kind}" in right for kind in KINDS)
    ]
    assert score(records, "scene_accuracy") == pytest.approx(100 * sum(whole) / len(whole))
    read = [letter for text in answers.values() if (letter := read_plausibility(text))]
    assert score(records, "says_possible") == pytest.approx(100 * read.count("A") / len(read))


@pytest.mark.parametrize(
    ("answer", "single", "pair", "scene", "possible"),
    [
        (lambda row: "Yes" if row["answer"] == "A" else "No", 100, 100, 100, 50),
        (lambda row: "Yes", 50, 0, 0, 100),
        (lambda row: "No", 50, 0, 0, 0),
        (lambda row: "Yes" if row["answer"] == "A" or row["pair"] == "2" else "No", 75, 50, 0, 75),
        (lambda row: "Hmm", 0, 0, 0, None),
    ],
)
def test_models_that_are_easy_to_score(
    rows: list[Any], answer: Callable[[Any], str], single: int, pair: int, scene: int, possible: int | None
) -> None:
    records = grade_all(rows, {row["item_id"]: answer(row) for row in rows})
    names = ("single_accuracy", "pair_accuracy", "scene_accuracy", "says_possible", "pairs_scored")
    assert [score(records, name) for name in names] == [single, pair, scene, possible, 506]


def test_agreement_over_three_codings() -> None:
    lines = ["SceneIndex,name,type,condition,env,game_name"]
    lines += [f"1,{kind}_{coding},{kind},solidity,None,Box" for coding, kind in product(range(3), KINDS)]
    rows = read_items("debug", "m", "\n".join(lines).encode(), Problems())
    said = {"1_Possible": "YYY", "1_Impossible": "NNN", "2_Possible": "YNY", "2_Impossible": "YYY"}
    answers = {
        f"{kind}_{at}": {"Y": "Yes", "N": "No"}[letter] for kind, of in said.items() for at, letter in enumerate(of)
    }
    records = grade_all(rows, answers)
    assert score(records, "codings_possible", "debug") == 50
    assert score(records, "codings_impossible", "debug") == 25
    assert score(records, "pair_accuracy", "debug") == 50
    assert score(records, "scene_accuracy", "debug") == 0


def test_published_scores_stand_beside_held_out_clips_alone() -> None:
    (heldout,) = references("intphys2_heldout", 344)
    assert [(one.model, one.value) for one in heldout.published][:2] == [
        ("Cosmos-Reason2-8B", 58.14),
        ("V-JEPA 2", 56.4),
    ]
    assert len(heldout.published) == 5 and heldout.people[0].percent == 92.44
    for task in ("intphys2_main", "intphys2_debug"):
        assert [(one.metric.name, one.chance) for one in references(task, 9)] == [
            ("single_accuracy", 50.0), ("scene_accuracy", 6.25), ("pair_accuracy", 25.0)
        ]  # fmt: skip
        assert not any(one.published or one.people for one in references(task, 9))


@pytest.fixture
def table() -> Table:
    return Table("heldout", heldout_items(["a" * 64, "b" * 64, "c" * 64]), DataSet(kind="official", items=3, of=3))


def test_the_file_of_a_run(table: Table) -> None:
    said = dict(zip(("a" * 64, "b" * 64, "c" * 64), ("Yes.", "Not possible.", "Hmm"), strict=True))
    entries = [grade({**row, "asked": True}, said[row["item_id"]], context("{question}")) for row in table.rows]
    assert {entry.record.outcome.value for entry in entries} == {"unscored"}
    built = FORM.build(entries, table, "answers")
    assert built is not None and (built.rows, built.empty) == (3, 1)
    assert [json.loads(line) for line in built.text.splitlines()] == [
        {"data_name": "intphys2", "task": "HeldOut", "row_id": name, "model_answer": answer}
        for name, answer in zip(said, (1, 0, None), strict=True)
    ]


def checked(path: Path, table: Table | None, lines: list[dict[str, Any]], allow_incomplete: bool = False) -> Any:
    whole = {"data_name": "intphys2", "task": "HeldOut"}
    path.write_text("".join(json.dumps({**whole, **line}) + "\n" for line in lines), encoding="utf-8")
    issues = Problems()
    found = FORM.check(path, {"heldout": table} if table else {}, allow_incomplete, issues)
    issues.raise_if_any("The file cannot be submitted")
    return found


def test_a_file_in_any_order_is_taken_and_lines_of_another_form_are_refused(
    tmp_path: Path, table: Table, expected: Expected
) -> None:
    lines = [{"row_id": name * 64, "model_answer": answer} for name, answer in zip("cab", (None, 0, 1), strict=True)]
    found = checked(tmp_path / "file.jsonl", table, lines)
    assert (found.rows, found.empty, found.against) == (3, 1, table)
    assert checked(tmp_path / "file.jsonl", None, lines).notes == ("The published split has 344 items.",)
    assert checked(tmp_path / "file.jsonl", table, lines[:2], True).notes == ("Incomplete: 1 of 3 items have no row.",)
    changes = [
        {"model_answer": True},
        {"model_answer": 2},
        {"model_answer": "1"},
        {"task": "Main"},
        {"data_name": "mvp"},
        {"row_id": "d" * 64},
        {"row_id": "a" * 64},
    ]
    with pytest.raises(InputError) as caught:
        checked(tmp_path / "file.jsonl", table, [{**lines[1], **change} for change in changes] + lines)
    expected(str(caught.value))

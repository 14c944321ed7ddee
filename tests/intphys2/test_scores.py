"""Scores of made answers to 1,012 made clips, against the official notebook's functions, written again; and answers in
the manner of models, labelled by hand.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from expected import Expected
from hypothesis import given
from hypothesis import strategies as st
from intphys2_checkout import TEXTS, write_checkout
from refusals import refusal

from lmms_eval_tasks.api import InputError, Problems, Record
from lmms_eval_tasks.api.prompts import Prompt
from lmms_eval_tasks.intphys2.benchmark import BENCHMARK, FORM, references
from lmms_eval_tasks.intphys2.card import CAMERA_OF, DIFFICULTY_OF, heldout_items, read_items
from lmms_eval_tasks.intphys2.hooks import (
    OFFICIAL_PROMPTS,
    asks_for_digit,
    grade,
    official_answer,
    read_settings,
    read_text,
)
from lmms_eval_tasks.prompting import imported, sha256
from lmms_eval_tasks.utils.answers.plausible import IMPOSSIBLE, POSSIBLE, read_plausibility
from lmms_eval_tasks.utils.answers.reply import Reply, as_reply
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.scoring.record import UnscoredReason
from lmms_eval_tasks.utils.submission.form import Table

KINDS = ("1_Possible", "1_Impossible", "2_Possible", "2_Impossible")
SCENES = 253
CONDITIONS = (
    "permanence", "immutability", "immutability_texture", "continuity", "continuity_swap", "solidity"
)  # fmt: skip
LINES = [json.loads(line) for line in Path(__file__).with_name("answers.jsonl").read_text("utf-8").splitlines()]
"""Answers in the manner of models, labelled by hand."""
PARTS = json.loads(Path(__file__).with_name("parts.json").read_text("utf-8"))
"""The parts of the notebook, spelt as its lists are: a column, and its values."""


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
    missing = Reply(missing=UnscoredReason.NO_CLIP)
    said = (as_reply(answers.get(row["item_id"], missing)) for row in rows)
    return [grade(row, reply, context(prompt)).record for row, reply in zip(rows, said, strict=True)]


def score(records: list[Record], name: str, kind: str = "main") -> float | None:
    return BENCHMARK.kinds[kind].metric(name).score_records(records)


@pytest.fixture(scope="module")
def answers(metadata: list[dict[str, str]]) -> dict[str, str]:
    """Answers to most of the clips; the others are missing."""
    draw, texts = random.Random(1), sorted({line["text"] for line in LINES})
    given = {row["name"]: draw.choice(texts) for row in metadata if draw.random() < 0.95}
    assert len(given) < len(metadata)
    return given


@pytest.mark.parametrize(("prompt", "by_digit"), [("{question} Yes or No?", False), ("Say (1) or 0.", True)])
def test_official_scores_are_those_of_the_notebook(
    metadata: list[dict[str, str]], rows: list[Any], answers: dict[str, str], prompt: str, by_digit: bool
) -> None:
    records = grade_all(rows, answers, prompt)
    assert score(records, "single_accuracy_official") == pytest.approx(official_accuracy(metadata, answers, by_digit))
    for part, (column, values) in PARTS.items():
        chosen = [row for row in metadata if row[column] in values]
        assert 0 < len(chosen) < len(metadata)
        expected = official_accuracy(chosen, answers, by_digit)
        assert score(records, f"single_accuracy_official_{part}") == pytest.approx(expected)


@pytest.mark.slow
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
    assert {one.model: one.value for one in heldout.published}.items() >= {
        ("Cosmos-Reason2-8B", 58.14), ("V-JEPA 2", 56.4)
    }  # fmt: skip
    assert len(heldout.published) == 5 and heldout.people[0].percent == 92.44
    for one, chance in zip(references("intphys2_main", 9), (50.0, 6.25, 25.0), strict=True):
        assert (one.chance, one.published, one.people) == (chance, (), ())


def test_the_file_of_a_run_is_taken_in_any_order_and_lines_of_another_form_are_refused(
    tmp_path: Path, expected: Expected
) -> None:
    ids = [name * 64 for name in "abc"]
    table = Table("heldout", heldout_items(ids), DataSet(kind=SetKind.OFFICIAL, items=3, of=3))
    entries = [
        grade(row, Reply(said), context("{question}"))
        for row, said in zip(table.rows, ("Yes.", "Not possible.", "Hmm"), strict=True)
    ]
    assert {entry.record.outcome.value for entry in entries} == {"unscored"}
    built = FORM.build(entries, table, "answers")
    assert built is not None and (built.rows, built.empty) == (3, 1)
    lines = [json.loads(line) for line in built.text.splitlines()]
    whole = {"data_name": "intphys2", "task": "HeldOut"}
    assert lines == [
        {**whole, "row_id": one, "model_answer": said} for one, said in zip(ids, (1, 0, None), strict=True)
    ]

    def check(rows: list[Any], known: dict[str, Table], allow_incomplete: bool = False) -> Any:
        path, issues = tmp_path / "file.jsonl", Problems()
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        found = FORM.check(path, known, allow_incomplete, issues)
        issues.raise_if_any("The file cannot be submitted")
        return found

    of_table = {"heldout": table}
    found = check(lines[::-1], of_table)
    assert (found.rows, found.empty, found.against) == (3, 1, table)
    assert check(lines, {}).notes == ("The published split has 344 items.",)
    assert check(lines[:2], of_table, True).notes == ("Incomplete: 1 of 3 items have no row.",)
    changes: list[dict[str, Any]] = [{"model_answer": answer} for answer in (True, 2, "1")]
    changes += [{"task": "Main"}, {"data_name": "mvp"}, {"row_id": "d" * 64}, {"row_id": ids[0]}]
    expected(refusal(check, [{**lines[1], **change} for change in changes] + lines, of_table))


READ = {"possible": POSSIBLE, "impossible": IMPOSSIBLE, None: None}
OFFICIAL = {1: POSSIBLE, 0: IMPOSSIBLE, None: None}


def test_answers_to_each_prompt_are_read_as_labelled_and_by_the_official_rule() -> None:
    counts = Counter(line["prompt"] for line in LINES)
    assert counts.keys() == {"ours", 0, 1, 2} and min(counts.values()) >= 60, counts
    for line in LINES:
        assert read_plausibility(line["text"]) == READ[line["read"]], line
        assert official_answer(line["text"], digits=line["prompt"] == 1) == OFFICIAL[line["official"]], line


@given(st.one_of(st.text(), st.none(), st.integers(), st.lists(st.text())))
def test_whatever_a_model_returns_raises_nothing(response: object) -> None:
    assert read_plausibility(response) in (POSSIBLE, IMPOSSIBLE, None)


@pytest.fixture
def checkout(home: Path, tmp_path: Path) -> Path:
    return write_checkout(tmp_path)


def test_a_task_finds_its_prompt_by_the_place_in_the_script_or_by_its_name(checkout: Path) -> None:
    with pytest.raises(InputError, match=r"official prompt 1 is not on this machine\. Run .*import .* --accept-other`"):
        read_settings({"prompt": "official_1"}, {})
    OFFICIAL_PROMPTS.import_from(checkout, accept_other=True)
    names = [f"intphys2-other-{sha256(text)[:8]}" for text in TEXTS]
    assert sorted(names) == list(imported("intphys2"))
    for number, (name, text) in enumerate(zip(names, TEXTS, strict=True)):
        prompt = read_settings({"prompt": "intphys2"}, {"LMMS_EVAL_TASKS_PROMPT": name}).prompt
        placed = read_settings({"prompt": f"official_{number}"}, {}).prompt
        assert prompt is not None and placed is not None and prompt.prompt_id == name
        assert prompt.render(question="What?") == placed.render() == text
        assert asks_for_digit(prompt) == ("1 or 0" in text)
        # A copy of the same release changes nothing.
        OFFICIAL_PROMPTS.import_from(checkout, accept_other=True)
    with pytest.raises(InputError, match=r"Expected no LMMS_EVAL_TASKS_PROMPT .* here official_1, but got mcq_letter"):
        read_settings({"prompt": "official_1"}, {"LMMS_EVAL_TASKS_PROMPT": "mcq_letter"})
    # Texts of two releases are not chosen between.
    script = checkout / "IntPhys2_transformers.py"
    script.write_text(script.read_text(encoding="utf-8").replace("1 or 0", "0 or 1"), encoding="utf-8")
    OFFICIAL_PROMPTS.import_from(checkout, accept_other=True)
    with pytest.raises(InputError, match="Expected one text of IntPhys 2's official prompt 1, but intphys2-other-"):
        read_settings({"prompt": "official_1"}, {})
    assert read_settings({"prompt": "official_2"}, {}).prompt is not None


@pytest.mark.parametrize(("length", "found"), [(79, 2), (80, 3)])
def test_a_prompt_has_eighty_characters_or_more(length: int, found: int, tmp_path: Path) -> None:
    texts = [f"{word:.<{length}}" for word in ("Is it PLAUSIBLE?", "Is it likely?")] + [
        "impossible" * 9,
        "possibly" * 20,
    ]
    script = tmp_path / "script.py"
    script.write_text(f"{texts[2]!r}\nA = {texts}\n", encoding="utf-8")
    if found == 3:
        assert [read_text(script, number) for number in range(3)] == [texts[0], *texts[2:]]
    else:
        with pytest.raises(ValueError, match=f"^expected 3 long texts on what is plausible, but got {found}$"):
            read_text(script, 0)


def test_a_script_with_other_texts_or_one_without_a_digest_is_refused(checkout: Path, expected: Expected) -> None:
    messages = [refusal(OFFICIAL_PROMPTS.import_from, checkout)]
    for script in ("x = (", "PROMPT = 'possible'\n", ""):
        (checkout / "IntPhys2_transformers.py").write_text(script, encoding="utf-8")
        messages.append(refusal(OFFICIAL_PROMPTS.import_from, checkout, accept_other=True))
    assert not imported("intphys2")
    messages.append(refusal(read_settings, {}, {"LMMS_EVAL_TASKS_PROMPT": "official"}))
    expected("\n".join(messages))
    prompt = read_settings({}, {}).prompt
    assert prompt is not None and prompt.prompt_id == "intphys2" and not asks_for_digit(prompt)
    assert prompt.fields == {"question"}

"""Reading the rows of CausalVQA's metadata."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from raw_releases import QUESTION

from lmms_eval_tasks.causalvqa.benchmark import read_items
from lmms_eval_tasks.causalvqa.hooks import strata
from lmms_eval_tasks.utils.core.fields import read_numbered_options

texts = st.text(st.characters(blacklist_characters="|", blacklist_categories=("Cs", "Cc")), min_size=1).filter(
    lambda text: text == text.strip() != ""
)


@given(
    options=st.dictionaries(st.integers(0).map(str), texts, min_size=2, max_size=26),
    gap=st.sampled_from(["", " ", "  "]),
)
def test_choices_are_read_back(options: dict[str, str], gap: str) -> None:
    joined = "|".join(f"{gap}{number}{gap}.{gap}{text}{gap}" for number, text in options.items())
    assert list(read_numbered_options(joined).items()) == list(options.items())


def test_a_number_of_options_may_have_any_number_of_digits() -> None:
    long = "9" * 5000
    assert read_numbered_options(f"007. a|{long}. b|0. c") == {"7": "a", long: "b", "0": "c"}


@given(text=st.text())
def test_any_other_choices_are_a_sentence(text: str) -> None:
    try:
        options = read_numbered_options(text)
    except ValueError as error:
        assert str(error).startswith("Expected ")
    else:
        assert len(options) >= 2 and all(options.values())


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ("1. a", "Expected 2 to 26 options in {field}, but got `1`."),
        ("1. a|b", "Expected options as `N. text|N. text` in {field}, but got `b`."),
        ("1. a|2.", "Expected options as `N. text|N. text` in {field}, but got `2.`."),
        ("1. a|01. b", "Expected each option number once in {field}, but got `01. b`."),
    ],
)
def test_choices_that_cannot_be_read(choices: str, message: str) -> None:
    with pytest.raises(ValueError, match="Expected") as caught:
        read_numbered_options(choices)
    assert str(caught.value) == message


@pytest.mark.parametrize("correct", ["10", "10.0", " 10 ", "10.", "0010"])
def test_an_answer_number_is_a_letter_by_position(correct: str) -> None:
    header = ",".join(QUESTION)
    row = {**QUESTION, "choices1": "7. a|10. b|2. c", "correct1": correct}
    items, problems = read_items("debug", f"{header}\n{','.join(row.values())}\n".encode("utf-8-sig"))
    assert not problems and not problems.warnings()
    assert [item["answer"] for item in items] == ["B", "C"]


@pytest.mark.parametrize("name", ["./a.mp4", "a//b.mp4", "../videos/a.mp4", "a.mp4\\..", "", "."])
def test_only_plain_names_of_clips_are_taken(name: str) -> None:
    table = f"{','.join(QUESTION)}\n{','.join({**QUESTION, 'renamed_video': name}.values())}\n"
    items, problems = read_items("debug", table.encode())
    if name in ("./a.mp4", "a//b.mp4"):
        assert not problems and items[0]["clip"] == f"debug/{Path(name)}"
    else:
        assert len(problems) == 1


def test_a_scenario_is_kept_where_the_release_has_one() -> None:
    for scenario in ("", "sports"):
        header, cells = ",".join((*QUESTION, "scenario")), ",".join((*QUESTION.values(), scenario))
        items, problems = read_items("debug", f"{header}\n{cells}\n".encode())
        assert not problems and {item["scenario"] for item in items} == {scenario}
        known = {"type": items[0]["type"], "difficulty": items[0]["difficulty"]}
        assert strata(items[0]) == ({**known, "scenario": scenario} if scenario else known)

"""The command `bias`: what prepared questions give away without a clip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from prepared_texts import add_mvp_sample, add_texts
from raw_releases import QUESTION, WITHHELD, write_metadata
from typer.testing import CliRunner

from lmms_eval_tasks.causalvqa.benchmark import prepare as prepare_causalvqa
from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.mvp.benchmark import SUBSETS
from lmms_eval_tasks.registry import read_card, registry
from lmms_eval_tasks.report.shortcut_tables import read_choice_sets

pytestmark = pytest.mark.usefixtures("home", "hundred_columns")


def run(*arguments: str) -> tuple[int, list[str], str]:
    """Exit status, lines of stdout, and stderr."""
    result = CliRunner().invoke(app, ["bias", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert max(map(len, lines), default=0) <= 100
    return result.exit_code, lines, result.stderr


def cells(lines: list[str], name: str) -> list[str]:
    """The words of a rule's line after its name."""
    (line,) = [line.strip() for line in lines if line.strip().startswith(f"{name}  ")]
    return line.removeprefix(name).split()


def rules(lines: list[str]) -> dict[str, list[str]]:
    """The words after the name of each rule of a table."""
    start = next(number for number, line in enumerate(lines) if "─" in line)
    names = [line.strip().partition("  ")[0] for line in lines[start + 1 : lines.index("", start)]]
    return {name: cells(lines, name) for name in names}


@pytest.mark.model
def test_text_alone_is_worth_nothing_in_minimal_pairs(tmp_path: Path) -> None:
    from tiny_text_model import write_tiny_text_model

    add_mvp_sample(12)
    status, lines, _ = run("mvp", "--model", str(write_tiny_text_model(tmp_path / "model", positions=256)))
    assert status == 0
    assert "mvp, mini: 96 items of 2 options in 48 groups" in lines
    assert "SAMPLE DATA, not the benchmark: it says nothing about the whole release" in lines
    found = rules(lines)
    assert found.pop("any, at random") == ["0%", "50.0", "25.0", "50%"]
    assert len(found) == 9 and {"likely, question unseen", "likely after the question"} <= found.keys()
    for words in found.values():
        assert words[1] == "50.0" and words[5:] == ["0.0", "[0.0,", "7.4]", "below", "100%"]


def test_the_two_versions_of_a_question(tmp_path: Path) -> None:
    other = {**QUESTION, "qid": "q2", "correct1": "2", "correct2": "2"}
    prepare_causalvqa(write_metadata(tmp_path, "debug", [QUESTION, other]))
    status, lines, _ = run("causalvqa", "--split", "debug")
    assert status == 0
    assert "causalvqa, debug: 4 items of 3 options in 2 groups" in lines
    assert not any("SAMPLE DATA" in line for line in lines)
    found = rules(lines)
    assert found["any, at random"] == ["0%", "33.3", "11.1", "67%"]
    assert [found["always B"][at] for at in (1, 5, 9)] == ["75.0", "50.0", "33%"]
    # Nothing is right, so nothing can be removed.
    assert found["always A"][1] == "0.0" and found["always A"][-1] == "open"
    # The other question's key is the same text in the first version, and another in the second.
    assert [found["most frequent answer"][at] for at in (0, 1, 5)] == ["100%", "50.0", "0.0"]


def test_withheld_keys_are_named_and_the_choices_shown(tmp_path: Path) -> None:
    prepare_causalvqa(write_metadata(tmp_path, "test", [WITHHELD]))
    status, lines, _ = run("causalvqa")
    assert status == 0
    assert (
        "The release withholds the keys, so no accuracy can be computed: only what the rules choose is shown." in lines
    )
    found = rules(lines)
    assert "most frequent answer" not in found
    # "it rolls" and "it stops" tie; of the other version "it halts", "it drops" and "it turns".
    assert found["longest option"] == ["0%", "0.0%"] and found["always A"] == ["100%", "0.0%"]


def question(number: int, answer: str | None, group: int | None = None, **more: Any) -> dict[str, Any]:
    group_id = str(number if group is None else group)
    return {"item_id": str(number), "group_id": group_id, "question": "Would it?", "answer": answer, **more}


def test_answers_without_options_are_chosen_among_those_that_occur() -> None:
    where = {"interaction": "H2H", "level": "L1", "paired": True}
    rows = [question(number, ("no", "yes")[number % 2], number // 2, **where) for number in range(4)]
    add_texts("countervqa", "test", [*rows, question(4, "yes", **where), question(5, None, **where)])
    status, lines, _ = run("countervqa")
    assert status == 0
    assert "countervqa, test: 6 items without options, whose keys are no, yes, in 4 groups" in lines
    assert "without a key, and in no accuracy: 1 items" in lines
    found = rules(lines)
    assert list(found) == ["any, at random", "always no", "always yes", "most frequent answer"]
    assert [found["always yes"][at] for at in (1, 5, 9)] == ["60.0", "0.0", "100%"]


def test_questions_that_nobody_chooses_an_answer_to_are_refused() -> None:
    where = {"interaction": "H2H", "level": "L1", "paired": False}
    add_texts("countervqa", "test", [question(number, f"because of {number}", **where) for number in range(7)])
    assert run("countervqa") == (
        1,
        [],
        "CounterVQA has no questions that are answered by choosing among options, so there is nothing that a rule "
        "could choose.\n",
    )


def test_tasks_with_items_of_their_own_are_read_as_they_ask() -> None:
    row = {
        **question(0, None, question="Forward?"), "options": ["forward", "in reverse"], "subset": "animal",
        "clip_backward": "test/b.mp4",
    }  # fmt: skip
    add_texts("yocausal", "test", [row])
    (found,) = read_choice_sets(read_card("yocausal"), registry().tasks_of("yocausal").values(), "test")
    assert found.tasks == ("yocausal_vlm",) and found.together == 2 and not found.from_keys
    assert [(item.key, item.options, item.stratum) for item in found.items] == [
        (key, ("forward", "in reverse"), ("animal",)) for key in (0, 1)
    ]
    assert len({item.group for item in found.items}) == 1


def test_the_same_group_id_in_two_subsets_names_two_groups() -> None:
    options = ["it falls", "it stays"]
    rows = [question(number, "AB"[number % 2], 0, options=options, subset=SUBSETS[number // 2]) for number in range(4)]
    add_texts("mvp", "mini", rows)
    (found,) = read_choice_sets(read_card("mvp"), registry().tasks_of("mvp").values(), "mini")
    assert len({item.group for item in found.items}) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x",), "Expected a benchmark, one of "),
        (("mvp",), "MVP is not prepared: "),
        (("countervqa", "--split", "x"), "CounterVQA, split x, is not prepared: "),
    ],
)
def test_what_cannot_be_read(arguments: tuple[str, ...], message: str) -> None:
    add_texts("countervqa", "test", [question(0, "yes", interaction="H2H", level="L1", paired=False)])
    status, lines, err = run(*arguments)
    assert (status, lines) == (1, []) and err.startswith(message)

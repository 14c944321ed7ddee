"""The command `bias`: what prepared questions give away without a clip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from commands import printed, refusal
from prepared_texts import add_mvp_sample, add_texts
from releases import QUESTION, WITHHELD, write_causalvqa

from lmms_eval_tasks.causalvqa.benchmark import prepare as prepare_causalvqa
from lmms_eval_tasks.mvp.benchmark import SUBSETS
from lmms_eval_tasks.registry import read_card, registry
from lmms_eval_tasks.report.shortcut_tables import read_choice_sets
from lmms_eval_tasks.utils.data.prepare import Preparation

pytestmark = pytest.mark.usefixtures("home", "hundred_columns")
WHERE: dict[str, Any] = {"interaction": "H2H", "level": "L1"}


def shown(*arguments: str) -> str:
    """What the command prints, in a hundred columns."""
    lines = [line.rstrip() for line in printed("bias", *arguments).splitlines()]
    assert max(map(len, lines)) <= 100
    return "\n".join(lines)


def rules(text: str) -> dict[str, list[str]]:
    """The words after the name of each rule of a table."""
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if "─" in line)
    rows = [line.strip().partition("  ") for line in lines[start + 1 : lines.index("", start)]]
    return {name: words.split() for name, _, words in rows}


def question(number: int, answer: str | None, group: int | None = None, **more: Any) -> dict[str, Any]:
    group_id = str(number if group is None else group)
    return {"item_id": str(number), "group_id": group_id, "question": "Would it?", "answer": answer, **more}


@pytest.mark.model
def test_text_alone_is_worth_nothing_in_minimal_pairs(tmp_path: Path) -> None:
    from tiny_text_model import write_tiny_text_model

    add_mvp_sample(12)
    text = shown("mvp", "--model", str(write_tiny_text_model(tmp_path / "model", positions=256)))
    assert "mvp, mini: 96 items of 2 options in 48 groups" in text
    assert "SAMPLE DATA, not the benchmark: it says nothing about the whole release" in text
    found = rules(text)
    assert found.pop("any, at random") == ["0%", "50.0", "25.0", "50%"]
    assert len(found) == 9 and {"likely, question unseen", "likely after the question"} <= found.keys()
    for words in found.values():
        assert words[1] == "50.0" and words[5:] == ["0.0", "[0.0,", "7.4]", "below", "100%"]


def test_the_two_versions_of_a_question_and_withheld_keys(expected: Any, tmp_path: Path) -> None:
    other = {**QUESTION, "qid": "q2", "correct1": "2", "correct2": "2"}
    prepare_causalvqa(Preparation(), write_causalvqa(tmp_path, "debug", [QUESTION, other]))
    text = shown("causalvqa", "--split", "debug")
    # Nothing that always A says is right, so nothing can be removed. The other question's key is the same text in the
    # first version, and another in the second.
    assert rules(text)["always B"][1] == "75.0" and rules(text)["most frequent answer"][1] == "50.0"
    expected(text)
    prepare_causalvqa(Preparation(), write_causalvqa(tmp_path / "withheld", "test", [WITHHELD]))
    # "it rolls" and "it stops" tie; of the other version "it halts", "it drops" and "it turns".
    expected(shown("causalvqa", "--split", "test"))


def test_answers_without_options_are_chosen_among_those_that_occur(expected: Any) -> None:
    rows = [question(number, ("no", "yes")[number % 2], number // 2, paired=True, **WHERE) for number in range(4)]
    more = [question(4, "yes", paired=True, **WHERE), question(5, None, paired=True, **WHERE)]
    add_texts("countervqa", "test", [*rows, *more])
    expected(shown("countervqa"))


def test_what_cannot_be_read_or_is_answered_by_no_choice_is_refused(expected: Any) -> None:
    add_texts("countervqa", "test", [question(n, f"because of {n}", paired=False, **WHERE) for n in range(7)])
    said = [refusal("bias", *words) for words in (["countervqa"], ["x"], ["mvp"], ["countervqa", "--split", "x"])]
    expected("\n".join(said))


def test_tasks_with_items_of_their_own_are_read_as_they_ask() -> None:
    row = {
        **question(0, None, question="Forward?"), "options": ["forward", "in reverse"], "subset": "animal",
        "clip_backward": "test/b.mp4",
    }  # fmt: skip
    add_texts("yocausal", "test", [row])
    (found,) = read_choice_sets(read_card("yocausal"), registry().tasks_of("yocausal").values(), "test")
    assert found.tasks == ("yocausal_vlm",) and found.together == 2 and not found.from_keys
    items = [(item.key, item.options, item.stratum, item.group) for item in found.items]
    assert items == [(key, ("forward", "in reverse"), ("animal",), items[0][3]) for key in (0, 1)]
    # The same group id in two subsets names two groups.
    options = ["it falls", "it stays"]
    rows = [question(number, "AB"[number % 2], 0, options=options, subset=SUBSETS[number // 2]) for number in range(4)]
    add_texts("mvp", "mini", rows)
    (found,) = read_choice_sets(read_card("mvp"), registry().tasks_of("mvp").values(), "mini")
    assert len({item.group for item in found.items}) == 2

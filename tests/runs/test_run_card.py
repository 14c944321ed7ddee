"""Run cards: reading them, and how cards of several runs differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from expected import Expected
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusal

from lmms_eval_tasks.runs.run_card import FIELDS, Weight, differences, read_run_card, summary, weight_of

TASK = "task causalvqa_paired"
CARD: dict[str, dict[str, Any]] = {
    TASK: {
        "version": "1-A", "data": "sample data", "data source": "/a", "data sha256": "0123456789ab", "prompt": "mcq",
        "prompt sha256": "fedcba9876", "official prompt": "yes", "extractor": "choice reader 1", "generation": "{}",
    },
    "model": {"name": "m", "checkpoint": "org/model", "revision": None},
    "frames": {"frames": 16, "fps": "not set", "most pixels": None},
    "seeds": {"random": 0, "torch": 1234},
    "run": {"date": "d", "limit": "none", "ranks": 1, "wall time in s": 1.5},
    "software": {"torch": "2.0"},
    "hardware": {"GPUs": "none", "CPU": "a processor"},
    "settings": {"LMMS_EVAL_TASKS_HOME": "/a", "LMMS_EVAL_TASKS_BOXES": "not set"},
}  # fmt: skip


def changed(section: str, field: str, value: Any) -> dict[str, dict[str, Any]]:
    return {**CARD, section: {**CARD[section], field: value}}


def test_a_card_comes_back_as_it_was_written_and_anything_else_is_refused(tmp_path: Path, expected: Expected) -> None:
    path = tmp_path / "card.json"
    assert read_run_card(path) == {}
    path.write_text(json.dumps(CARD), encoding="utf-8")
    assert read_run_card(path) == CARD
    texts = (
        b"[]", b'{"run": 3}', b'{"run": {"limit": [1]}}', b'{"run": {"limit": true}}', b"", b"{", b"\xff\xfe",
        b'{"a": {"b": 1}',
    )  # fmt: skip
    shown = []
    for text in texts:
        path.write_bytes(text)
        shown.append(f"{text!r}: {refusal(read_run_card, path)}")
    expected("\n".join(shown))


def test_what_a_difference_means() -> None:
    for section, field, value, weight in (
        (TASK, "version", "2-A", Weight.MATTERS),
        (TASK, "data sha256", "b", Weight.MATTERS),
        (TASK, "prompt sha256", "b", Weight.MATTERS),
        (TASK, "extractor", "b", Weight.MATTERS),
        (TASK, "generation", "b", Weight.MATTERS),
        (TASK, "data source", "/b", None),
        ("frames", "frames", 8, Weight.MATTERS),
        ("seeds", "random", 1, Weight.MATTERS),
        ("run", "limit", 5, Weight.MATTERS),
        ("run", "date", "e", None),
        ("run", "wall time in s", 2.5, None),
        ("run", "ranks", 2, Weight.ENVIRONMENT),
        ("model", "checkpoint", "org/other", Weight.MODEL),
        ("software", "torch", "2.1", Weight.ENVIRONMENT),
        ("hardware", "CPU", "another", Weight.ENVIRONMENT),
        ("settings", "LMMS_EVAL_TASKS_HOME", "/b", None),
        ("settings", "LMMS_EVAL_TASKS_BOXES", "xyxy_px", Weight.MATTERS),
    ):
        found = differences([CARD, changed(section, field, value)])
        shown = [(one.section, one.field, one.weight, one.values) for one in found]
        assert shown == ([(section, field, weight, (CARD[section][field], value))] if weight else [])
    # What matters comes first, and a field of a later version matters.
    other = changed("software", "torch", "2.1") | {"seeds": {"random": 1}}
    assert [one.weight for one in differences([CARD, other])] == [Weight.MATTERS, Weight.ENVIRONMENT]
    assert weight_of("new section", "new field") is weight_of("frames", "new field") is Weight.MATTERS
    lines, names = [(one.section, one.name) for one in FIELDS], [one.public for one in FIELDS if one.public]
    assert len(lines) == len({*lines}) and len(names) == len({*names}), "a field has one line and one public name"


def test_how_a_difference_is_written() -> None:
    unknown, eight = changed("frames", "frames", None), changed("frames", "frames", 8)
    assert not differences([CARD, unknown]), "what is not known is no difference, and is shown beside one"
    greedy, short = (json.dumps({"do_sample": False, "max_new_tokens": number}) for number in (1024, 16))
    generations = [changed(TASK, "generation", text) for text in (greedy, short, greedy)]
    for cards, text in (
        ([CARD, unknown, eight], "16 against not known against 8"),
        ([CARD, CARD, eight], "16 (runs 1, 2) against 8 (run 3)"),
        # Of settings only those are shown that differ.
        (generations, "max_new_tokens 1024 (runs 1, 3) against max_new_tokens 16 (run 2)"),
    ):
        assert [one.text for one in differences(cards)] == [text]
    # Tasks that one run has, and tasks that are not compared, are left out.
    other = {**CARD, "task mvp": CARD[TASK]}
    moved = {**other, TASK: {**CARD[TASK], "version": "2-A"}, "task mvp": {**CARD[TASK], "version": "3-A"}}
    assert not differences([CARD, other])
    assert [one.place for one in differences([other, moved])] == ["causalvqa_paired", "mvp"]
    assert [one.place for one in differences([other, moved], ["mvp"])] == ["mvp"]


VALUES = st.one_of(st.none(), st.text(max_size=8), st.integers(), st.floats(allow_nan=False))
CARDS = st.dictionaries(
    st.sampled_from([*CARD, "not known", "else"]),
    st.dictionaries(st.sampled_from(["version", "limit", "torch", "prompt"]), VALUES, max_size=3),
)


@settings(max_examples=50)
@given(st.lists(CARDS, max_size=3), st.lists(st.sampled_from(["causalvqa_paired"]), max_size=1))
def test_any_cards_can_be_compared_and_summed_up(cards: list[dict[str, dict[str, Any]]], tasks: list[str]) -> None:
    for card in cards:
        assert not differences([card] * 3) and len(summary(card)) >= 2
    found, turned = differences(cards, tasks), differences(cards[::-1], tasks)
    assert all(len(one.values) == len(cards) and len(set(one.values) - {None}) > 1 for one in found)
    assert {(one.section, one.field) for one in found} == {(one.section, one.field) for one in turned}


def test_a_card_in_a_few_lines() -> None:
    assert summary(CARD) == [
        "m org/model; frames 16; seeds 0, 1234",
        "torch 2.0, a processor, 1.5 s",
        "causalvqa_paired: version 1-A, sample data 01234567, prompt mcq:fedcba98 (official text), choice reader 1",
    ]
    card = {**CARD, "task a": CARD[TASK], "task b": CARD[TASK], "run": {"limit": 4, "ranks": 2}}
    shown = summary(card, {"ab": ["a", "b"], "cd": ["causalvqa_paired", "c"]})
    assert shown[1] == "torch 2.0, a processor, 2 ranks, limit 4"
    assert [line.partition(":")[0] for line in shown[2:]] == ["causalvqa_paired", "ab, each task"]

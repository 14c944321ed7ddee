"""Run cards and known hazards: reading them, how cards of several runs differ, and what the page says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from docs import ROOT
from expected import Expected
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusal

from lmms_eval_tasks.runs.hazards import KNOWN_HAZARDS, Hazard, RunFacts
from lmms_eval_tasks.runs.run_card import (
    FIELDS,
    HAZARD,
    Weight,
    describe_hazard,
    differences,
    read_run_card,
    summary,
    weight_of,
)

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


def test_what_a_difference_means(expected: Expected) -> None:
    lines = []
    for section, fields in CARD.items():
        for field in fields:
            found = differences([CARD, changed(section, field, "other")])
            assert [(one.section, one.field) for one in found] in ([(section, field)], [])
            lines += [f"{section}, {field}: {one.weight.name}, {one.text}" for one in found] or [f"{section}, {field}"]
    expected("\n".join(lines))
    # What matters comes first, and a field of a later version matters.
    other = changed("software", "torch", "2.1") | {"seeds": {"random": 1}}
    assert [one.weight for one in differences([CARD, other])] == [Weight.MATTERS, Weight.ENVIRONMENT]
    assert weight_of("new section", "new field") is weight_of("frames", "new field") is Weight.MATTERS
    places, names = [(one.section, one.name) for one in FIELDS], [one.public for one in FIELDS if one.public]
    assert len(places) == len({*places}) and len(names) == len({*names}), "a field has one line and one public name"


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


def facts(version: str | None = "5.3.0", **arguments: Any) -> RunFacts:
    return RunFacts("chat.some", "qwen2_vl", "PyAV", lambda package: version, arguments.get)


def test_the_entries_are_whole_and_on_the_page() -> None:
    assert len(KNOWN_HAZARDS) == 10
    for name, entry in KNOWN_HAZARDS.items():
        assert entry.effect.endswith(".") and "  " not in entry.effect and entry.source
        assert describe_hazard(name) == f"{entry.effect} Source: {entry.source}"
        assert not entry.applies(RunFacts())
    assert describe_hazard("of_another_version") == "This version of lmms-eval-tasks does not know it."
    card = {f"{HAZARD}of_another_version": {"effect": "Scores move.", "source": "a file"}}
    assert describe_hazard("of_another_version", [{}, card]) == "Scores move. Source: a file"
    page = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")
    rows = page.partition("| hazard | where it applies | what happens |\n")[2].partition("\n\n")[0].splitlines()[1:]
    cells = [row.strip("| ").split(" | ") for row in rows]
    assert [(name.strip("`"), effect) for name, _, effect in cells] == [
        (name, hazard.effect.partition(". ")[0].rstrip(".")) for name, hazard in KNOWN_HAZARDS.items()
    ]


QWEN = {"adapter": "chat.qwen2_5_vl", "weights": "qwen2_5_vl", "transformers": "5.4.0", "lmms-eval": "0.7.3"}
HIT: dict[str, dict[str, Any]] = {
    "qwen_text_inside_video": QWEN,
    "qwen_frames_at_one_time": QWEN,
    "qwen_times_cut": QWEN,
    "first_clip_frames": {**QWEN, "decord": "0.6.0", "batch_size": 2},
    "only_first_clip_limited": {**QWEN, "adapter": "simple.qwen2_5_vl", "batch_size": 2},
    "frames_without_times": {**QWEN, "adapter": "simple.qwen2_5_vl"},
    "video_as_images": {**QWEN, "adapter": "chat.openai"},
    "qwen3_frames_without_times": {**QWEN, "adapter": "chat.openai", "model_version": "org/Qwen3-VL-8B"},
    "decord_other_frames": {**QWEN, "reader": "decord"},
    "clip_reader_replaced": {**QWEN, "reader": "qwen-vl-utils: pyav in place of decord"},
}
"""A run to which each hazard applies."""
OTHERWISE: dict[str, tuple[Any, ...]] = {
    "adapter": tuple(
        f"{form}.{name}"
        for form in ("chat", "simple")
        for name in ("qwen2_vl", "qwen2_5_vl", "video_salmonn_2", "thyme", "openai", "async_openai", "vllm", "llava")
    ),
    "weights": (None, "qwen2_vl", "qwen2_5_vl", "qwen3_vl"),
    "reader": (None, "decord", "qwen-vl-utils: decord", "qwen-vl-utils: pyav in place of torchcodec", "PyAV"),
    "transformers": (None, "4.57.6", "5.0.0", "5.2.9", "5.3.0", "5.5.9", "5.6.0", "5.17.9", "5.18.0", "6.0.0"),
    "lmms-eval": (None, "0.7.2", "0.7.3", "0.8.0"),
    "decord": (None, "0.6.0"),
    "batch_size": (1, 2),
    "fps": (None, 2),
    "positions": (None, "reference", "library"),
    "pass_video_url": (None, True, False),
    "is_qwen3_vl": (None, True, False),
    "model": (None, "a Qwen3-VL", "qwen2-vl"),
    "model_version": (None, "a Qwen3-VL", "qwen2-vl"),
}
"""What may be otherwise in a run, and how."""


def test_where_a_run_may_be_otherwise_and_a_hazard_still_applies(expected: Expected) -> None:
    def applies(name: str, run: dict[str, Any]) -> bool:
        adapter, weights, reader = run["adapter"], run["weights"], run.get("reader")
        return KNOWN_HAZARDS[name].applies(RunFacts(adapter, weights, reader, run.get, run.get))

    lines = []
    for name, run in HIT.items():
        assert applies(name, run), name
        for what, values in OTHERWISE.items():
            held = [value for value in values if applies(name, {**run, what: value})]
            if len(held) < len(values):
                lines.append(f"{name}, {what}: {', '.join(map(str, held))}")
    assert HIT.keys() == KNOWN_HAZARDS.keys()
    expected("\n".join(lines))


def test_what_a_card_says_of_one_that_applies_and_how_runs_differ_in_it() -> None:
    entry = Hazard(lambda run: True, "Scores move.", "a file", True, True, ("torch",), ("fps", "batch"))
    assert entry.found(facts(batch=4)) == {
        "adapter": "chat.some, weights qwen2_vl",
        "versions": "torch 5.3.0",
        "condition": "reader PyAV, fps not set, batch 4",
        "effect": "Scores move.",
        "source": "a file",
    }
    least = Hazard(lambda run: True, "Scores move.", "a file").found(facts())
    assert (least["adapter"], least["versions"], least["condition"]) == ("chat.some", "any", "none")
    name = f"{HAZARD}one"
    old, new = ({name: entry.found(facts(version))} for version in ("5.3.0", "5.4.0"))
    (found,) = differences([old, new])
    assert (found.section, found.field, found.text) == ("hazard one", "versions", "torch 5.3.0 against torch 5.4.0")
    assert differences([old, {name: {**old[name], "effect": "Other words."}}]) == []


def test_versions_arguments_and_batches() -> None:
    inside, outside = ("5.3.0", "5.5.4", "5.4.0.dev0", "5.4.0+local"), ("5.2.0", "5.6.0", "5.3.0rc1", "4.57.6", None)
    for version in (*inside, *outside):
        assert facts(version).has("transformers", ">=5.3.0,<5.6.0") is (version in inside)
        assert facts(version).has("transformers") is (version is not None)
    for value in (None, "library", "Reference", True):
        assert facts(some=value).says("some", "reference") is (value == "Reference")
        assert facts(some=value).says("some", "true") is (value is True)
    assert [facts(batch_size=value).is_batched() for value in (2, "2", 1, "1")] == [True, True, False, False]
    for text in ("auto", None):
        with pytest.raises(ValueError, match="Expected batch_size to be a number, but got"):
            facts(batch_size=text).is_batched()

"""Odd replies in a build of CaST-Bench's kind: a row that can be used, or a reason, and never an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from expected import Expected
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusal

from lmms_eval_tasks.cast_bench.benchmark import wording_of
from lmms_eval_tasks.cast_bench.card import type_definitions
from lmms_eval_tasks.cast_bench.release import QuestionRoles
from lmms_eval_tasks.construct.cast_bench.clip_selection import select_clips
from lmms_eval_tasks.construct.cast_bench.descriptions import join_instances, read_entries
from lmms_eval_tasks.construct.cast_bench.filters import (
    Choice,
    ChoiceOrUnable,
    Revision,
    apply_revisions,
    read_revisions,
)
from lmms_eval_tasks.construct.cast_bench.questions import check_question
from lmms_eval_tasks.construct.cast_bench.rows import (
    LONGEST,
    CastBenchConfig,
    ClipRow,
    DescribedClipRow,
    DraftRow,
    InstanceRow,
    OptionsRow,
    QuestionRow,
    RoledOption,
    TrackedInstance,
    WrittenQuestion,
    released_row,
    roles_of,
    subject_evidence,
)
from lmms_eval_tasks.construct.cast_bench.wrong_answers import Exclusivity, write_distractors, write_near_misses
from lmms_eval_tasks.construct.engine.roles import Form, read_form
from lmms_eval_tasks.construct.engine.steps import Removed
from lmms_eval_tasks.utils.judge.client import UnreadableReply

CONFIG = CastBenchConfig.model_validate({"clips": "clips", "tracks": "tracks", "tries": 1})
BALL = TrackedInstance(id="i1", source="i1", name="red ball", boxes={0: (0, 0, 9, 9), 1: (1, 1, 9, 9)})
CLIP = ClipRow(id="c", clip="c.mp4", width=64, height=48, last=3, instances=(BALL,))
SOMEBODY = InstanceRow(id="c/i1", source=CLIP, instance=BALL, person=True)
ABOUT = DescribedClipRow(id="c", source=CLIP, described=(SOMEBODY,))
WRITTEN: dict[str, Any] = {
    "question": "Why does it stop?", "subject": "i1", "start": "00:00", "end": "00:03",
    "type": next(iter(type_definitions())),
    "scene": "a table", "answer": "It hits the block.", "video_distractor": "It rolls uphill.",
    "evidence": [{"instance": "i1", "start": "00:00", "end": "00:01", "rationale": "It hits."}],
}  # fmt: skip
ODD = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        (
            "",
            "i1",
            "I1",
            "00:00",
            "00:03",
            "٠٠:٠١",
            "99:99",
            "a\u2028b",
            "\u200b",
            "(" * 700,
            "x " * 400,
            "\ud800",
            "NaN",
        )
    ),
)


class Replies:
    """Gives replies in their order, whatever is asked."""

    def __init__(self, *replies: dict[str, Any]) -> None:
        self._replies = list(replies)

    def ask(self, role: str, prompt_id: str, form: type[Form], images: Any = (), **material: Any) -> Form:
        return read_form(json.dumps(self._replies.pop(0)), form)


def check(**changes: Any) -> QuestionRow:
    draft = DraftRow(id="c#1", about=ABOUT, written=WrittenQuestion.model_validate({**WRITTEN, **changes}))
    row: QuestionRow = check_question.run(draft, Replies())
    return row


@settings(max_examples=40)
@given(
    st.fixed_dictionaries({}, optional={name: ODD for name in WRITTEN if name != "evidence"}), st.lists(ODD, max_size=4)
)
def test_a_question_of_any_texts_is_used_or_removed_for_a_reason(changes: dict[str, str], evidence: list[str]) -> None:
    pieces = [
        {**WRITTEN["evidence"][0], name: text} for name, text in zip(WRITTEN["evidence"][0], evidence, strict=False)
    ]
    try:
        row = check(**changes, evidence=pieces or WRITTEN["evidence"])
    except Removed as removed:
        assert removed.reason
    else:
        assert all(
            text.isprintable() and text == text.strip() and 0 < len(text) <= LONGEST
            for text in (row.question, row.scene, row.answer, row.video_distractor, row.evidence[0].rationale)
        )


@pytest.mark.parametrize(
    ("changes", "subject", "span", "masked"),
    [
        ({}, "i1", (1, 3), [1, 2, 3]),
        ({"start": None, "end": None}, "i1", None, [0, 1, 2, 3]),
        ({"subject": None}, None, (1, 3), []),
        ({"subject": None, "start": None, "end": None}, None, None, []),
    ],
)
def test_a_question_may_name_nobody_and_no_time(
    changes: dict[str, None], subject: str | None, span: tuple[int, int] | None, masked: list[int]
) -> None:
    """What it names is masked beside the evidence: a subject without a time in the whole clip."""
    row = check(**{"start": "00:01", **changes})
    assert (row.subject, row.span) == (subject, span)
    assert [int(second) for one in subject_evidence(row) for second in one["bboxes_in_range"]] == masked
    beside = roles_of(OptionsRow(id=row.id, asked=row, options=(RoledOption(role="answer", text="So."),)))
    assert beside.subject == (subject and "red_ball")
    assert beside.question_start_time == (span and "00:01") and beside.question_end_time == (span and "00:03")
    assert QuestionRoles.model_validate_json(beside.model_dump_json()) == beside


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"start": None}, "question outside the clip: None to 00:03"),
        ({"end": None}, "question outside the clip: 00:00 to None"),
        ({"subject": ""}, "unknown subject"),
        ({"answer": "It " + "rolls " * 15}, "answer of more than 15 words"),
        ({"answer": "word " * 200_000}, ".*too long or not printable"),
        ({"answer": "It\u200b hits."}, ".*too long or not printable"),
    ],
)
def test_questions_that_break_a_rule_go(changes: dict[str, Any], reason: str) -> None:
    assert check(answer="It " + "rolls " * 14).answer
    assert check(answer=" It hits\nthe\u00a0block.").answer == "It hits the block."
    with pytest.raises(Removed, match=f"^{reason}"):
        check(**changes)


def test_who_is_asked_about_is_a_person() -> None:
    thing = ABOUT.model_copy(update={"described": (SOMEBODY.model_copy(update={"person": False}),)})
    draft = DraftRow(id="c#1", about=thing, written=WrittenQuestion.model_validate(WRITTEN))
    with pytest.raises(Removed, match="a subject that is no person: red_ball"):
        check_question.run(draft, Replies())
    nobody = draft.written.model_copy(update={"subject": None})
    assert check_question.run(draft.model_copy(update={"written": nobody}), Replies())


FIT = {"several_people_act_apart": True} | dict.fromkeys(
    ("shaken", "whip_pans", "tilted", "badly_lit", "cut", "blurred"), False
)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("several_people_act_apart", "no several people who act apart"), ("shaken", "camera shake"),
        ("whip_pans", "whip pans"), ("tilted", "tilt"), ("badly_lit", "bad light"), ("cut", "cut"),
        ("blurred", "blur"), ("", ""),
    ],
)  # fmt: skip
def test_a_clip_goes_for_each_fault_that_a_model_sees(said: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lmms_eval_tasks.construct.cast_bench.clip_selection.clip_images", lambda *_: [])
    asking = Replies({**FIT, **({said: not FIT[said]} if said else {})})
    if not said:
        assert select_clips.given(CONFIG).run(CLIP, asking) == CLIP
        return
    with pytest.raises(Removed, match=f"model: {reason}: c.mp4"):
        select_clips.given(CONFIG).run(CLIP, asking)


def test_a_clip_of_one_person_and_things_goes() -> None:
    tracked = [BALL, *(BALL.model_copy(update={"id": name, "name": name}) for name in ("i2", "i3"))]
    clip = CLIP.model_copy(update={"instances": tuple(tracked)})
    for people in (1, 2):
        rows = [
            InstanceRow(id=f"c/{one.id}", source=clip, instance=one, person=place < people)
            for place, one in enumerate(tracked)
        ]
        removed: dict[str, Removed] = {}
        joined = join_instances.run(rows, removed.__setitem__)
        assert [len(one.described) for one in joined] == ([3] if people == 2 else [])
        assert {one.reason for one in removed.values()} == (
            set() if people == 2 else {"its clip has fewer than two described people"}
        )


@pytest.mark.parametrize(
    ("text", "video", "reason"),
    [
        ("x" * 1_000_000, "It flies.", "text distractor is too long or not printable"),
        ("It waits.", "It flies. " * 100_000, "video distractor is too long or not printable"),
        ("It waits.", "It\u200bflies.", "video distractor is too long or not printable"),
        ("The red ball waits.", "It flies.", "text distractor names what the question does not"),
    ],
)
def test_distractors_that_break_a_rule_go(text: str, video: str, reason: str) -> None:
    row = check().model_copy(update={"video_distractor": video})
    with pytest.raises(Removed, match=reason):
        write_distractors.given(CONFIG).run(row, Replies({"distractor": text}))


def test_a_distractor_may_name_whom_the_question_names() -> None:
    row, text = check().model_copy(update={"question": "Why does the Red Ball stop?"}), "The red ball waits."
    replies = Replies({"distractor": text}, {"clashes": [], "unnamed": []})
    assert write_distractors.given(CONFIG).run(row, replies).text_distractor == text


def test_replies_name_answers_and_options_that_are_there() -> None:
    assert read_form('{"choice": "F"}', Choice).choice == "F"
    assert read_form('{"choice": "G"}', ChoiceOrUnable).choice == "G"
    assert read_form('{"clashes": [["video", "text"]], "unnamed": []}', Exclusivity).clashes == [["video", "text"]]
    odd: list[tuple[dict[str, Any], type[Form]]] = [({"choice": one}, Choice) for one in ("G", "a", "A\n", "Ａ", "")]
    clashes = (["text", "text"], ["text"], ["text", "other"], ["text", "video", "answer"])
    odd += [({"clashes": [clash], "unnamed": []}, Exclusivity) for clash in clashes]
    for reply, form in odd:
        with pytest.raises(UnreadableReply):
            read_form(json.dumps(reply), form)


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        (["colour", "Colour"], None),
        ([" "], "near-miss: nothing changed"),
        (["colour", "shape"], "near-miss: more than one attribute changed"),
    ],
)
def test_an_attribute_that_is_named_twice_is_one(attributes: list[str], reason: str | None) -> None:
    texts = {
        "answer": "It hits the red block.",
        "text": "It waits for the red cone.",
        "video": "It flies to the red sky.",
    }
    row = check(answer=texts["answer"], video_distractor=texts["video"])
    row = row.model_copy(update={"text_distractor": texts["text"]})
    replies = []
    for original in texts.values():
        replies.append({"near_miss": original.replace("red", "tan")})
        replies.append({"attributes": attributes, "same_as": []})
    step, asking = write_near_misses.given(CONFIG), Replies(*replies)
    if reason is None:
        made = step.run(row, asking)
        assert len(made.options) == 6
        return
    with pytest.raises(Removed, match=reason):
        step.run(row, asking)


def test_reasoning_before_timed_lines_is_no_part_of_them() -> None:
    read = read_entries("<think>I can't see\nmuch.</think>\n[00:00]-[00:02] It\u00a0rolls.\nEND")
    assert [one.text for one in read.entries] == ["It rolls."]


def test_two_instances_that_a_release_would_call_the_same_are_not_both_kept() -> None:
    """`ball 1` has its name from people, the other its noun from a model and its id from the tracks."""
    tracked = [
        TrackedInstance(id=name, source=name, name=called, boxes={0: (0, 0, 9, 9)})
        for name, called in (("x", "ball 1"), ("1", ""), ("2", ""))
    ]
    clip = CLIP.model_copy(update={"instances": tuple(tracked)})
    rows = [InstanceRow(id=f"c/{one.id}", source=clip, instance=one, category="ball", person=True) for one in tracked]
    removed: dict[str, Removed] = {}
    (joined,) = join_instances.run(rows, removed.__setitem__)
    assert [one.label for one in joined.described] == ["ball_1", "ball_2"]
    assert {name: str(why) for name, why in removed.items()} == {"c/1": "another instance has its label: c/x: ball_1"}


def test_a_revision_that_cannot_be_used_removes_its_question(expected: Expected) -> None:
    roles = ("answer", "text-based", "video-based")
    texts = ("It hits the block.", "It waits.", "It flies.")
    options = tuple(RoledOption(role=role, text=text) for role, text in zip(roles, texts, strict=True))
    row = OptionsRow(id="c#1", asked=check(), options=options)
    shown = released_row(row)
    version = wording_of(shown["video"], shown["question"], list(texts), shown["answer"], shown["evidence"])
    entry = {"name": "red_ball", "start": "00:00", "end": "00:01", "text": "It begins."}
    good = {"item_id": "c_1", "version": version, "annotator": "a001", "discarded": False}
    good |= {"question": "What then?", "options": list(texts), "entries": [entry]}
    removed: dict[str, Removed] = {}
    for name, changes in {
        "good": {},
        "discarded": {"discarded": True},
        "version": {"version": "0" * 16},
        "no evidence": {"entries": []},
        "equal": {"options": ["The same."] * 3},
        "number": {"options": ["One."]},
        "empty": {"options": [*texts[:2], " "]},
        "ghost": {"entries": [{**entry, "name": "ghost"}]},
        "late": {"entries": [{**entry, "end": "09:00"}]},
        "no box": {"entries": [{**entry, "start": "00:02", "end": "00:03"}]},
    }.items():
        revision = Revision.model_validate({**good, **changes})
        revised = apply_revisions.given({revision.version: revision}).run(
            [row.model_copy(update={"id": name})], removed.__setitem__
        )
        assert bool(revised) == (name == "good")
        for one in revised:
            assert list(one.asked.evidence[0].boxes) == [0, 1] and one.asked.question == "What then?"
    expected("\n".join(f"{name}: {why}" for name, why in removed.items()))


def test_two_revisions_of_a_question_are_refused(tmp_path: Path) -> None:
    one = {"item_id": "c_1", "version": "v", "annotator": "a001", "question": "One?", "options": [], "entries": []}
    lines = [json.dumps({**one, "discarded": False, "question": text}) for text in ("One?", "Two?")]
    (tmp_path / "revised.jsonl").write_text("\n".join([*lines, ""]))
    message = refusal(read_revisions, tmp_path / "revised.jsonl")
    assert "Expected one revision of each, but got different ones by a001 and a001 of `c_1` (line 2)" in message

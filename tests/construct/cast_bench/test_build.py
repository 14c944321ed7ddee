"""`build cast_bench`: what becomes of a clip and its question when a model fails in a role, and the sample's set."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from expected import Expected
from hypothesis import given, settings
from hypothesis import strategies as st
from numbered_clips import number_of, write_numbered
from numpy.typing import NDArray
from PIL import Image
from played import MODEL, Asked, BuildSample, Played, outcome
from refusals import refusal
from scipy import ndimage
from typer.testing import CliRunner
from written import written

from lmms_eval_tasks.cast_bench.benchmark import prepare, read_descriptions, wording_of
from lmms_eval_tasks.cast_bench.card import OPTION_KINDS, type_definitions
from lmms_eval_tasks.cast_bench.masked import UNABLE
from lmms_eval_tasks.cast_bench.release import QuestionRoles
from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.construct.annotate.answer_files import plan_digest
from lmms_eval_tasks.construct.annotate.plan import read_plan
from lmms_eval_tasks.construct.cast_bench import build
from lmms_eval_tasks.construct.cast_bench.clip_steps import ClipMeasures, join_instances, measure_clips
from lmms_eval_tasks.construct.cast_bench.pipeline import steps_of
from lmms_eval_tasks.construct.cast_bench.questions import (
    Choice,
    ChoiceOrUnable,
    Exclusivity,
    Revision,
    apply_revisions,
    check_question,
    read_revisions,
)
from lmms_eval_tasks.construct.cast_bench.rows import (
    LONGEST,
    CastBenchConfig,
    ClipRow,
    DraftRow,
    EvidencePiece,
    InstanceRow,
    QuestionRow,
    TimedEntry,
    TrackedInstance,
    WrittenQuestion,
    released_piece,
    released_row,
    roles_of,
    subject_evidence,
)
from lmms_eval_tasks.construct.engine.steps import Form, PipelineRow, Removed, read_form
from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.data.prepare import Preparation
from lmms_eval_tasks.utils.judge.client import UnreadableReply
from lmms_eval_tasks.utils.judge.replies import ServerError

SIZE = (160, 120)
BALL_BOX, BLOCK_BOX = (10, 20, 50, 60), (100, 50, 140, 90)
BALL = TrackedInstance(id="i1", source="i1", name="red ball", boxes=dict.fromkeys(range(4), BALL_BOX))
# Not seen in the last second.
BLOCK = TrackedInstance(id="i2", source="i2", name="blue block", boxes=dict.fromkeys(range(3), BLOCK_BOX))
CLIP = ClipRow(id="c", clip="c.mp4", width=SIZE[0], height=SIZE[1], last=3, instances=(BALL, BLOCK))
SOMEBODY = InstanceRow(id="c/i1", source=CLIP, instance=BALL, person=True, description="A red ball.")
THING = InstanceRow(id="c/i2", source=CLIP, instance=BLOCK, description="A blue block.")
ABOUT = CLIP.model_copy(update={"described": (SOMEBODY, THING)})
PIECE = {"instance": "i1", "start": "00:00", "end": "00:01", "rationale": "It hits."}
WRITTEN: dict[str, Any] = {
    "question": "Why does it stop?", "subject": "i1", "start": "00:00", "end": "00:03",
    "type": next(iter(type_definitions())), "scene": "a table", "answer": "It hits the red cup.",
    "video_distractor": "It flies to the red sky.", "evidence": [PIECE],
}  # fmt: skip
FIT = {"several_people_act_apart": True} | dict.fromkeys(
    ("shaken", "whip_pans", "tilted", "badly_lit", "cut", "blurred"), False
)
LOOKS = {"category": "ball", "person": True, "description": "It is round."}
EXCLUSIVE: dict[str, Any] = {"clashes": [], "unnamed": []}
VIDEO_CLASH = {"clashes": [["video", "answer"]], "unnamed": []}
ONE_COLOUR: dict[str, Any] = {"attributes": ["colour"], "same_as": []}


def nearly(change: Callable[[str], str]) -> Callable[[Asked], dict[str, str]]:
    return lambda asked: {"near_miss": change(asked.given["original"])}


def choose(right: bool) -> Callable[[Asked], dict[str, str]]:
    """Chooses the right option, or another."""
    return lambda asked: {
        "choice": next(x for x, text in asked.given["options"].items() if (text == WRITTEN["answer"]) == right)
    }


HONEST: dict[str, Any] = {
    "selection": FIT,
    "static": LOOKS,
    "dynamic": "[00:00]-[00:02] It rolls.\nEND",
    "questions": {"questions": [WRITTEN]},
    "text_distractor": {"distractor": "It waits for the red cone."},
    "video_distractor": {"distractor": "It sinks in the red sea."},
    "exclusivity": EXCLUSIVE,
    "near_miss": nearly(lambda text: text.replace("red", "tan")),
    "near_miss_check": ONE_COLOUR,
    "without_clip": choose(right=False),
    "masked_clip": {"choice": "G"},
}
DESCRIBING: dict[str, dict[str, Any]] = {
    "nobody": {"selection": {**FIT, "several_people_act_apart": False}},
    **{name: {"selection": {**FIT, name: True}} for name in list(FIT)[1:]},
    "empty": {"static": {**LOOKS, "description": " "}},
    "wordy": {"static": {**LOOKS, "description": "word " * 30}},
    "odd": {"static": {**LOOKS, "category": "a\u200b"}},
    "mute": {"static": "I'm sorry, I cannot describe this."},
    "broken": {"static": '{"category": "thing", "descr'},
    "untimely": {"dynamic": "[00:00]-[99:59] It rolls.\nEND"},
    "backwards": {"dynamic": "[00:02]-[00:01] It rolls.\nEND"},
    "unseen": {"dynamic": "[00:03]-[00:03] It rolls.\nEND"},
    "endless": {"dynamic": "[00:00]-[00:02] It rolls."},
    "29 words": {"static": {**LOOKS, "description": "word " * 29}},
    "wordy at first": {"static": [{**LOOKS, "description": "word " * 30}, LOOKS]},
    "untimely at first": {"dynamic": ["[00:00]-[99:59] It rolls.\nEND", HONEST["dynamic"]]},
}
"""What goes wrong with the description of a clip and its instances; the last three are put right or are no fault."""
QUESTIONS: dict[str, dict[str, Any]] = {
    "empty": {"answer": " "},
    "long": {"answer": "word " * 200},
    "odd": {"answer": "It\u200b hits."},
    "typeless": {"type": "Trick question"},
    "verbose": {"answer": "It " + "rolls " * 15},
    "stranger": {"subject": ""},
    "thing": {"subject": "i2"},
    "beyond": {"end": "01:30"},
    "half": {"start": None},
    "other half": {"end": None},
    "bare": {"evidence": []},
    "six": {"evidence": [PIECE] * 6},
    "ghost": {"evidence": [{**PIECE, "instance": "i9"}]},
    "late": {"evidence": [PIECE, {**PIECE, "end": "59:00"}]},
    "unseen": {"evidence": [{**PIECE, "instance": "i2", "start": "00:03", "end": "00:03"}]},
    "numbered": {"answer": "It hits i1."},
    "leaked": {"question": "It hits the red cup. Why?"},
    "marked": {"answer": "It hits the red cup (correct)."},
    "marked, too": {"video_distractor": "A) It flies."},
    "15 words": {"answer": "It " + "rolls " * 14, "question": "Why the red ball?"},
    "on one line": {"answer": " It hits\nthe\u00a0red cup."},
    "five": {"evidence": [PIECE] * 5},
}
"""Fields of a question that break a rule; the last three do not."""
OPTIONS: dict[str, dict[str, Any]] = {
    "no words": {"text_distractor": {"distractor": "…"}},
    "long": {"text_distractor": {"distractor": "x" * 1000}},
    "lengthy": {"text_distractor": {"distractor": "It " + "rolls " * 15}},
    "equal": {"text_distractor": {"distractor": "It hits a red cup!"}},
    "marked": {"text_distractor": {"distractor": "It waits (wrong)."}},
    "naming": {"text_distractor": {"distractor": "The blue block waits."}},
    "malformed": {"text_distractor": '{"distractor": "It'},
    "refused": {"text_distractor": "As an AI, I cannot write wrong answers."},
    "no server": {"text_distractor": ServerError("timed out", again=True)},
    "clash": {"exclusivity": {"clashes": [["text", "answer"]], "unnamed": []}},
    "unnamed": {"exclusivity": {"clashes": [], "unnamed": ["a hand"]}},
    "alike": {"exclusivity": {"clashes": [["video", "text"]], "unnamed": []}},
    "video clash": {"exclusivity": VIDEO_CLASH},
    **{
        f"video {name}": {"exclusivity": VIDEO_CLASH, "video_distractor": {"distractor": text}}
        for name, text in {
            "empty": "…",
            "long": "x" * 1000,
            "equal": "It hits a red cup!",
            "as text": "It waits for the red cone.",
            "marked": "It sinks (wrong).",
            "numbered": "It sinks with i2.",
        }.items()
    },
    "longer": {"near_miss": nearly(lambda text: text.rstrip(".") + " at once")},
    "same": {"near_miss": nearly(str.upper)},
    "apart": {"near_miss": nearly(lambda text: text.replace("red", "tan").replace("It", "He"))},
    "labelled": {"near_miss": nearly(lambda text: text.replace("hits", "(true)"))},
    "twin": {"text_distractor": {"distractor": "It hits the tan cup."}},
    "odd": {"near_miss": nearly(lambda text: text.replace("red", "t\u200bn"))},
    "both": {"near_miss_check": {**ONE_COLOUR, "attributes": ["colour", "shape"]}},
    "nothing": {"near_miss_check": {**ONE_COLOUR, "attributes": [" "]}},
    "reworded": {"near_miss_check": {**ONE_COLOUR, "same_as": ["text"]}},
    "guessable": {"without_clip": choose(right=True)},
    "cue": {"masked_clip": choose(right=True)},
    "twice the same attribute": {"near_miss_check": {**ONE_COLOUR, "attributes": ["colour", "Colour"]}},
    "lengthy at first": {"text_distractor": [{"distractor": "rolls " * 16}, HONEST["text_distractor"]]},
    "video clash at first": {"exclusivity": [VIDEO_CLASH, EXCLUSIVE]},
}
"""What goes wrong with the options of a question; the last three are put right or are no fault."""


TYPELESS_AT_FIRST = {"questions": [{"questions": [{**WRITTEN, **QUESTIONS["typeless"]}]}, HONEST["questions"]]}


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> CastBenchConfig:
    folder = tmp_path_factory.mktemp("clips")
    write_numbered(folder / CLIP.clip, 50, SIZE)
    return CastBenchConfig.model_validate(
        {"clips": folder, "tracks": folder, "tries": 2, "frames": 4, "questions": 1, "roles": {"default": MODEL}}
    )


def made(
    config: CastBenchConfig, rows: Sequence[PipelineRow], folder: Path, **says: Any
) -> tuple[list[Any], str, Played]:
    """What steps that describe a clip, or ask about a described one, leave; why no more, and what was asked."""
    steps = steps_of(config)[6:] if cast(ClipRow, rows[0]).described else steps_of(config)[1:6]
    said = {f"cast_bench_{name}": one for name, one in {**HONEST, **says}.items()}
    left, removed, played = outcome(steps, rows, config, folder, said)
    return left, "; ".join(f"{name}: {why}" for name, why in sorted(removed.items())) or "kept", played


@pytest.mark.slow
def test_every_fault_is_caught_and_named(config: CastBenchConfig, tmp_path: Path, expected: Expected) -> None:
    faults: list[tuple[str, PipelineRow, dict[str, Any]]] = [(name, CLIP, says) for name, says in DESCRIBING.items()]
    asked = {name: [{**WRITTEN, **change}] for name, change in QUESTIONS.items()}
    asked["asked before"] = [WRITTEN, {**WRITTEN, "question": "Why does IT stop?!"}]
    faults += [(name, ABOUT, {"questions": {"questions": questions}}) for name, questions in asked.items()]
    faults += [(name, ABOUT, says) for name, says in OPTIONS.items()]
    lines = []
    for number, (name, row, says) in enumerate(faults):
        questions = len(says["questions"]["questions"]) if "questions" in says else 1
        chosen = config.model_copy(update={"questions": questions})
        left, why, _ = made(chosen, [row], tmp_path / str(number), **says)
        lines.append(f"{name}: {len(left)} left; {why if len(why) < 200 else why[:200] + '…'}")
    expected("\n".join(lines))


@pytest.mark.parametrize(
    ("prompt", "row", "said", "shown"),
    [
        ("static", CLIP, DESCRIBING["wordy at first"], "description of 30 words or more"),
        ("dynamic", CLIP, DESCRIBING["untimely at first"], "entry outside the clip"),
        ("text_distractor", ABOUT, OPTIONS["lengthy at first"], "text distractor of more than 15 words"),
        ("video_distractor", ABOUT, OPTIONS["video clash at first"], "video distractor does not exclude the answer"),
        ("questions", ABOUT, TYPELESS_AT_FIRST, "unknown type of question: Trick question"),
    ],
)
def test_what_breaks_a_rule_is_shown_to_its_writer(
    prompt: str, row: PipelineRow, said: dict[str, Any], shown: str, config: CastBenchConfig, tmp_path: Path
) -> None:
    _, _, played = made(config, [row], tmp_path, **said)
    asked = [refused["why"] for one in played.of(f"cast_bench_{prompt}") for refused in one.given["refused"]]
    assert asked == [shown]


def test_a_clip_has_exactly_so_many_questions(config: CastBenchConfig, tmp_path: Path) -> None:
    """Too few and too many are asked for again; of those that break a rule only as many as broke one are."""
    chosen = config.model_copy(update={"questions": 2, "tries": 3})

    def several(*changes: dict[str, Any]) -> dict[str, Any]:
        return {"questions": [{**WRITTEN, "question": f"Why {place}?", **one} for place, one in enumerate(changes)]}

    cases = {
        "one, three, two": [several({}), several({}, {}, {}), several({}, {})],
        "one of two is unfit": [several({}, {"type": "Trick question"}), several({"question": "Why not?"})],
        "never two": [several({})],
        "none at all": [several(), several({}), several({}, {}, {})],
        "no reply to the second": [several({}, {"answer": " "}), ServerError("gone", again=False)],
    }
    said = []
    for number, (name, replies) in enumerate(cases.items()):
        left, why, played = made(chosen, [ABOUT], tmp_path / str(number), questions=replies)
        asked = [
            (one.given["number"], one.given["written"], [refused["why"] for refused in one.given["refused"]])
            for one in played.of("cast_bench_questions")
        ]
        said.append((name, [row.question for row in left], why, asked))
    few, many = (f"another number of questions than asked for: {number} and not 2" for number in (1, 3))
    none, unknown = few.replace(": 1", ": 0"), "unknown type of question: Trick question"
    three: list[tuple[int, list[str], list[str]]] = [(2, [], []), (2, [], [few]), (2, [], [few, few])]
    assert said == [
        ("one, three, two", ["Why 0?", "Why 1?"], "kept", [(2, [], []), (2, [], [few]), (2, [], [few, many])]),
        ("one of two is unfit", ["Why 0?", "Why not?"], "kept", [(2, [], []), (1, ["Why 0?"], [unknown])]),
        ("never two", [], f"c: questions: {few.partition(': ')[0]}: {few}", three),
        (
            "none at all", [], f"c: questions: {none.partition(': ')[0]}: {many}",
            [(2, [], []), (2, [], [none]), (2, [], [none, few])],
        ),
        (
            "no reply to the second", ["Why 0?"], "c#2: schema: an empty text",
            [(2, [], []), (1, ["Why 0?"], ["an empty text"])],
        ),
    ]  # fmt: skip


def test_a_clip_goes_by_its_measures(config: CastBenchConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"largest_jump": 0.1, "largest_shake": 0.2, "largest_blur": 0.3}
    chosen = config.model_copy(update=limits)
    lone = CLIP.model_copy(update={"instances": (BALL, BLOCK.model_copy(update={"boxes": {}}))})
    for row, measured, reason in (
        (CLIP, (0.1, 0.2, 0.3), ""),
        (CLIP, (0.11, 0.2, 0.3), "cut: a jump of 0.110"),
        (CLIP, (0.1, 0.21, 0.3), "camera shake: a shake of 0.2100"),
        (CLIP, (0.1, 0.2, 0.31), "blur: a blur of 0.310"),
        (lone, (0, 0, 0), "fewer than two instances in the tracks: c.mp4"),
        (CLIP.model_copy(update={"width": 0}), (0, 0, 0), "unreadable clip: c.mp4"),
    ):
        monkeypatch.setattr(
            "lmms_eval_tasks.construct.cast_bench.clip_steps.measure_clip", lambda _, m=measured: ClipMeasures(*m)
        )
        _, removed, _ = outcome([measure_clips.given(config=chosen)], [row], chosen, tmp_path, {})
        assert removed.get("c", "").removeprefix("clips by measure: ") == reason


def pixels_of(picture: bytes) -> NDArray[np.uint8]:
    return np.asarray(Image.open(io.BytesIO(picture)))


def test_who_sees_what(config: CastBenchConfig, tmp_path: Path) -> None:
    """A writer of wrong answers and who is asked blind see no picture; a describer sees one outlined, one blurred; the
    subject, here all the time, and evidence while it is are black, and all else is as it was."""
    edited = CLIP.model_copy(update={"edited": {"i1": (TimedEntry(start=1, end=2, text="It hums a tune."),)}})
    described, _, played = made(config, [edited], tmp_path / "one")
    for one in played.of("cast_bench_static"):
        outlined, blurred = map(pixels_of, one.pictures)
        assert blurred.std() < outlined.std()
    (dynamic,) = played.of("cast_bench_dynamic")  # people edited what the other does
    assert dynamic.given["seconds"] == ["00:00", "00:01", "00:02"] and len(dynamic.pictures) == 3
    question = {**WRITTEN, "subject": "i2", "start": None, "end": None}
    _, why, played = made(config, described, tmp_path / "two", questions={"questions": [question]})
    assert why == "kept"
    (asked,) = played.of("cast_bench_questions")
    assert [one["does"] for one in asked.given["instances"]] == [
        ["[00:01]-[00:02] It hums a tune."], ["[00:00]-[00:02] It rolls."],
    ]  # fmt: skip
    assert len(asked.given["wanted"]) == 1 and set(asked.given["wanted"]) < set(asked.given["types"])
    assert all(rule.keys() == {"asks", "one_answer"} for rule in asked.given["types"].values())
    blind = [one for one in played.asked if one.prompt not in ("cast_bench_questions", "cast_bench_masked_clip")]
    assert not any(one.pictures for one in blind)
    (without,), (masked,) = played.of("cast_bench_without_clip"), played.of("cast_bench_masked_clip")
    assert without.given.keys() == {"question", "options"} and len(without.given["options"]) == 6
    assert list(masked.given["options"].values()) == [*without.given["options"].values(), UNABLE]
    assert masked.given.keys() == {"question", "options", "seconds"} and len(masked.pictures) == 4
    for second, (shown, whole) in enumerate(zip(masked.pictures, asked.pictures, strict=True)):
        hidden = np.zeros((SIZE[1], SIZE[0]), dtype=bool)
        for (x1, y1, x2, y2), last in ((BALL_BOX, 1), (BLOCK_BOX, 2)):
            hidden[y1:y2, x1:x2] |= second <= last
        pixels = pixels_of(shown).astype(int)
        assert not hidden.any() or pixels[hidden].mean() < 12
        # JPEG blends the colours of blocks of 16 pixels.
        others = ndimage.maximum_filter(hidden, 37) == 0
        assert np.abs(pixels - pixels_of(whole))[others].max() <= 2


def test_an_instance_is_described_in_the_second_in_which_its_box_is_largest(
    config: CastBenchConfig, tmp_path: Path
) -> None:
    """By its area, not by where it lies; the first of equal ones."""
    tall, wide, low = (12, 45, 42, 115), (60, 50, 150, 90), (12, 95, 32, 118)
    right, high = (100, 45, 140, 85), (12, 45, 42, 105)
    cases = [
        ((low, tall, wide, low), 2),
        ((low, low, tall, low), 2),
        ((tall, low, tall, low), 0),
        ((right, right, high), 2),
    ]
    for number, (boxes, second) in enumerate(cases):
        seen = BALL.model_copy(update={"boxes": dict(enumerate(boxes))})
        row = CLIP.model_copy(update={"instances": (seen, BLOCK)})
        _, _, played = made(config, [row], tmp_path / f"{number}")
        (asked,) = (one for one in played.of("cast_bench_static") if one.given["name"] == BALL.name)
        outlined, _ = map(pixels_of, asked.pictures)
        assert number_of(outlined) == second * 12.5


# Replies and rows of any kind


def check(**changes: Any) -> QuestionRow:
    draft = DraftRow(id="c#1", clip=ABOUT, written=WrittenQuestion.model_validate({**WRITTEN, **changes}))
    row: QuestionRow = check_question.run(draft, None)
    return row


TEXTS = (
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
ODD = st.text(max_size=12) | st.sampled_from(TEXTS)


@settings(max_examples=40)
@given(st.fixed_dictionaries({}, optional=dict.fromkeys(WRITTEN.keys() - {"evidence"}, ODD)), st.lists(ODD, max_size=4))
def test_a_question_of_any_texts_is_used_or_removed_for_a_reason(changes: dict[str, str], evidence: list[str]) -> None:
    piece = {**PIECE, **dict(zip(PIECE, evidence, strict=False))}
    try:
        row = check(**changes, evidence=[piece])
    except Removed as removed:
        assert removed.reason
    else:
        texts = (row.question, row.scene, row.answer, row.video_distractor, row.evidence[0].rationale)
        assert all(text.isprintable() and text == text.strip() and 0 < len(text) <= LONGEST for text in texts)


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
    beside = roles_of(row.model_copy(update={"options": {"answer": "So."}}))
    assert beside.subject == (subject and "red_ball")
    assert beside.question_start_time == (span and "00:01") and beside.question_end_time == (span and "00:03")
    assert list(map(int, beside.subject_boxes)) == masked
    assert QuestionRoles.model_validate_json(beside.model_dump_json()) == beside


def test_replies_name_answers_and_options_that_are_there() -> None:
    assert read_form('{"choice": "F"}', Choice).choice == "F"
    assert read_form('{"choice": "G"}', ChoiceOrUnable).choice == "G"
    odd: list[tuple[dict[str, Any], type[Form]]] = [({"choice": one}, Choice) for one in ("G", "a", "A\n", "Ａ", "")]
    clashes = (["text", "text"], ["text"], ["text", "other"], ["text", "video", "answer"])
    odd += [({"clashes": [clash], "unnamed": []}, Exclusivity) for clash in clashes]
    for reply, form in odd:
        with pytest.raises(UnreadableReply):
            read_form(json.dumps(reply), form)


def joined(*instances: tuple[str, str, bool]) -> tuple[list[list[str]], dict[str, str]]:
    """The labels in clips that are put together of instances, each with its id, name and whether it is a person."""
    tracked = [BALL.model_copy(update={"id": one, "name": name}) for one, name, _ in instances]
    clip = CLIP.model_copy(update={"instances": tuple(tracked)})
    rows = [
        InstanceRow(id=f"c/{one.id}", source=clip, instance=one, category="ball", person=person)
        for one, (_, _, person) in zip(tracked, instances, strict=True)
    ]
    removed: dict[str, Removed] = {}
    clips = join_instances.run(rows, removed.__setitem__)
    return [[one.label for one in clip.described] for clip in clips], {name: str(why) for name, why in removed.items()}


def test_a_clip_has_two_people_and_no_two_instances_that_a_release_would_call_the_same() -> None:
    assert joined(("x", "a", True), ("y", "b", True), ("z", "c", False)) == ([["a", "b", "c"]], {})
    few = "its clip has fewer than two described people: c"
    assert joined(("x", "a", True), ("y", "b", False)) == ([], {"c/x": few, "c/y": few})
    # `ball 1` has its name from people, the other its noun from a model and its id from the tracks.
    twice = {"c/1": "another instance has its label: c/x: ball_1"}
    assert joined(("x", "ball 1", True), ("1", "", True), ("2", "", True)) == ([["ball_1", "ball_2"]], twice)


def test_a_second_in_which_an_instance_is_not_seen_has_the_releases_box_of_none() -> None:
    ball = check().clip.by_id["i1"]
    piece = EvidencePiece(
        instance="i1", start=9, end=11, rationale="It rolls.", boxes={9: (1, 2, 3, 4), 12: (0, 0, 1, 1)}
    )
    none = "[-1, -1, -1, -1]"
    assert released_piece(ball, piece) == {
        "evidence_start_time": "00:09",
        "evidence_end_time": "00:11",
        "evidence_instance_id": "red_ball",
        "evidence_rationale": "It rolls.",
        "SAV_instance_id": ball.instance.source,
        "bboxes_in_range": {"9": "[1, 2, 3, 4]", "10": none, "11": none},
    }


def test_a_revision_that_cannot_be_used_removes_its_question(tmp_path: Path, expected: Expected) -> None:
    roles, texts = ("answer", "text-based", "video-based"), ("It hits the red cup.", "It waits.", "It flies.")
    row = check().model_copy(update={"options": dict(zip(roles, texts, strict=True))})
    released = released_row(row)
    version = wording_of(released["video"], released["question"], list(texts), released["answer"], released["evidence"])
    entry = {"name": "red_ball", "start": "00:00", "end": "00:01", "text": "It begins."}
    good = {"item_id": "c_1", "version": version, "annotator": "a001", "discarded": False}
    good |= {"question": "What then?", "options": list(texts), "entries": [entry]}
    lines = []
    revisions: dict[str, dict[str, object]] = {
        "good": {},
        "discarded": {"discarded": True},
        "version": {"version": "0" * 16},
        "no evidence": {"entries": []},
        "equal": {"options": ["The same."] * 3},
        "number": {"options": ["One."]},
        "empty": {"options": [*texts[:2], " "]},
        "ghost": {"entries": [{**entry, "name": "ghost"}]},
        "late": {"entries": [{**entry, "end": "09:00"}]},
        "no box": {"entries": [{**entry, "name": "blue_block", "start": "00:03", "end": "00:03"}]},
    }
    for name, changes in revisions.items():
        revision, removed = Revision.model_validate({**good, **changes}), dict[str, Removed]()
        revised = apply_revisions.given(revisions={revision.version: revision}).run([row], removed.__setitem__)
        lines.append(f"{name}: {removed.get('c#1', 'kept')}")
        assert [(list(one.evidence[0].boxes), one.question) for one in revised] == [([0, 1], "What then?")] * (
            name == "good"
        )
    expected("\n".join(lines).replace(version, "VERSION"))
    different = [{**good, "question": text} for text in ("One?", "Two?")]
    (tmp_path / "revised.jsonl").write_text(as_lines(different))
    message = refusal(read_revisions, tmp_path / "revised.jsonl")
    assert (
        "line 2: Expected one revision of each question, but got different ones by a001 and a001 of `c_1`." in message
    )


# The set of the sample


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow  # the sample is filmed first
def test_what_is_left_is_the_truth_in_the_released_form(built: BuildSample, home: Path) -> None:
    release = built("cast_bench").out / "release"
    truth = {row["question"]: row for row in rows_of(built("cast_bench").sources.parent / "castbench_hf.jsonl")}
    items, roles = rows_of(release / "castbench_hf.jsonl"), rows_of(release / "roles.jsonl")
    assert {item["question"] for item in items} == set(truth) and len(items) == 4
    for item, beside in zip(items, roles, strict=True):
        row = truth[item["question"]]
        assert list(item) == list(row) and (item["evidence"], item["video"]) == (row["evidence"], row["video"])
        assert item["options"][item["answer"]] == row["options"][row["answer"]]
        assert item["question_type"] == row["question_type"] and (release / "videos" / item["video"]).is_file()
        # The file beside it has subjects and the role of every option.
        assert (beside["question"], beside["video"]) == (item["question"], item["video"])
        by_role = {role: letter for letter, role in beside["option_roles"].items()}
        assert list(by_role.values()) == list(item["options"]) == list("ABCDEF")
        assert set(by_role) == {"answer", *OPTION_KINDS} - {"near-miss"} and by_role["answer"] == item["answer"]
        first = json.loads(item["evidence"])[0]
        named = (first["evidence_instance_id"], first["evidence_start_time"])
        assert (beside["subject"], beside["question_start_time"]) == named
        assert beside["subject_boxes"] == first["bboxes_in_range"]
    assert len({item["answer"] for item in items}) > 1
    (split,) = prepare(Preparation(), str(release)).values()
    assert split.data_set.is_sample and set(split.source_sha256) == {"castbench_hf.jsonl", "roles.jsonl"}
    # Nothing but that it is not the published set.
    assert all(re.fullmatch(r"Expected \d+ \w+, but got \d+\.", warning) for warning in split.warnings)
    for prepared, beside in zip(load_table("cast_bench", "test"), roles, strict=True):
        kinds = [None if role == "answer" else role for role in beside["option_roles"].values()]
        assert prepared["option_kinds"] == kinds
        (subject,) = json.loads(prepared["subject"])
        assert (subject["evidence_instance_id"], subject["bboxes_in_range"]) == (
            beside["subject"],
            beside["subject_boxes"],
        )


@pytest.mark.slow  # the sample is filmed first
def test_roles_that_are_not_of_the_release_are_refused(
    built: BuildSample, home: Path, tmp_path: Path, expected: Expected
) -> None:
    release = built("cast_bench").out / "release"
    first, second, *others = rows_of(release / "roles.jsonl")
    shutil.copy(release / "castbench_hf.jsonl", tmp_path)
    said = []
    for lines in (
        [first, second, *others[:-1]],
        [second, first, *others],
        [{**first, "option_roles": {"A": "answer"}}, second, *others],
        [{**first, "option_roles": dict.fromkeys("ABCDEF", "answer")}, second, *others],
        [{**first, "more": 1}, second, *others],
        [{**first, "subject_boxes": {}}, {**second, "subject": None}, *others],
        [{**first, "subject_boxes": {"1.5": "[1, 2, 3, 4]"}}, {**second, "subject_boxes": {"1": "1, 2"}}, *others],
    ):
        (tmp_path / "roles.jsonl").write_text(as_lines(lines))
        said.append(refusal(prepare, Preparation(), str(tmp_path)))
    expected("\n\n".join(said))
    assert not (home / "cast_bench").exists()


@pytest.mark.slow  # the sample is filmed first
def test_people_can_edit_what_the_instances_do(built: BuildSample, home: Path) -> None:
    one = built("cast_bench")
    release = one.out / "release"
    assert one.played.player is not None
    names = one.played.player.truth["names"]
    prepare(Preparation(), str(release / "descriptions"), videos=release / "videos")
    rows = load_table("cast_bench", "test").to_list()
    assert [row["item_id"] for row in rows] == [f"sav_00000{number}_1" for number in range(3)]
    for row in rows:
        described = read_descriptions(row)
        labels = {name.replace(" ", "_") for name in names[row["item_id"][:-2]].values()}
        assert {one.name for one in described} == labels
        assert all(one.start == 0 and len(one.boxes) == one.end + 1 for one in described)


def run(*arguments: object) -> None:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output


@pytest.mark.slow  # the sample is filmed first
def test_what_people_revise_last_is_what_is_released(
    sources: Path, home: Path, tmp_path: Path, expected: Expected
) -> None:
    """10.6: questions, options and evidence; then nothing is asked of a model again."""
    folder, out = sources / "cast_bench" / "build", tmp_path / "out"
    for kind, name in (("clips", "sav_000002.mp4"), ("tracks", "sav_000002.json")):
        (tmp_path / kind).mkdir()
        shutil.copy((folder.parent / "videos" if kind == "clips" else folder / "tracks") / name, tmp_path / kind)
    changes = [f"clips={tmp_path / 'clips'}", f"tracks={tmp_path / 'tracks'}"]
    with Played.of_sample(folder).at_work() as played:
        build(config=folder / "build.yaml", out=out, changes=changes)
        (before,) = rows_of(out / "release" / "castbench_hf.jsonl")
        run("prepare", "cast_bench", "--source", out / "release")
        run("annotate", "plan", "cast_bench", "--mode", "revise", "--out", tmp_path / "plan.csv")
        plan = read_plan(tmp_path / "plan.csv")
        (planned,) = plan.rows
        name = json.loads(before["evidence"])[0]["evidence_instance_id"]
        entry = {"name": name, "start": "00:00", "end": "00:01", "text": "It begins."}
        options = [f"After all, {text}" for text in before["options"].values()]
        answer = {"place": planned.place, "seconds": 1.0, "question": "What then?", "options": options}
        answer |= {"entries": [entry], "discarded": False, "comment": "Shorter."}
        file = {"plan": plan_digest(plan), "annotator": "a001", "mode": "revise", "answers": [answer]}
        (tmp_path / "a001.json").write_text(json.dumps(file))
        run("annotate", "collect", tmp_path / "plan.csv", tmp_path / "a001.json", "--out", tmp_path / "revised.jsonl")
        asked = len(played.asked)
        build(config=folder / "build.yaml", out=out, changes=[*changes, f"revisions={tmp_path / 'revised.jsonl'}"])
        assert len(played.asked) == asked
    expected(written(out))
    (after,) = rows_of(out / "release" / "castbench_hf.jsonl")
    assert (after["question"], after["answer"]) == ("What then?", before["answer"])
    assert list(after["options"].values()) == options
    (piece,) = json.loads(after["evidence"])
    assert (piece["evidence_end_time"], piece["evidence_rationale"]) == ("00:01", "It begins.")
    assert list(piece["bboxes_in_range"]) == ["0", "1"]

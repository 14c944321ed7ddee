"""Responses and their times: the official reading against its oracle, the diagnosis against cases, and any text."""

from __future__ import annotations

import ast
import json
import time
import tracemalloc
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import measurement, unit_oracles

from lmms_eval_tasks.utils.answers.evidence import EvidenceQuestion, grade_evidence, ground_evidence
from lmms_eval_tasks.utils.answers.evidence_boxes import Timeline
from lmms_eval_tasks.utils.answers.evidence_reading import (
    LAST_SECOND,
    MAX_ANSWER,
    MAX_DEPTH,
    MAX_REPAIR,
    Diagnosis,
    EvidenceAnswer,
    first_answer,
    is_clock,
    last_answer,
    official_key,
    official_seconds,
    official_truth_key,
    read_evidence_answer,
    read_truth,
)
from lmms_eval_tasks.utils.scoring.record import Outcome

CASES = json.loads((Path(__file__).parent / "cases" / "diagnosis.json").read_text("utf-8"))["cases"]
TRUE = [Timeline(0, 9, {})]

scalars = (
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=6)
    | st.text("0123456789:.٠१²", max_size=8) | st.sampled_from(["00:01", "[1,2,3,4]", "[4,3,2,1]", "F", "9" * 5000])
)  # fmt: skip
KEYS = (
    "instances answer_choice instance_name evidences evidence_start_time evidence_end_time bboxes_in_time_range 00:01"
)
trees = st.recursive(
    scalars, lambda node: st.lists(node, max_size=4) | st.dictionaries(st.sampled_from(KEYS.split()), node, max_size=4)
)


def read_both(text: str, letters: str = "ABCDEF") -> tuple[EvidenceAnswer, Diagnosis]:
    """Both readings, which are well-typed and can be grounded."""
    official = read_evidence_answer(text)
    diagnosis = official.diagnose(letters)
    assert official.answer is None or (len(official.answer) == 1 and "A" <= official.answer <= "Z")
    assert diagnosis.json_valid or not diagnosis.schema_valid
    assert diagnosis.answer is not None or not diagnosis.schema_valid
    grounding = ground_evidence([instance.timeline() for instance in official.instances], TRUE)
    assert 0 <= grounding.im_viou <= grounding.im_tiou <= 1
    return official, diagnosis


@pytest.fixture(scope="module")
def plain() -> ModuleType:
    return measurement("cast_bench_scoring")


def test_responses_as_the_official_code() -> None:
    for name, case in unit_oracles()["extract+normalize"].items():
        official, _ = read_both(case["text"])
        expected = case["official"]
        timelines = [instance.timeline() for instance in official.instances]
        assert (official.answer, len(timelines)) == (expected["answer_choice"], expected["n_instances"]), name
        read = [{"start": one.start, "end": one.end, "n_boxes": len(one.boxes)} for one in timelines]
        assert read == expected.get("timelines", []), name
        assert ("note" in expected) == (first_answer(case["text"]) is None), name


def test_diagnosis() -> None:
    for case in CASES:
        official, diagnosis = read_both(case["text"])
        found = official.answer, diagnosis.answer, diagnosis.json_valid, diagnosis.schema_valid
        assert found == (case["official"], case["answer"], case["json"], case["schema"]), case["name"]


def test_what_breaks_the_schema_and_which_letters_are_those_of_the_question() -> None:
    asked: dict[str, Any] = {"instances": [], "answer_choice": "F"}
    assert read_both(json.dumps(asked))[1].schema_valid
    wrong: list[dict[str, object]] = [
        {"instances": "p"},
        {"instances": [{"instance_name": 5, "evidences": []}]},
        {"instances": [{"instance_name": "p", "evidences": [5]}]},
        {"answer_choice": "f"},
        {"answer_choice": "G"},
    ]
    for change in wrong:
        _, diagnosis = read_both(json.dumps({**asked, **change}))
        assert diagnosis.json_valid and not diagnosis.schema_valid
    assert [read_both(json.dumps(asked), letters)[1].answer for letters in ("ABCDEF", "ABCD")] == ["F", None]


PLAIN = {"answer_choice": "F", "instances": []}


def test_a_broken_answer_is_mended() -> None:
    """The object itself: a letter may be read from the words of one that nobody mended."""
    begun, person = '{"answer_choice": "F", "instances": [', {"instance_name": "p", "evidences": []}
    for text, value in (
        # By json-repair alone.
        ('{"answer_choice": "F", // not A\n "instances": []}', PLAIN),
        ('{answer_choice: "F", instances: []}', PLAIN), ('{"answer_choice": "F" "instances": []}', PLAIN),
        (begun + '{"instance_name": "p', {**PLAIN, "instances": [{"instance_name": "p"}]}),
        # From the brace that opens the answer, not from one in the prose.
        ('Set { then {"answer_choice": "F", // not A\n "instances": []}', PLAIN),
        # Up to the last whole object.
        (begun + json.dumps(person) + ', {"instance_name": "q', {**PLAIN, "instances": [person]}),
        # As Python writes it.
        ("{'answer_choice': 'F', 'instances': (), }", {**PLAIN, "instances": ()}),
    ):  # fmt: skip
        mended = last_answer(text)
        assert mended is not None and not mended.strict and mended.value == value
    assert last_answer('{"a": 1, // answer\n "b": 2') is None


def test_a_broken_answer_is_mended_up_to_a_length_and_beyond_it_its_words_are_read_and_the_reason_given() -> None:
    begun, end = '{"answer_choice": "F", // ', '\n "instances": []}'
    for size, mended, why in (
        (MAX_REPAIR, True, ""),
        (MAX_REPAIR + 1, False, "the broken answer object has more than 2,000 characters and was not repaired"),
    ):
        text = begun + "x" * (size - len(begun + end)) + end
        found = last_answer(text)
        assert found is not None and (found.value == PLAIN, found.too_long) == (mended, not mended)
        official, diagnosis = read_both(text)
        assert (official.answer, diagnosis.answer, diagnosis.unread) == (None, "F", why)
        record = grade_evidence(EvidenceQuestion("1", "1", {}, "F", ()), text)
        assert (record.outcome, record.detail) == (Outcome.UNPARSED, why)
    # A whole answer before it is the last one that can be read.
    found = last_answer(json.dumps(PLAIN) + text)
    assert found is not None and found.strict and found.value == PLAIN


@settings(max_examples=100)
@given(st.text() | st.text("{}[]\"'\\:,/#()ainstceswr_oF\n"))
def test_any_text(text: str) -> None:
    for beginning, end in (("", ""), ('{"instances": [', ""), ('{"answer_choice": "F", ', "}")):
        read_both(beginning + text + end)


objects = (
    '{"answer_choice": "F"}', "{'instances': []}", '{"a": 1}', "{'answer' '_choice': 'B'}", "{'x': NaN}",
    '{"answer\\u005fchoice": "C"}', '{"instances": NaN}', *"{}[]\"'\\#\n,", "{}", "</think>", "null",
)  # fmt: skip
pieces = st.sampled_from(objects)


@settings(max_examples=150)
@given(st.lists(pieces | st.text(max_size=2), max_size=8).map("".join))
def test_the_object_found_is_that_of_a_plain_scan(plain: ModuleType, text: str) -> None:
    found = first_answer(text)
    assert repr(found.value if found else {}) == repr(plain.plain_answer(text))


@pytest.mark.slow
@settings(max_examples=60)
@given(trees, trees, trees)
def test_any_answer(tree: object, span: object, boxes: object) -> None:
    evidence = {"evidence_start_time": span, "evidence_end_time": tree, "bboxes_in_time_range": {"00:01": boxes}}
    answer = {"instances": [{"instance_name": tree, "evidences": [evidence, tree]}, tree], "answer_choice": boxes}
    for one in (answer, tree, {"instances": tree, "answer_choice": tree}):
        read_both(json.dumps(one))
        read_both(str(one))


def test_deep_but_bounded_values_are_read_and_others_cost_neither_the_stack_nor_time() -> None:
    begun = '{"answer_choice": "F", "x": '
    for closed in ("[" * 400 + "]" * 400, '{"a":' * 400 + "1" + "}" * 400, json.dumps("[" * 5000)):
        assert read_evidence_answer(begun + closed + "}").answer == "F"
    for depth in (MAX_DEPTH + 1, 100_000):
        assert read_evidence_answer(begun + "[" * depth + "]" * depth + "}").answer is None
    written = "{'answer_choice': 'F', 'x': "
    start = time.process_time()
    for chain in ("1+", "f()", "a.b", "-", "not ", "'a' 'b' ", "x[0]", "lambda:", "1 if 1 else "):
        assert read_evidence_answer(written + chain * 100_000 + "1}").answer is None
    for prefix in ("f", "F", "fr", "Rf"):
        assert read_evidence_answer(written + prefix + "'" + "{1}" * 100_000 + "'}").answer is None
    for piece in ("(", 'password="', "[1,2,3,4],", '{"a":'):  # the slowest to repair
        read_both(begun + piece * ((MAX_REPAIR - len(begun)) // len(piece)))
    assert time.process_time() - start < 6
    assert read_evidence_answer(written + "'" + "half''{1}" * 2_000 + "'}").answer == "F"
    evidence = json.dumps([{"evidences": [{"bboxes_in_time_range": {"00:01": [1, 2, 3, 4]}}]}] * 60)
    assert read_both(f"{{'instances': {evidence}, answer_choice: 'F',,}}")[1].answer == "F"
    # Parts that are no answer are not tried for ever.
    assert read_evidence_answer("{\\\\}" * 900 + '{"answer_choice": "F"}').answer == "F"
    assert read_evidence_answer("{\\\\}" * 2_000 + '{"answer_choice": "F"}').answer is None


@pytest.mark.nightly
def test_time_grows_with_the_text_and_not_with_its_square() -> None:
    def cost(shape: str, size: int) -> float:
        start = time.process_time()
        read_both(shape * (size // len(shape)))
        return time.process_time() - start

    units = ["{", "[", '{"a":', '{"answer_choice":', "[{", '{"', "{'", "}", '"', "\\", "(", "-", "{}"]
    shapes = ['{"answer_choice": x} ', '{"instances": [', '\'{"answer_choice"', "{'answer_choice': '\\'"]
    for shape in (*units, *shapes):
        small = min(cost(shape, 25_000) for _ in range(2))
        assert cost(shape, 200_000) < max(40 * small, 0.5), shape
    # What is cut off after its letter still states the letter.
    official, diagnosis = read_both('{"answer_choice": "F", "x": ' + "[{" * 200_000)
    assert (official.answer, diagnosis.answer) == (None, "F")


def test_the_last_of_equal_keys_wins_and_different_texts_are_different_keys() -> None:
    times = {"5": [0, 0, 1, 1], "00:05": [0, 0, 2, 2], "00:65": [0, 0, 3, 3], "01:05": [0, 0, 4, 4]}
    evidence = {"evidence_start_time": "0", "evidence_end_time": "99", "bboxes_in_time_range": times}
    text = json.dumps({"instances": [{"evidences": [evidence]}]})
    read = read_evidence_answer(text).instances[0].evidences[0]
    assert (read.seconds, [box[3] for box in read.boxes]) == ((5, 65, 65), [2, 3, 4])
    truth = read_truth(json.dumps([
        {"evidence_instance_id": name, "bboxes_in_range": {"1": "[0, 0, 10, 20]", "2": "[-1, -1, -1, -1]"}}
        for name in ("b", "a", "b")
    ]))  # fmt: skip
    assert [(instance.name, len(instance.evidences)) for instance in truth] == [("b", 2), ("a", 1)]
    assert [list(box) for box in truth[0].evidences[0].boxes] == [[0, 0, 10, 20]]


def test_truth_of_another_form_is_refused() -> None:
    for evidence, message in (
        *((text, "Expected a list of evidence objects but got") for text in ("[5]", "5", '{"a": 5}')),
        ('[{"bboxes_in_range": [1]}]', "Expected a list of evidence objects but got"),
        ([{"bboxes_in_range": {"1": "[nan, 0, 1, 1]"}}], "Expected finite boxes"),
        # The official code never reaches such a time.
        ([{"evidence_start_time": "00:00", "evidence_end_time": "9" * 20}], "but got `00:00` to `9{20}`"),
    ):
        with pytest.raises(ValueError, match=message):
            read_truth(evidence)


@pytest.mark.slow
def test_what_is_read_of_an_answer_is_bounded_in_time_and_memory() -> None:
    def answer_of(instances: int, **more: str) -> str:
        seconds = {f"{second // 60:02d}:{second % 60:02d}": [1, 2, 3, 4] for second in range(600)}
        evidence = {"evidence_start_time": "00:00", "evidence_end_time": "59:59", "bboxes_in_time_range": seconds}
        return json.dumps({**more, "answer_choice": "F", "instances": [{"evidences": [evidence]}] * instances})

    text, room = answer_of(instances=200), MAX_ANSWER - len(answer_of(instances=7, x=""))
    start = time.process_time()
    tracemalloc.start()
    official, diagnosis = read_both(text)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert official.unread == "the answer object has more than 100,000 characters and was not read"
    assert (official.answer, official.instances, diagnosis.json_valid) == (None, (), False)
    assert time.process_time() - start < 1 and most < 20_000_000 and len(text) > 2_000_000
    # An answer up to the bound is read to its end.
    long, longer = (answer_of(instances=7, x="x" * size) for size in (room, room + 1))
    assert len(read_evidence_answer(long).instances) == 7 and not read_evidence_answer(long).unread
    assert read_evidence_answer(longer).unread
    assert read_evidence_answer("{}" * MAX_ANSWER + answer_of(instances=7)).answer == "F"


def test_times_as_the_official_code_reads_them() -> None:
    oracles = unit_oracles()
    for name, read in (
        ("to_seconds", official_seconds),
        ("prediction_time_to_mmss_then_to_seconds", lambda value: list(official_key(value))),
        ("normalize_time_key_then_to_seconds (GT keys)", lambda value: list(official_truth_key(value))),
    ):
        assert {key: read(ast.literal_eval(key)) for key in oracles[name]} == oracles[name]
    # True is not mistaken for the number one.
    assert [official_key(value) for value in (1, True, 1.0)] == [("00:01", 1), ("True", 0), ("00:01", 1)]
    for second in range(0, 6000, 7):
        text = f"{second // 60:02d}:{second % 60:02d}"
        assert is_clock(text) and official_key(text) == (text, second)
    assert not any(map(is_clock, ("5", "00:05.5", "00:75", "0:5", "00:00:05", "٠٠:٠٥", "")))
    for value in ("9" * 5000, f"{'9' * 5000}:00", f"00:{'9' * 10_000_000}", 10**5000, "9" * 400):
        assert {official_seconds(value), official_key(value)[1]} <= {0, LAST_SECOND}


@given(st.text("0123456789٠१𝟘²³①:：.,-+eE_ smh", max_size=20) | scalars | st.binary() | st.lists(scalars, max_size=3))
def test_no_time_raises_and_all_fit_in_an_int64(value: object) -> None:
    seconds = [official_seconds(value), official_key(value)[1], official_truth_key(value)[1]]
    assert all(isinstance(second, int) and 0 <= second <= LAST_SECOND for second in seconds)


@pytest.mark.parametrize(
    ("text", "seconds", "key", "truth_key"),
    [
        ("05:07", 307, "05:07", "05:07"),
        ("1:2", 62, "01:02", "01:02"),
        ("01:02:03", 3723, "62:03", "62:03"),
        ("01:02:03:04", 3723, "01:02:03:04", "00:04"),
        ("00:05.5", 305, "00:05.5", "00:05.5"),
        ("12.9", 12, "00:12", "00:12"),
        ("t 9", 9, "t 9", "t 9"),
        ("x", 0, "x", "x"),
    ],
)
def test_times_are_read_as_the_official_functions_say(text: str, seconds: int, key: str, truth_key: str) -> None:
    """Worked by hand from `to_seconds`, `prediction_time_to_mmss` and `normalize_time_key`."""
    assert official_seconds(text) == seconds and official_key(text)[0] == key
    assert official_truth_key(text) == (truth_key, official_seconds(truth_key))

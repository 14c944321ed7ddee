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

from lmms_eval_tasks.utils.answers.evidence import ground_evidence
from lmms_eval_tasks.utils.answers.evidence_boxes import Timeline
from lmms_eval_tasks.utils.answers.evidence_reading import (
    LAST_SECOND,
    MAX_ANSWER,
    MAX_DEPTH,
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

CASES = json.loads((Path(__file__).parent / "cases" / "diagnosis.json").read_text("utf-8"))["cases"]
LENGTH = 500_000
TRUE = [Timeline(0, 9, {})]

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(max_size=6)
    | st.text("0123456789:.٠१²", max_size=8)
    | st.sampled_from(["00:01", "00:05.5", "[1,2,3,4]", "[4,3,2,1]", "F", "9" * 5000])
)
KEYS = (
    "instances answer_choice instance_name evidences evidence_start_time evidence_end_time evidence_rationale "
    "bboxes_in_time_range 00:01"
)
keys = st.text(max_size=3) | st.sampled_from(KEYS.split())
trees = st.recursive(
    scalars, lambda node: st.lists(node, max_size=4) | st.dictionaries(keys, node, max_size=4), max_leaves=12
)
numbers = st.integers(-100, 4000) | st.floats() | st.text(max_size=3)
boxes = st.lists(numbers, min_size=4, max_size=4) | st.sampled_from(["[1,2,3,4]", [9, 9, 1, 1]]) | scalars
evidences = st.fixed_dictionaries(
    {},
    optional={
        "evidence_start_time": scalars,
        "evidence_end_time": scalars,
        "evidence_rationale": scalars,
        "bboxes_in_time_range": st.dictionaries(st.text(max_size=3) | st.sampled_from(["00:00", "00:01"]), boxes)
        | trees,
    },
)
instances = st.fixed_dictionaries({}, optional={"instance_name": scalars, "evidences": st.lists(evidences) | trees})
answers = st.fixed_dictionaries({"instances": st.lists(instances) | trees, "answer_choice": scalars})


def read_both(text: str, letters: str = "ABCDEF") -> tuple[EvidenceAnswer, Diagnosis]:
    official = read_evidence_answer(text)
    return official, official.diagnose(letters)


def check(text: str) -> tuple[EvidenceAnswer, Diagnosis]:
    """Both readings are well-typed and can be grounded."""
    official, diagnosis = read_both(text)
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
        official, _ = check(case["text"])
        expected = case["official"]
        assert official.answer == expected["answer_choice"], name
        assert len(official.instances) == expected["n_instances"], name
        timelines = [instance.timeline() for instance in official.instances]
        read = [{"start": one.start, "end": one.end, "n_boxes": len(one.boxes)} for one in timelines]
        assert read == expected.get("timelines", []), name
        assert ("note" in expected) == (first_answer(case["text"]) is None), name


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_diagnosis(case: dict[str, Any]) -> None:
    official, diagnosis = check(case["text"])
    assert official.answer == case["official"]
    assert diagnosis.answer == case["answer"]
    assert (diagnosis.json_valid, diagnosis.schema_valid) == (case["json"], case["schema"])


def test_what_breaks_the_schema_and_which_letters_are_those_of_the_question() -> None:
    asked: dict[str, Any] = {"instances": [], "answer_choice": "F"}
    assert read_both(json.dumps(asked))[1].schema_valid
    wrong = ["p", [{"instance_name": 5, "evidences": []}], [{"instance_name": "p", "evidences": [5]}]]
    for change in (*({"instances": one} for one in wrong), {"answer_choice": "f"}, {"answer_choice": "G"}):
        _, diagnosis = read_both(json.dumps({**asked, **change}))
        assert diagnosis.json_valid and not diagnosis.schema_valid
    assert read_both(json.dumps(asked), "ABCDEF")[1].answer == "F"
    assert read_both(json.dumps(asked), "ABCD")[1].answer is None


PLAIN = {"answer_choice": "F", "instances": []}
PERSON = {"instance_name": "p", "evidences": []}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # By json-repair alone.
        ('{"answer_choice": "F", // not A\n "instances": []}', PLAIN),
        ('{answer_choice: "F", instances: []}', PLAIN),
        ('{"answer_choice": "F" "instances": []}', PLAIN),
        ('{"answer_choice": "F", "instances": [{"instance_name": "p', {**PLAIN, "instances": [{"instance_name": "p"}]}),
        # From the brace that opens the answer, not from one in the prose.
        ('Set { then {"answer_choice": "F", // not A\n "instances": []}', PLAIN),
        # Up to the last whole object.
        (
            '{"answer_choice": "F", "instances": [{"instance_name": "p", "evidences": []}, {"instance_name": "q',
            {**PLAIN, "instances": [PERSON]},
        ),
        # As Python writes it.
        ("{'answer_choice': 'F', 'instances': (), }", {**PLAIN, "instances": ()}),
    ],
)
def test_a_broken_answer_is_mended(text: str, value: dict[str, Any]) -> None:
    """The object itself: a letter may be read from the words of one that nobody mended."""
    mended = last_answer(text)
    assert mended is not None and not mended.strict
    assert mended.value == value
    assert last_answer('{"a": 1, // answer\n "b": 2') is None


@settings(max_examples=100)
@given(st.text() | st.text("{}[]\"'\\:,/#()ainstceswr_oF\n"))
def test_any_text(text: str) -> None:
    check(text)
    check('{"instances": [' + text)
    check('{"answer_choice": "F", ' + text + "}")


objects = [
    '{"answer_choice": "F"}',
    "{'instances': []}",
    '{"a": 1}',
    "{'answer' '_choice': 'B'}",
    '{"answer\\u005fchoice": "C"}',
    "{'x': NaN}",
    '{"instances": NaN}',
]
pieces = st.sampled_from([*objects, *"{}[]\"'\\#\n,", "{}", "</think>", "null"])


@settings(max_examples=150)
@given(st.lists(pieces | st.text(max_size=2), max_size=8).map("".join))
def test_the_object_found_is_that_of_a_plain_scan(plain: ModuleType, text: str) -> None:
    found = first_answer(text)
    assert repr(found.value if found else {}) == repr(plain.plain_answer(text))


@settings(max_examples=50)
@given(trees)
def test_any_tree(tree: object) -> None:
    check(json.dumps(tree))
    check(str(tree))
    check(json.dumps({"instances": tree, "answer_choice": tree}))


@pytest.mark.slow
@settings(max_examples=100)
@given(answers)
def test_any_answer(answer: dict[str, Any]) -> None:
    text = json.dumps(answer)
    check(text)
    assert first_answer(text) or "{" in str(answer)[1:] or "}" in str(answer)[:-1] or "9" * 5000 in str(answer)
    check(str(answer))


@pytest.mark.slow
@pytest.mark.parametrize("before", ["", '{"answer_choice": "F", "x": '])
def test_half_a_megabyte_of_anything(before: str) -> None:
    for unit in ("{", "[", '{"a":', '{"answer_choice":', "[{", '{"', "{'", "}", '"', "\\", "(", "-", "{}"):
        start = time.process_time()
        official, diagnosis = read_both(before + unit * (LENGTH // len(unit)))
        assert time.process_time() - start < 2, unit
        assert official.answer is None
        # What is cut off after its letter still states the letter.
        assert diagnosis.answer == ("F" if before else None)


def test_deep_but_bounded_values_are_read_and_others_cost_neither_the_stack_nor_time() -> None:
    begun = '{"answer_choice": "F", "x": '
    for closed in ("[" * 400 + "]" * 400, '{"a":' * 400 + "1" + "}" * 400, json.dumps("[" * 5000)):
        assert read_evidence_answer(begun + closed + "}").answer == "F"
    for depth in (MAX_DEPTH + 1, 100_000, LENGTH // 2):
        assert read_evidence_answer(begun + "[" * depth + "]" * depth + "}").answer is None
    written = "{'answer_choice': 'F', 'x': "
    for chain in ("1+", "f()", "a.b", "-", "not ", "'a' 'b' ", "x[0]", "lambda:", "1 if 1 else "):
        assert read_evidence_answer(written + chain * 100_000 + "1}").answer is None
    start = time.process_time()
    for prefix in ("f", "F", "fr", "Rf"):
        assert read_evidence_answer(written + prefix + "'" + "{1}" * 100_000 + "'}").answer is None
    assert time.process_time() - start < 4
    assert read_evidence_answer(written + "'" + "half''{1}" * 2_000 + "'}").answer == "F"


@pytest.mark.parametrize(
    "shape", ['{"answer_choice": x} ', '{"instances": [', '\'{"answer_choice"', "{'answer_choice': '\\'"]
)
def test_time_grows_with_the_text_and_not_with_its_square(shape: str) -> None:
    def cost(size: int) -> float:
        text = shape * (size // len(shape))
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            read_both(text)
            best = min(best, time.process_time() - start)
        return best

    small = cost(50_000)
    assert cost(400_000) < max(40 * small, 0.5)


def test_the_last_of_equal_keys_wins_and_different_texts_are_different_keys() -> None:
    times = {"5": [0, 0, 1, 1], "00:05": [0, 0, 2, 2], "00:65": [0, 0, 3, 3], "01:05": [0, 0, 4, 4]}
    evidence = {"evidence_start_time": "0", "evidence_end_time": "99", "bboxes_in_time_range": times}
    text = json.dumps({"instances": [{"evidences": [evidence]}]})
    read = read_evidence_answer(text).instances[0].evidences[0]
    assert read.seconds == (5, 65, 65)
    assert [box[3] for box in read.boxes] == [2, 3, 4]


def test_truth_is_grouped_by_instance() -> None:
    entries = [
        {
            "evidence_instance_id": name,
            "evidence_start_time": "00:01",
            "evidence_end_time": "00:02",
            "bboxes_in_range": {"1": "[0, 0, 10, 20]", "2": "[-1, -1, -1, -1]"},
        }
        for name in ("b", "a", "b")
    ]
    truth = read_truth(json.dumps(entries))
    assert [(instance.name, len(instance.evidences)) for instance in truth] == [("b", 2), ("a", 1)]
    assert [list(box) for box in truth[0].evidences[0].boxes] == [[0, 0, 10, 20]]


def test_truth_of_another_form_is_refused() -> None:
    for evidence in ("[5]", "5", '{"a": 5}', '[{"bboxes_in_range": [1]}]'):
        with pytest.raises(ValueError, match="Expected a list of evidence objects but got"):
            read_truth(evidence)
    with pytest.raises(ValueError, match="Expected finite boxes"):
        read_truth([{"bboxes_in_range": {"1": "[nan, 0, 1, 1]"}}])
    # The official code never reaches such a time.
    with pytest.raises(ValueError, match=r"Expected evidence times mm:ss, but got `00:00` to `9{20}`\."):
        read_truth([{"evidence_start_time": "00:00", "evidence_end_time": "9" * 20}])


def answer_of(instances: int, boxes: int) -> str:
    seconds = {f"{second // 60:02d}:{second % 60:02d}": [1, 2, 3, 4] for second in range(boxes)}
    evidence = {"evidence_start_time": "00:00", "evidence_end_time": "59:59", "bboxes_in_time_range": seconds}
    return json.dumps({"answer_choice": "F", "instances": [{"evidences": [evidence]}] * instances})


def test_what_is_read_of_an_answer_is_bounded_in_time_and_memory() -> None:
    text = answer_of(instances=200, boxes=600)
    assert len(text) > 2_000_000
    start = time.process_time()
    tracemalloc.start()
    official, diagnosis = read_both(text)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert official.unread == "the answer object has more than 100,000 characters and was not read"
    assert (official.answer, official.instances, diagnosis.json_valid) == (None, (), False)
    assert time.process_time() - start < 1 and most < 20_000_000


def test_an_answer_up_to_the_bound_is_read_to_its_end() -> None:
    text = answer_of(instances=7, boxes=600)
    long, longer = (json.dumps({"x": "", **json.loads(text)}).replace('""', json.dumps("x" * size)) for size in (
        MAX_ANSWER - len(text) - 9, MAX_ANSWER - len(text) - 8,
    ))  # fmt: skip
    assert (len(long), len(longer)) == (MAX_ANSWER, MAX_ANSWER + 1)
    assert len(read_evidence_answer(long).instances) == 7 and not read_evidence_answer(long).unread
    assert read_evidence_answer(longer).unread
    assert read_evidence_answer("{}" * MAX_ANSWER + text).answer == "F"


def test_parts_that_are_no_answer_are_not_tried_for_ever() -> None:
    assert read_evidence_answer("{\\\\}" * 900 + '{"answer_choice": "F"}').answer == "F"
    assert read_evidence_answer("{\\\\}" * 2_000 + '{"answer_choice": "F"}').answer is None


def test_a_repair_is_given_up_where_it_goes_in_circles() -> None:
    evidence = json.dumps([{"evidences": [{"bboxes_in_time_range": {"00:01": [1, 2, 3, 4]}}]}] * 60)
    assert read_both(f"{{'instances': {evidence}, answer_choice: 'F',,}}")[1].answer == "F"
    start = time.process_time()
    for piece in ("(", 'password="', "[1,2,3,4],", '{"a":'):
        read_both('{"answer_choice": "F", "x": ' + piece * (9_900 // len(piece)))
    assert time.process_time() - start < 1


ODD_DIGITS = "0123456789٠١٢٣٤٥٦٧٨٩०१२३𝟘𝟙²³①:：.,-+eE_ smh"

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda children: st.lists(children, max_size=3) | st.tuples(children, children),
    max_leaves=4,
)
times = st.text(ODD_DIGITS, max_size=20) | anything


def test_times_as_the_official_code_reads_them() -> None:
    oracles = unit_oracles()
    for name, read in (
        ("to_seconds", official_seconds),
        ("prediction_time_to_mmss_then_to_seconds", lambda value: list(official_key(value))),
        ("normalize_time_key_then_to_seconds (GT keys)", lambda value: list(official_truth_key(value))),
    ):
        assert {key: read(ast.literal_eval(key)) for key in oracles[name]} == oracles[name]


@given(times)
def test_no_time_raises_and_all_fit_in_an_int64(value: object) -> None:
    seconds = [official_seconds(value), official_key(value)[1], official_truth_key(value)[1]]
    assert all(isinstance(second, int) and 0 <= second <= LAST_SECOND for second in seconds)


def test_a_true_key_is_not_mistaken_for_the_number_one() -> None:
    assert [official_key(value) for value in (1, True, 1.0)] == [("00:01", 1), ("True", 0), ("00:01", 1)]


def test_numbers_without_end() -> None:
    for value in ("9" * 5000, f"{'9' * 5000}:00", f"00:{'9' * 10_000_000}", 10**5000, "9" * 400):
        assert official_seconds(value) in (0, LAST_SECOND)
        assert official_key(value)[1] in (0, LAST_SECOND)


def test_what_is_asked_for_is_read_alike() -> None:
    for second in range(0, 6000, 7):
        text = f"{second // 60:02d}:{second % 60:02d}"
        assert is_clock(text) and official_key(text) == (text, second)
    assert not any(map(is_clock, ("5", "00:05.5", "00:75", "0:5", "00:00:05", "٠٠:٠٥", "")))

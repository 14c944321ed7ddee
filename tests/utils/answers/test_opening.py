"""How a response is opened, on answers as models of today write them, with what a careful reader takes them for."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lmms_eval_tasks.utils.answers.choice import choice_grader, read_choice
from lmms_eval_tasks.utils.answers.hooks import TaskSettings
from lmms_eval_tasks.utils.answers.opening import content, json_answers, json_objects
from lmms_eval_tasks.utils.answers.plausible import plausibility_grader, read_plausibility
from lmms_eval_tasks.utils.answers.reply import Reply, as_reply
from lmms_eval_tasks.utils.answers.verdict import NO, UNCLEAR, YES, read_verdict, verdict_grader
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, UnparsedReason, UnscoredReason

FOLDER = Path(__file__).parent
OPTIONS = ["The cat pushes it", "A gust of wind moves the curtain", "The man pulls the cloth", "The dog tilts it"]


def test_so_many_attempts_are_made_at_what_is_no_object_and_no_more() -> None:
    loose, broken = "{'answer': 'B'}", "{'answer': B}"
    for text, found in (
        ('{"a": 1} x {"b": {"c": 2}}', [{"a": 1}, {"b": {"c": 2}}]),
        (f"{broken} " * 3 + loose, [{"answer": "B"}]),
        (f"{broken} " * 4 + loose, []),
        ("{ " * 23 + '{"a": 1}', [{"a": 1}]),
        ("{ " * 24 + '{"a": 1}', []),
        ("{'a': True, 'b': [None, False,],}", [{"a": True, "b": [None, False]}]),
    ):
        objects = list(json_objects(text))
        assert [parsed for parsed, _, _ in objects] == found, text
        assert all(text[start] == "{" and text[end - 1] == "}" for _, start, end in objects)


@pytest.mark.parametrize(
    ("text", "values", "rest"),
    [
        ('So {"answer": "B"} it is.', ["B"], "So \n it is."),
        ('{"answer": "A"} then {"answer": "B"}', ["B"], "\n then \n"),
        ('{"reason": "A", "answer": "B"}', ["B"], "\n"),
        ('{"answer": "A", "final_answer": "B"}', ["B"], "\n"),
        ('{"choice": "A", "answer": "B"}', ["B"], "\n"),
        ('{"answer": {"letter": "A", "text": "red", "why": "B"}}', ["A", "red"], "\n"),
        ('{"answer": ["A", "B"]}', ["B", "A"], "\n"),
        ('{"pred": "A", "label": "B"}', ["B", "A"], "\n"),
        ('{"answer": null}', [], "\n"),
        ('{"clip": "A"} B', [], '{"clip": "A"} B'),
        ('Cut off: {"answer": "B", "reason": "it', ["B"], "Cut off: "),
        ('{"answer": 1', ["1"], ""),
    ],
)
def test_of_an_object_the_values_of_the_best_key_are_the_answer(text: str, values: list[str], rest: str) -> None:
    found, left = json_answers(text)
    assert (sorted(found), left) == (sorted(values), rest)


def read(kind: str, text: str, cut_off: bool = False, options: list[str] = OPTIONS, question: str = "") -> str | None:
    reply = Reply(text).used_all() if cut_off else Reply(text)
    if kind in ("choice", "mcq"):
        return read_choice(reply, options)
    if kind == "plausibility":
        return read_plausibility(reply)
    verdict = read_verdict(reply, question)
    return None if verdict == UNCLEAR else verdict


def read_cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("answers.jsonl", {"mcq": 166, "verdict": 99, "plausibility": 101}),
        ("variations.jsonl", {"mcq": 129, "verdict": 150, "plausibility": 145}),
    ],
)
def test_answers_of_each_kind_are_read(name: str, counts: dict[str, int]) -> None:
    cases = read_cases(name)
    assert Counter(case["kind"] for case in cases) == counts
    right, wrong = Counter[str](), Counter[str]()
    missed = []
    for case in cases:
        said = read(case["kind"], case["input"], options=case.get("options", []), question=case.get("question", ""))
        if said == (None if case["expected"] == UNCLEAR else case["expected"]):
            right[case["kind"]] += 1
        else:
            wrong[case["kind"]] += said is not None
            missed.append((said, case))
    for kind, count in counts.items():
        assert right[kind] >= 0.97 * count and wrong[kind] <= 0.01 * count, missed


MARKUP = (
    "{}", "**{}**", "<|begin_of_box|>{}<|end_of_box|>", "$\\boxed{{\\text{{{}}}}}$",
    "{}<|im_end|>\n<|im_start|>user\nSure?<|im_end|>\n<|im_start|>assistant\n{other}",
    "{}\n\nUser: Sure?\nAssistant: {other}", "<|im_start|>assistant\n{}<|im_end|>", "<think>{other}</think>{}",
    "{other}?</think>\n\n{}", "◁think▷{other}◁/think▷{}", "[THINK]{other}[/THINK]{}", "<thought>{other}</thought>{}",
    "<seed:think>{other}</seed:think>{}", "<reasoning>{other}</reasoning>\n<answer>{}</answer>",
    "<|channel|>analysis<|message|>{other}<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>",
    "analysis{other}.assistantfinal{}", "<|begin_of_thought|>{other}<|end_of_thought|>{}", "\ufeff{}</s>",
    '{{"answer": "{}", "explanation": "It is not {other}, as one might think"}}', "{{'answer': '{}', 'why': 'x'}}",
    "{{'wrong': '{other}', 'answer': ['{}'], 'sure': True}}", "{{'wrong': '{other}', 'why': None, 'answer': ['{}']}}",
    "{{'wrong': '{other}', 'denied': False, 'answer': ['{}'],}}",
    '```json\n{{"explanation": "one might say {other}", "answer": "{}"}}\n```', '{{"answer": "{}", "explanation": "the',
    "### Final Answer\n\n**{}**", "> {}", "`{}`", "The answer is **{}**.",
)  # fmt: skip


SAID = (
    ("choice", "B", "A", "B"), ("choice", "(B)", "A", "B"), ("verdict", "No", "Yes", "no"),
    ("verdict", "Yes", "No", "yes"), ("plausibility", "No", "Yes", "B"), ("plausibility", "1", "0", "A"),
    ("plausibility", "possible", "impossible", "A"),
)  # fmt: skip


def test_whatever_stands_around_it_an_answer_is_read() -> None:
    for kind, said, other, read_as in SAID:
        for markup in MARKUP:
            assert read(kind, markup.format(said, other=other)) == read_as, (kind, said, markup)


def test_of_an_answer_that_was_cut_off_only_what_it_commits_itself_to_is_read() -> None:
    cases = read_cases("cut_off.jsonl")
    read_as = [read(case["kind"], case["input"], cut_off=True) for case in cases]
    assert read_as == [case["expected"] for case in cases] and len(cases) == 21


LEAST_READ = {"public.jsonl": 10, "other_languages.jsonl": 5}
"""How many answers of a file have a form that is known in their language, and are read."""


@pytest.mark.parametrize("name", ["public.jsonl", "other_languages.jsonl"])
def test_no_answer_in_another_language_is_turned_round(name: str) -> None:
    cases, right = read_cases(name), 0
    for case in cases:
        said = read(case["kind"], case["input"], options=case.get("options", []), question=case.get("question", ""))
        assert said in (None, case["expected"]), case
        right += said is not None
    assert right >= LEAST_READ[name], right


REASONED = (
    "<|think|>{other}.<|end|><|begin|>assistant<|content|>{}<|end|>",
    "/think\n{other}.<|im_end|>\n<|im_start|>assistant\n{}",
    "So {other}?<|im_end|>\n<|im_start|>assistant\n{}<|im_end|>",
    '[{{"type": "thinking", "thinking": "{other}"}}, {{"type": "text", "text": "{}"}}]',
    "[{{'type': 'reasoning', 'text': '{other}'}}, {{'type': 'text', 'text': '{}'}}]",
    '{{"role": "assistant", "content": [{{"type": "output_text", "text": "{}"}}]}}',
    "<tool_call>answer<arg_key>reason</arg_key><arg_value>{other}</arg_value><arg_key>answer</arg_key>"
    "<arg_value>{}</arg_value></tool_call>",
    "The ans-\nwer is {}.",
)  # fmt: skip


@pytest.mark.parametrize("form", REASONED)
def test_parts_calls_and_turns_are_opened_for_all_readers(form: str) -> None:
    for kind, said, other, read_as in SAID:
        assert read(kind, form.format(said, other=other)) == read_as, (kind, said)


def test_what_was_only_reasoned_is_no_answer() -> None:
    for text in (
        '[{"type": "thinking", "thinking": "B', "[{'type': 'thinking', 'thinking': 'B'}]", "<|think|>It may be B",
        '[{"type": "text", "text": null}]',
    ):  # fmt: skip
        assert read_choice(text, OPTIONS) is None and read_plausibility(text) is None
    assert read_plausibility("It is im-\npossible.") == "B" == read_plausibility("im\u00ad\npossible")


CALLED_WRONG = (
    "{}. That answer is incorrect.", "{}. I meant {other}.", "{}. Or rather {other}.", "{}, said nobody.",
    "{}. Sorry, that is mistaken.", "{}. In truth it is otherwise.", "{}. Both are possible.", "{}. Make that {other}.",
    "{}. The statement before is to be read inverted.", "{}. I withdraw that answer.", "{} with 10% confidence.",
    "{}. My answer is wrong.", "{}. That cannot be right.", "{}. Perhaps {other}.", "{}, which is false.",
    "{}. It is the other way round.", "{}. Nope, wrong.", "{}. Disregard the above.", "{}. Confidence: 5%.",
)  # fmt: skip


@pytest.mark.parametrize("form", CALLED_WRONG)
def test_an_answer_that_is_taken_back_does_not_stand(form: str) -> None:
    for said, other in (("Yes", "no"), ("No", "yes")):
        assert read_verdict(form.format(said, other=other)) != said.lower()


def test_an_answer_that_is_taken_up_again_stands() -> None:
    for text, verdict in (
        ("No. Not at all.", NO), ("Yes. There is no link.", YES), ("Yes. Does it depend on the rope? No.", YES),
        ("No. With 90% confidence.", NO), ("Yes. It would happen anyway.", YES),
    ):  # fmt: skip
        assert read_verdict(text) == verdict, text


def test_an_answer_in_objects_is_read_as_deep_as_one_in_lists() -> None:
    answer: Any = {"answer": "B"}
    in_objects, in_lists, read = {"answer": answer}, answer, []
    for _ in range(14):
        said = [read_choice(json.dumps(one), OPTIONS) for one in (in_objects, {"answer": in_lists})]
        assert said[0] == said[1]
        read.append(said[0])
        in_objects, in_lists = {"answer": in_objects}, [in_lists]
    assert read == sorted(read, key=lambda one: one is None) and {*read} == {"B", None}


WHY = (
    ("choice", "The correct answer is (C) A gust of wind moves the curtain.", UnparsedReason.DISAGREES),
    ("choice", "A or B", UnparsedReason.SEVERAL), ("choice", "It may be wet.", UnparsedReason.NO_OPTION),
    ("choice", "Answer: F", UnparsedReason.NO_OPTION), ("choice", "B. I changed my mind.", UnparsedReason.NO_OPTION),
    ("choice", "Das weiß ich nicht, es ist zu dunkel.", UnparsedReason.OTHER_LANGUAGE),
    ("verdict", "Yes and no.", UnparsedReason.SEVERAL), ("verdict", "I cannot tell.", UnparsedReason.NO_OPTION),
    ("verdict", "Aun así no habría pasado.", UnparsedReason.OTHER_LANGUAGE),
    ("plausibility", "It is possible or impossible.", UnparsedReason.SEVERAL),
    ("plausibility", "A ball rolls over the table.", UnparsedReason.NO_OPTION),
    ("plausibility", "Ce n'est pas possible.", UnparsedReason.OTHER_LANGUAGE),
    *((kind, text, why) for kind in ("choice", "verdict", "plausibility") for text, why in (
        ("", UnparsedReason.EMPTY), (" \n<|im_end|>", UnparsedReason.EMPTY), ("<think>B</think>", UnparsedReason.EMPTY),
        ("<think>Let me see whether it", UnparsedReason.CUT_OFF), (None, UnparsedReason.EMPTY),
    )),
)  # fmt: skip
GRADERS = {"choice": choice_grader(), "verdict": verdict_grader(), "plausibility": plausibility_grader()}
ROW = {
    "item_id": "1", "group_id": "1", "question": "?", "options": OPTIONS, "answer": "A", "split": "test",
}  # fmt: skip


def grade(kind: str, said: object) -> Record:
    task: Any = SimpleNamespace(settings=TaskSettings())
    return GRADERS[kind](ROW, as_reply(said), task).record


@pytest.mark.parametrize(("kind", "text", "why"), WHY)
def test_an_unparsed_answer_says_why(kind: str, text: object, why: UnparsedReason) -> None:
    record = grade(kind, text)
    assert (record.outcome, record.unparsed_reason) == (Outcome.UNPARSED, why)
    assert record.why == why.value
    assert Record.from_json(record.to_json()) == record
    assert grade(kind, Reply(missing=UnscoredReason.NO_CLIP)).unparsed_reason is None


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("choice", "It shows a cat. So B fits."),
        ("verdict", "The cat walks. It would happen."),
        ("plausibility", "A ball rolls. The motion is plausible."),
    ],
)
def test_only_where_its_tokens_were_used_is_an_answer_taken_for_cut_off(kind: str, text: str) -> None:
    assert grade(kind, text).answered is not None and grade(kind, text).unparsed_reason is None
    cut = grade(kind, Reply(text).used_all())
    assert (cut.answered, cut.unparsed_reason) == (None, UnparsedReason.CUT_OFF)


def test_a_letter_in_a_parenthesis_is_no_label_of_a_list() -> None:
    """A list of labels in a line chooses none; "(unlike B)" is none of them."""
    assert read_choice("A. falls here B) stays here", OPTIONS) is None
    assert read_choice("A. It falls (unlike B) onto the floor.", OPTIONS) == "A"


@pytest.mark.parametrize(
    "question", ["Question: What then?", "NEXT QUESTION:\nwhat\nthen?\n\nB or D?", "**Question 2:** Who?"]
)
def test_a_question_of_the_models_own_ends_its_answer(question: str) -> None:
    for answer in ("B", "yes, it would", "the final answer is **b**, since it moves"):
        assert content(f"{answer}\n\n{question}\nAnswer: D") == answer
    # What is no answer before it is no turn either.
    for text in (f"It moves.\n{question}", "B\nIn question: is it?", "B\nQuestions remain."):
        assert content(text) == text


RANKS = (
    ("final", "correct_answer", "Final choice"),
    ("answer", "my_answer"),
    (
        *("choice", "option", "prediction", "selected", "selection", "response", "result", "output", "letter"),
        *("verdict", "pred", "label"),
    ),
)
"""Keys of objects by what their values are taken for: those of a rank before those of the next."""
BELOW = ("final", "pred", "label", "value", "text", "id", "key")
"""Keys that say no more of an answer than the key that they stand below."""
OTHERS = (
    *("reason", "rationale", "explanation", "why", "analysis", "thought", "evidence", "confidence", "choices"),
    *("options", "wrong_option", "incorrect_answer", "colour"),
)
"""Keys whose values are no answers."""


@pytest.mark.parametrize("rank", range(len(RANKS)))
def test_of_the_keys_of_an_object_the_one_that_names_the_answer_best_counts(rank: int) -> None:
    for key in RANKS[rank]:
        for other in (*(name for names in RANKS[rank + 1 :] for name in names), *OTHERS):
            for said in ({key: "B", other: "A"}, {other: "A", key: "B"}):
                assert read_choice(json.dumps(said), OPTIONS) == "B", said
        for below in BELOW:
            said_below: dict[str, Any] = {"colour" if rank == len(RANKS) - 1 else "choice": "A", key: {below: "B"}}
            assert read_choice(json.dumps(said_below), OPTIONS) == "B", said_below
    assert read_choice(json.dumps({RANKS[rank][0]: "A", RANKS[rank][-1]: "B"}), OPTIONS) is None

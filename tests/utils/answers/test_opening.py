"""How a response is opened, on answers as models of today write them, with what a careful reader takes them for."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lmms_eval_tasks.utils.answers.choice import read_choice
from lmms_eval_tasks.utils.answers.plausible import read_plausibility
from lmms_eval_tasks.utils.answers.verdict import UNCLEAR, read_verdict

FOLDER = Path(__file__).parent
OPTIONS = ["The cat pushes it", "A gust of wind moves the curtain", "The man pulls the cloth", "The dog tilts it"]


def read(kind: str, text: str, cut_off: bool = False, options: list[str] = OPTIONS, question: str = "") -> str | None:
    if kind in ("choice", "mcq"):
        return read_choice(text, options, cut_off=cut_off)
    if kind == "plausibility":
        return read_plausibility(text, cut_off=cut_off)
    verdict = read_verdict(text, question, cut_off=cut_off)
    return None if verdict == UNCLEAR else verdict


def read_cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("answers.jsonl", {"mcq": 166, "verdict": 99, "plausibility": 101}),
        ("variations.jsonl", {"mcq": 106, "verdict": 147, "plausibility": 154}),
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
    assert read_as == [case["expected"] for case in cases] and len(cases) == 19

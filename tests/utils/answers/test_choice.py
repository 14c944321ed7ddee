"""Letters of options: cases that a careful reader settled, laws of the reader, and the example of every rule."""

import json
import re
import string
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import read_oracle

from lmms_eval_tasks.utils.answers import choice_letters
from lmms_eval_tasks.utils.answers.choice import read_choice
from lmms_eval_tasks.utils.answers.choice_letters import Mention
from lmms_eval_tasks.utils.answers.choice_statements import statements
from lmms_eval_tasks.utils.answers.language import Words, fold, tokenize
from lmms_eval_tasks.utils.answers.opening import HEAD_CHARS, TAIL_CHARS, shorten
from lmms_eval_tasks.utils.answers.reply import Reply

CASES: dict[str, Any] = json.loads((Path(__file__).parent / "cases.json").read_text(encoding="utf-8"))
CONTEXTS: dict[str, list[str]] = CASES["contexts"]
FIVE, PAIR = CONTEXTS["five"], CONTEXTS["pair"]


@pytest.mark.parametrize("context", CONTEXTS)
def test_reads_what_a_careful_reader_would(context: str) -> None:
    cases = [(case["text"], case["expect"][context]) for case in CASES["cases"] if context in case["expect"]]
    misread = [(text, letter) for text, letter in cases if read_choice(text, CONTEXTS[context]) != letter]
    assert not misread
    assert len({(case["text"], *case["expect"]) for case in CASES["cases"]}) == len(CASES["cases"])
    assert all(case["source"] for case in CASES["cases"])
    assert {context for case in CASES["cases"] for context in case["expect"]} == set(CONTEXTS)


def test_agrees_with_the_human_labels() -> None:
    oracle = read_oracle("answer_extraction.json")
    for label, context in (("human_causalvqa", "causalvqa_options"), ("human_mvp", "mvp_candidates")):
        options = oracle["contexts"][context]
        texts = list(options.values()) if isinstance(options, dict) else options
        misread = [item["text"] for item in oracle["items"] if read_choice(item["text"], texts) != item[label]]
        assert not misread


def test_every_letter_of_the_question_and_no_other_can_be_read() -> None:
    for count in (2, 5, 26):
        options = [f"thing number {index}" for index in range(count)]
        read = [read_choice(f"Answer: {letter}", options) for letter in string.ascii_uppercase]
        assert read == [*string.ascii_uppercase[:count], *[None] * (26 - count)]
    for count in (0, 1, 27):
        with pytest.raises(ValueError, match=f"Expected 2 to 26 options but got {count}"):
            read_choice("A", ["text"] * count)


OPTIONS_OF_OTHER_KINDS = (["B", "A"], ["Yes", "No", "E. coli"], ["Answer: B", "The answer is: (A)", "C"], [*"ABCD"])


@pytest.mark.parametrize("options", [FIVE, PAIR, *OPTIONS_OF_OTHER_KINDS])
def test_a_letter_alone_is_read_as_it_is_with_markup(options: list[str]) -> None:
    labels = ("", "Answer: ", "The answer is: ", "Final answer: ", "the correct Answer: ")
    forms = ("{}", "{}.", "({})", "({}).", "{}\n", "{} ", "({}\n", "{})", "{}..", "{}!")
    for label, form, letter in product(labels, forms, "ABCEFZ"):
        text = f"{label}{form.format(letter)}"
        # What is only marked as bold has nothing else to be read by; nothing in it is bare.
        assert read_choice(text, options) == read_choice(f"**{text}**", options), text
        assert read_choice(Reply(text).used_all(), options) == read_choice(Reply(f"**{text}**").used_all(), options)


ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=300)
WORDS = (
    "A B C a b answer Answer: is not or and option I think wait so if , . ( ) <think> </think> { } : END ** wrong the"
)
PIECES = st.sampled_from([*WORDS.split(), "\n", '"answer"', "答案是", "是", "correct", FIVE[0], FIVE[1]])


@given(st.one_of(ANY_TEXT, st.lists(PIECES, max_size=25).map(" ".join), st.lists(PIECES, max_size=25).map("".join)))
def test_any_text_yields_an_option_or_none(text: str) -> None:
    for options in (FIVE, PAIR):
        assert read_choice(text, options) in {None, *string.ascii_uppercase[: len(options)]}


@settings(max_examples=50)
@given(
    st.permutations(range(len(FIVE))),
    st.integers(0, 4),
    st.sampled_from(["{}", "Answer: {}", "**{}.**", "I think {}", "<answer>{}</answer>"]),
)
def test_a_quoted_text_is_found_wherever_its_option_stands(order: list[int], chosen: int, form: str) -> None:
    options = [FIVE[index] for index in order]
    assert read_choice(form.format(FIVE[chosen]), options) == string.ascii_uppercase[order.index(chosen)]


@pytest.mark.slow
def test_a_megabyte_around_an_answer_does_not_hide_it_and_what_is_looked_at_is_bounded() -> None:
    assert read_choice(" \n" * 500_000 + "Answer: B", PAIR) == "B"
    assert read_choice("<think>" + "A or B? " * 120_000 + "</think>B", PAIR) == "B"
    assert read_choice("Some reasoning about a marble. " * 30_000 + "\nAnswer: B", PAIR) == "B"
    assert read_choice("It could be A.\n" * 1_300 + "Answer: B", PAIR) == "B"
    assert len(shorten("A or B. " * 200_000)) <= HEAD_CHARS + TAIL_CHARS + 3
    assert len(statements(tokenize("It is B.\n" * 5_000))) == 1_200
    assert fold("e" + "\u0301\u0316" * 500_000) == "~"


def test_the_number_of_context_words_looked_up_per_letter_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up = Counter[tuple[str, int]]()
    word = Mention.word

    def counting(mention: Mention, at: int) -> str:
        looked_up[piece, size] += 1
        return word(mention, at)

    monkeypatch.setattr(Mention, "word", counting)
    for piece in ("A ", "A or ", "(", "is ", "A, not ", "- A ", "so A, which ", "A fits the "):
        for size in (500, 1_000):
            statements(tokenize(piece * size))
        assert looked_up[piece, 1_000] <= 2.1 * looked_up[piece, 500] + 100, piece


TABLES = {name: value for name, value in vars(choice_letters).items() if isinstance(value, choice_letters.RuleTable)}
RULES = [
    pytest.param(name, index, id=f"{name}: {rule.example}")
    for name, table in TABLES.items()
    for index, rule in enumerate(table.rules)
]
WORDS_FILE = Path(choice_letters.__file__).with_name("words.json")


@pytest.mark.parametrize(("table", "index"), RULES)
def test_a_rule_decides_its_example(table: str, index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = list(TABLES[table].rules)
    verdicts: list[Any] = []

    def then(mention: choice_letters.Mention, at: int) -> Any:
        verdict = rule.then if isinstance(rule.then, str) else rule.then(mention, at)
        verdicts.append(verdict)
        return verdict

    rule, rules[index] = rules[index], replace(rules[index], then=then)
    monkeypatch.setattr(choice_letters, table, choice_letters.RuleTable(*rules))
    tokens = tokenize(rule.example)
    place = next(place for place, token in enumerate(tokens) if token.raw == "B")
    choice_letters.read_after(choice_letters.Mention(tokens, choice_letters.padded_words(tokens), place))
    # The rule for "option" is the only one that says more than its verdict.
    assert any(verdicts) or rule.words is choice_letters.words.OPTION


def test_every_role_of_the_words_is_used_and_every_used_one_is_there() -> None:
    known = {role for role in vars(Words(WORDS_FILE.name)) if role.isupper()}
    used = set()
    for module in WORDS_FILE.parent.glob("*.py"):
        used |= set(re.findall(r"\bwords\.([A-Z_]+)\b", module.read_text(encoding="utf-8")))
    data = WORDS_FILE.read_text(encoding="utf-8")
    combined = set(re.findall(r"[a-z_]+", data.partition('"combined"')[2]))
    assert used <= known
    assert known <= used | {role.upper() for role in combined}

"""What all readers look for in a text: plain characters, words, English, and what takes an answer back."""

from __future__ import annotations

import pytest

from lmms_eval_tasks.utils.answers.language import (
    both_ends,
    breaks_off,
    committed,
    fold,
    is_english,
    letter_ordinals,
    spell_out,
    takes_back,
    tokenize,
)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a\nb\tc\u00a0d\u3000e\x00f", "a\nb c d e f"),
        ("Ａ．ｂ ① ⑴ Ⓑ ﬁ", "A.b 1 (1) B fi"),
        ("🄰🄱 🅰 🅱 🄐 🅐 🇦🇿", "AB A B A A AZ"),
        ("café, naïve, é alone, E\u0301 too", "cafe, naive, ~ alone, ~ too"),
        ("‘It’s’ “B” „C” −1 ´x´", "'It's' \"B\" \"C\" -1 'x'"),
        ("zero\u200bwidth soft\u00adhyphen", "zerowidth softhyphen"),
        ("Α Β Ε А С ΑΒ", "A B E A C ΑΒ"),
        ("уеѕ Уеѕ nо ΝО нет", "yes Yes no NO нет"),
    ],
)
def test_characters_have_plain_forms(text: str, plain: str) -> None:
    assert fold(text) == plain


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("3-D A-E I'd e.g. p.m. U.S.A. C++", ["3-d", "a-e", "i'd", "e.g.", "p.m.", "u.s.a.", "c++"]),
        ("A...B..\nC.", ["a", "..", "b", "..", "\n", "c", "."]),
        ("l'option d'or, the dogs' l'a", ["option", "d'or", ",", "the", "dogs", "l'a"]),
        ("答案B है 25°C", ["答案", "b", "है", "25°c"]),
    ],
)
def test_a_text_is_split_into_words_marks_and_line_ends(text: str, words: list[str]) -> None:
    tokens = tokenize(text)
    assert [token.word for token in tokens] == words
    assert [text[token.start : token.end].removesuffix("'") for token in tokens] == [token.raw for token in tokens]


def test_of_very_many_parts_those_of_both_ends_are_looked_at() -> None:
    for number in (1, 1_200, 1_201, 5_000):
        found = both_ends(list(range(number)))
        whole = [*range(number)] if number <= 1_200 else [*range(300), *range(number - 900, number)]
        assert found == whole


@pytest.mark.parametrize(
    ("text", "known", "otherwise", "english"),
    [
        ("The ball is on the table.", (), False, True),
        ("The ball liegt auf einem sehr grossen runden Tisch mit Decke", (), False, False),
        ("Der Ball liegt auf dem Tisch", (), True, False),
        ("marble", (), False, False),
        ("marble", ("marble",), False, True),
        ("marble", (), True, True),
        ("No, marble", (), False, True),
        ("B", (), False, True),
        ("мяч", (), True, False),
    ],
)
def test_a_text_is_english_by_its_function_words(
    text: str, known: tuple[str, ...], otherwise: bool, english: bool
) -> None:
    assert is_english(text, known, otherwise) is english


def test_options_that_are_counted_in_words_are_named_by_their_letters() -> None:
    for word, letter in (
        ("first", "A"),
        ("second", "B"),
        ("third", "C"),
        ("fourth", "D"),
        ("fifth", "E"),
        ("last", "C"),
    ):
        for text in (f"the {word} option", f"The {word} answer candidate", f"{word} statement"):
            assert letter_ordinals(f"It is {text}.", 3) == f"It is option {letter}."
    for text in ("the first option is B", "the sixth option", "the first man"):
        assert letter_ordinals(text, 3) == text


LONG = "and that is what I said about the ball on the table "
"""52 characters."""


@pytest.mark.parametrize(
    ("behind", "taken"),
    [
        ("", False),
        (" Not really.", True),
        (" I changed my mind.", True),
        (" The ball is red. I changed my mind.", True),
        (f" The ball is red. {LONG}. I changed my mind.", True),
        (" The ball is red. Not really.", False),
        (" Wait.", True),
        (" Hmm, on second thought", True),
        (" The ball is red.", False),
        (" Not really, the ball is red.", True),
        (f" I changed my mind {LONG}.", False),
        (" The ball is red. " * 300 + "I changed my mind.", False),
    ],
)
def test_what_stands_behind_an_answer_may_take_it_back(behind: str, taken: bool) -> None:
    assert takes_back(behind) is taken


@pytest.mark.parametrize(
    ("text", "breaks"),
    [
        ("It is B. But the man also", True),
        ("It is B. The", False),
        ("But the man also", False),
        ("It is B. The man runs", False),
        ("It is B. The man runs,", True),
        ("It is B.", False),
    ],
)
def test_a_text_may_break_off_amid_a_sentence(text: str, breaks: bool) -> None:
    assert breaks_off(text) is breaks


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("It is B. The man runs. So the answer is A. He", "It is B. So the answer is A. "),
        ("  It is B. Wait, the answer is A.", "Wait, the answer is A."),
        ("A. red\nB. blue\nThe answer is B", "The answer is B"),
        ("A. red\nThe man runs", "A. "),
        ("", ""),
    ],
)
def test_of_a_text_that_was_cut_off_the_first_sentence_and_labels_commit_it(text: str, kept: str) -> None:
    assert committed(text) == kept


def test_a_contraction_is_spelled_out() -> None:
    """In one place, for the rewards and for the verdicts alike."""
    assert spell_out("he couldn't, can't and won't") == "he could not, can not and will not"
    assert spell_out("that's why they'd stop who'd know") == "that is why they would stop who would know"
    assert spell_out("the cook's knife") == "the cook's knife"

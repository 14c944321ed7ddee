"""What asks the same, and what entails what: questions and answers of sources, and the paper's own example."""

from __future__ import annotations

import pytest
from expected import Expected
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.construct.curation.candidates import no_answer_entails_the_other
from lmms_eval_tasks.construct.curation.meaning import ask_the_same, entails, join_questions, read_question
from lmms_eval_tasks.construct.engine.encoders import TFIDF, encode_texts, find_encoder

SAME, OTHER, VECTORS = True, False, None
QUESTIONS: list[tuple[bool | None, str, str]] = [
    (SAME, "What does the person do with the ball?", "What is the person doing with the ball?"),
    (SAME, "What did the person throw?", "What does the person throw?"),
    (SAME, "Where does the red ball go?", "The red ball: where does it go?"),
    (SAME, "Which ball falls?", "What ball falls in the video?"),
    (SAME, "Which ball doesn't fall?", "Which ball does not fall?"),
    (SAME, "What's the person's job?", "What is the person\N{RIGHT SINGLE QUOTATION MARK}s job?"),
    (SAME, "Which ball is rolling away?", "Which ball rolls away?"),
    # Negations.
    (OTHER, "Which box is red?", "Which box is not red?"),
    (OTHER, "What happens if the cube had been removed?", "What happens if the cube had not been removed?"),
    (OTHER, "Does anybody open the door?", "Does nobody open the door?"),
    (OTHER, "Could the ball fall with the net?", "Could the ball fall without the net?"),
    (OTHER, "Tombe-t-il du mur ?", "Ne tombe-t-il pas du mur ?"),
    (OTHER, "球会掉下来吗", "球不会掉下来吗"),
    # Exchanged names and sides, and who does it.
    (OTHER, "Is the green block left of the red block?", "Is the red block left of the green block?"),
    (OTHER, "Who follows the dog?", "Who does the dog follow?"),
    (OTHER, "Which ball hits?", "Which ball is hit?"),
    (OTHER, "Which ball is being hit while rolling?", "Which ball is hitting while rolling?"),
    (OTHER, "Where is it that the ball rolling is hit?", "Where is it that the ball rolling hits?"),
    (OTHER, "What happens before the cup falls?", "What happens after the cup falls?"),
    (OTHER, "Does the block go to the left of the red one?", "Does the block go to the right of the red one?"),
    (OTHER, "What is the first ball that moves?", "What is the last ball that moves?"),
    (OTHER, "Where is the ball?", "Where is the blue ball?"),
    (OTHER, "Are there 3 balls?", "Are there 4 balls?"),
    (OTHER, "Why does the kayak flip?", "Where does the kayak flip?"),
    # Vectors decide.
    (VECTORS, "Which way?", "Which way does it go?"),
    (VECTORS, "What does the person grasp?", "What does the person seize?"),
]


@pytest.mark.parametrize(("same", "one", "other"), QUESTIONS)
def test_whether_two_questions_ask_the_same(same: bool | None, one: str, other: str) -> None:
    first, second = read_question(one), read_question(other)
    assert ask_the_same(first, second, True) is ask_the_same(second, first, True) is same


def test_vectors_without_synonyms_take_no_word_for_another() -> None:
    first, second = (read_question(f"What hits the {shape}?") for shape in ("cylinder", "sphere"))
    assert (ask_the_same(first, second, True), ask_the_same(first, second, False)) == (None, False)
    # In a long question their cosine is above any threshold of use.
    asked = [
        f"What would the rubber cube do if the metal {shape} had been removed before it met the wall of the room?"
        for shape in ("cylinder", "sphere", "cylinder")
    ]
    texts = encode_texts([*asked, *map("Where does thing {} go?".format, "abcdefgh")], find_encoder(TFIDF))
    cosine = float(texts.similarities(asked[:1], asked[1:2])[0, 0])
    joined = join_questions([("k", one) for one in asked], texts.similarities, cosine - 0.1, synonyms=False)
    assert cosine > 0.7 and len(set(joined.values())) == 2
    assert len(set(join_questions([("k", one) for one in asked], texts.similarities, cosine - 0.1, True).values())) == 1


def test_questions_of_one_meaning_get_one_wording_within_a_scope() -> None:
    asked = [
        ("k", "Where does the red ball go?"),
        ("k", "The red ball: where does it go?"),
        ("k", "How many boxes are there?"),
        ("k", "Which way?"),
        ("k", "Which way does it go?"),
        ("l", "The red ball: where does it go?"),
    ]
    texts = encode_texts([question for _, question in asked], find_encoder(TFIDF))
    for least, way in ((0.5, asked[4][1]), (1.0, asked[3][1])):
        joined = join_questions(asked, texts.similarities, least, synonyms=False)
        wordings = [joined[one] for one in asked]
        assert wordings == [asked[1][1], asked[1][1], asked[2][1], way, asked[4][1], asked[5][1]]


# The general answer, and the one that entails it.
ENTAILED = [
    ("Move the blue cube towards the red heart", "Move the blue cube to the left of the red heart"),
    ("a ball", "a red ball"),
    ("It moves", "It moved to the left."),
    ("The cube and the ball", "the ball and the cube"),
    ("It breaks", "It falls and breaks"),
    ("She opens the door", "She opens the door slowly"),
    ("near the box", "on the box"),
]
EXCLUSIVE = [
    ("left", "right"),
    ("The green one is left of the red one", "The red one is left of the green one"),
    ("Towards the red heart", "Away from the red heart"),
    ("It hits the wall", "It does not hit the wall"),
    ("He catches the ball", "He fails to catch the ball"),
    ("two", "twenty two"),
    ("one", "more than one"),
    ("3", "3.5"),
    ("in the box", "in front of the box"),
    ("She sits, then drinks", "She drinks, then sits"),
    ("No, it could not", "Yes, it could"),
    ("It puts the ball into the box", "It takes the ball out of the box"),
]


def test_which_answers_exclude_each_other() -> None:
    for general, specific in ENTAILED:
        assert entails(specific, general), general
        assert not no_answer_entails_the_other("?", general, specific)
    for pair in EXCLUSIVE:
        assert no_answer_entails_the_other("?", *pair) and no_answer_entails_the_other("?", *pair[::-1]), pair
    assert not entails("a ball", "a red ball")


MORE_QUESTIONS = (
    "What can't it lift?", "What cannot it lift?", "Why won't he stop?", "Who doesn't see the girls' dog?",
    "What's on James' desk in this clip?", "Where's the cat shown in the video?", "What is in front of the house?",
    "What do they do?", "Do they do it?", "What does he do about it?", "Which is being seen running?", "Is it spring?",
    "How many balls, 3.5 or 1,000?", "Which of the children's toys is it that is red?", "He's where?",
    "Ｗｈａｔ ｆａｌｌｓ？", "Where did the geese fly before they were fed?", "球はどこに落ちますか",
    "Who isn’t there?",
)  # fmt: skip
MORE_ANSWERS = (
    "", "the", "and", "A and B", "B or A", "B", "red", "It is red.", "a red ball and a blue box", "a blue box",
    "He never moves", "He moves", "She first sits and then drinks", "2 balls", "balls", "two balls", "beside it",
    "The dogs barked", "the dog barks",
)  # fmt: skip


@pytest.mark.slow
def test_what_questions_ask_and_answers_entail(expected: Expected) -> None:
    questions = dict.fromkeys([*(one for row in QUESTIONS for one in row[1:]), *MORE_QUESTIONS])
    lines = []
    for question in questions:
        asking, content = read_question(question)
        lines.append(f"{question} {' '.join(asking) or '-'} | {' '.join(content) or '-'}")
    answers = dict.fromkeys([*(one for pair in (*ENTAILED, *EXCLUSIVE) for one in pair), *MORE_ANSWERS])
    entailed = {one: [other for other in answers if other != one and entails(one, other)] for one in answers}
    lines += [f"{one or '-'} > {'; '.join(found)}" for one, found in entailed.items() if found]
    expected("\n".join(lines))


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_texts_are_read(one: str, other: str) -> None:
    first, second = read_question(one), read_question(other)
    assert ask_the_same(first, first, True) is True
    assert ask_the_same(first, second, False) in (True, False, None)
    assert entails(one, other) in (True, False)

"""The form: what is written is read, what is not in it is a fault or no answer, and nothing is raised."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_tasks.train.rewards.answer_form import FormedAnswer, LinkClaim, format_reward, read_answer, write_answer

RIGHT = """<think>He opens it first.
<claims>
happened: C opens the tap
happened: C fills the cup
link: C opens the tap -> C fills the cup
no link: C hums a song -> C fills the cup
conclusion: no
</claims></think>
<answer>No. The cup would have stayed empty.</answer>"""
PHRASES = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"), exclude_characters="<>"), min_size=1).map(
    lambda text: " ".join(text.split())
).filter(bool)  # fmt: skip
TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="<>")).map(str.strip)
ANSWERS = st.builds(
    FormedAnswer,
    happened=st.lists(PHRASES, unique=True, max_size=6).map(tuple),
    links=st.lists(st.builds(LinkClaim, PHRASES, PHRASES, st.booleans()), unique=True, max_size=6).map(tuple),
    conclusions=st.lists(PHRASES, unique=True, max_size=2).map(tuple),
    answer=TEXTS,
    prose=TEXTS,
)


@given(ANSWERS)
@settings(max_examples=100)
def test_what_is_written_is_read(answer: FormedAnswer) -> None:
    assert read_answer(write_answer(answer)) == answer


def test_the_parts_of_an_answer() -> None:
    assert read_answer(RIGHT) == FormedAnswer(
        happened=("C opens the tap", "C fills the cup"),
        links=(
            LinkClaim("C opens the tap", "C fills the cup"),
            LinkClaim("C hums a song", "C fills the cup", holds=False),
        ),
        conclusions=("no",),
        answer="No. The cup would have stayed empty.",
        prose="He opens it first.",
    )
    assert format_reward(RIGHT) == 1.0


def test_a_line_is_a_claim_or_a_fault_in_any_spacing() -> None:
    for line in (
        "He opens the tap.", "- link: a -> b", "link: a", "link: a -> b -> c", "link: -> b", "link: a ->", "happened:",
        "happened: a -> b", "conclusion:", "links: a -> b", "link: a → b", "->", "because: a -> b",
    ):  # fmt: skip
        answer = read_answer(RIGHT.replace("conclusion:", f"{line}\nconclusion:"))
        assert answer is not None and answer.faults == 1 and len(answer.links) == 2, line
        assert format_reward(RIGHT.replace("conclusion:", f"{line}\nconclusion:")) == 0.0
    for old, new in (
        ("happened: C opens", "  HAPPENED :  C   opens"),
        ("link: C opens", "Link:C opens"),
        ("conclusion: no\n", "conclusion: no\n\n\n"),
        ("conclusion: no\n", "conclusion: no\nconclusion:  no\nhappened: C opens the tap\n"),
    ):
        assert old in RIGHT and read_answer(RIGHT.replace(old, new)) == read_answer(RIGHT)


OTHERS = (
    RIGHT + " And so it is.", "So: " + RIGHT, RIGHT + RIGHT,
    *(RIGHT.replace(tag, "") for tag in ("<think>", "</think>", "<claims>", "</claims>", "</answer>")),
    RIGHT.replace("</claims></think>", "</think></claims>"),
    RIGHT.replace("happened: C opens", "<claims>\nhappened: C opens"),
    RIGHT.replace("</claims></think>", "</claims> So no.</think>"), RIGHT.replace("No. The", "No. <answer>The"),
    "<think>x</think><answer>No</answer>", "", " ", None, 3, b"No", [RIGHT],
)  # fmt: skip


def test_another_form_is_no_answer() -> None:
    assert [(read_answer(other), format_reward(other)) for other in OTHERS] == [(None, 0.0)] * len(OTHERS)


def test_the_format_wants_a_claim_one_conclusion_and_an_answer_that_begins_with_yes_or_no() -> None:
    for old, new in (
        ("conclusion: no\n", ""),
        ("conclusion: no\n", "conclusion: no\nconclusion: yes\n"),
        ("conclusion: no", "conclusion: perhaps"),
        ("<answer>No.", "<answer>"),
        ("<answer>No.", "<answer>Nobody."),
    ):
        assert format_reward(RIGHT.replace(old, new)) == 0.0
    assert format_reward("<think><claims>\nconclusion: no\n</claims></think><answer>No.</answer>") == 0.0


def test_what_could_not_be_read_again_is_not_written() -> None:
    for answer in (
        FormedAnswer(happened=("a\nb",)),
        FormedAnswer(happened=("a -> b",)),
        FormedAnswer(links=(LinkClaim("a", ""),)),
        FormedAnswer(answer="</answer>"),
        FormedAnswer(prose="<claims>"),
        FormedAnswer(happened=("a", "a")),
        FormedAnswer(faults=1),
    ):
        with pytest.raises(ValueError, match="Expected claims of one line each"):
            write_answer(answer)

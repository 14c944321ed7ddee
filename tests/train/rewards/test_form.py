"""The form: what is written is read, what is not in it is a fault or no answer, and nothing is raised."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_tasks.train.rewards.answer_form import (
    FormedAnswer,
    LinkClaim,
    answered_verdict,
    format_reward,
    read_answer,
    verdict_of,
    write_answer,
)

RIGHT = """<think>He opens it first.
<claims>
happened: C opens the tap
happened: C fills the cup
link: C opens the tap -> C fills the cup
no link: C hums a song -> C fills the cup
conclusion: no
</claims></think>
<answer>No.</answer>"""
PHRASES = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"), exclude_characters="<>"), min_size=1).map(
    lambda text: " ".join(text.split())
).filter(bool)  # fmt: skip
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="<>")).map(str.strip)
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
        answer="No.",
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
    RIGHT.replace("</claims></think>", "</claims> So no.</think>"), RIGHT.replace("<answer>No", "<answer><answer>No"),
    RIGHT.replace("He opens", "<ANSWER>Yes</ANSWER> He opens"),
    "<think>x</think><answer>No</answer>", "", " ",
)  # fmt: skip


def test_another_form_is_no_answer() -> None:
    assert [(read_answer(other), format_reward(other)) for other in OTHERS] == [(None, 0.0)] * len(OTHERS)


VERDICTS = {
    **dict.fromkeys(("yes", "Yes", "YES.", " yes. \n"), "yes"),
    **dict.fromkeys(("no", "No.", "nO"), "no"),
    **dict.fromkeys(
        (
            "", ".", "yes..", "yes .", "yes!", "yes?", "**yes**", "yes no", "yes, no", "no. yes", "yes\nno", "ja",
            "\u0443\u0435\u0455", "ye\u017f", "\uff4e\uff4f", "n\u00ba", "yes\u200b", "Nobody", "not",
            "No. Without it there is none.",
            "yes, said nobody", "No. I meant yes.", "Yes. That answer is incorrect.", "No, or rather yes.",
        ),
        None,
    ),
}  # fmt: skip


def test_a_verdict_is_one_word_and_any_more_is_none() -> None:
    assert {text: verdict_of(text) for text in VERDICTS} == VERDICTS
    tagged = {text: answered_verdict(f"<think>No, yes.</think><answer>{text}</answer>\n") for text in VERDICTS}
    assert tagged == VERDICTS
    for other in (
        "Yes.", "yes", "<answer>yes", "yes</answer>", "<answer>yes</answer>.", "<answer>yes</answer>" * 2,
        "<answer>no</answer> <answer>yes</answer>", "<answer>yes</answer> I meant no.", "<answer x>yes</answer>",
        "<ANSWER>no</ANSWER><answer>yes</answer>", "<answer><b>yes</b></answer>",
    ):  # fmt: skip
        assert answered_verdict(other) is None, other


def test_the_format_wants_a_claim_one_conclusion_and_an_answer_of_one_word() -> None:
    for old, new in (
        ("conclusion: no\n", ""),
        ("conclusion: no\n", "conclusion: no\nconclusion: yes\n"),
        ("conclusion: no", "conclusion: perhaps"),
        ("<answer>No.", "<answer>"),
        ("<answer>No.", "<answer>No. The cup stays empty."),
        ("conclusion: no", "conclusion: no, it is empty"),
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

import hashlib
from pathlib import Path

import pytest

import lmms_eval_tasks.prompts
from lmms_eval_tasks.mvp.card import CARD
from lmms_eval_tasks.mvp.hooks import doc_to_text, installed_official_prompt
from lmms_eval_tasks.mvp.prompt import official_prompt
from lmms_eval_tasks.utils.prompts import CHOICE, Prompt, choose_prompt, read_prompt

PROMPTS = sorted(path.stem for path in Path(lmms_eval_tasks.prompts.__path__[0]).glob("*.txt"))


@pytest.mark.parametrize("prompt_id", PROMPTS)
def test_every_prompt_can_be_read_and_has_both_fields(prompt_id: str) -> None:
    text = read_prompt(prompt_id).render(question="What {next}?", options="(A) it {falls}")
    assert "What {next}?" in text and "(A) it {falls}" in text


def test_an_unknown_prompt_names_those_there_are() -> None:
    with pytest.raises(KeyError, match=r"Expected a prompt id, one of .*mcq_letter.*, but got 'other'"):
        read_prompt("other")


def test_the_signature_moves_with_the_text() -> None:
    assert Prompt("a", "x").signature == f"a:{hashlib.sha256(b'x').hexdigest()[:8]}"


def test_the_environment_wins_over_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Prompt("official", "theirs")
    assert choose_prompt({"prompt": "official"}, lambda: own) is own
    monkeypatch.setenv(CHOICE, "mcq_letter")
    assert choose_prompt({"prompt": "official"}, lambda: own) == read_prompt("mcq_letter")


def test_mvp_asks_with_the_text_that_lmms_eval_carries() -> None:
    prompt = installed_official_prompt()
    closing = prompt.text.split("{options}")[1]
    assert hashlib.sha256(closing.encode()).hexdigest() in CARD.prompt_sha256.values()
    text = doc_to_text({"question": "What?", "options": ["a", "b"]}, {"prompt": "official"})
    assert text == f"Question: What?\nOption:\n(A) a\n(B) b{closing}"


@pytest.mark.parametrize("template", [{}, {"lmms_eval_specific_kwargs": {"default": {"post_prompt": "Say A or B."}}}])
def test_another_text_is_not_taken_for_the_official_one(template: dict[str, object]) -> None:
    with pytest.raises(KeyError):
        official_prompt(template)

"""Prompts imported from a checkout whose script holds texts of our own."""

from __future__ import annotations

from pathlib import Path

import pytest
from intphys2_checkout import TEXTS, write_checkout

from lmms_eval_tasks.api import InputError
from lmms_eval_tasks.intphys2.prompt import OFFICIAL_PROMPTS, asks_for_digit, read_settings
from lmms_eval_tasks.prompting import imported, sha256

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return write_checkout(tmp_path)


def test_three_prompts_have_names_of_their_own(checkout: Path) -> None:
    OFFICIAL_PROMPTS.import_from(checkout, accept_other=True)
    names = [f"intphys2-other-{sha256(text)[:8]}" for text in TEXTS]
    assert sorted(names) == list(imported("intphys2"))
    for name, text in zip(names, TEXTS, strict=True):
        settings = read_settings({"prompt": "intphys2"}, {"LMMS_EVAL_TASKS_PROMPT": name})
        assert settings.prompt is not None
        assert settings.prompt.prompt_id == name and settings.prompt.render(question="What?") == text
        assert asks_for_digit(settings.prompt) == ("1 or 0" in text)


def test_a_task_finds_its_prompt_by_the_place_in_the_script(checkout: Path) -> None:
    with pytest.raises(InputError, match=r"official prompt 1 is not on this machine\. Run .*import .* --accept-other`"):
        read_settings({"prompt": "official_1"}, {})
    OFFICIAL_PROMPTS.import_from(checkout, accept_other=True)
    for number, text in enumerate(TEXTS):
        prompt = read_settings({"prompt": f"official_{number}"}, {}).prompt
        assert prompt is not None and prompt.render() == text
        # A copy of the same release changes nothing.
        OFFICIAL_PROMPTS.import_from(checkout, accept_other=True)
    with pytest.raises(InputError, match=r"Expected no LMMS_EVAL_TASKS_PROMPT .* here official_1, but got mcq_letter"):
        read_settings({"prompt": "official_1"}, {"LMMS_EVAL_TASKS_PROMPT": "mcq_letter"})


def test_texts_of_two_releases_are_not_chosen_between(checkout: Path) -> None:
    OFFICIAL_PROMPTS.import_from(checkout, accept_other=True)
    script = checkout / "IntPhys2_transformers.py"
    script.write_text(script.read_text(encoding="utf-8").replace("1 or 0", "0 or 1"), encoding="utf-8")
    OFFICIAL_PROMPTS.import_from(checkout, accept_other=True)
    with pytest.raises(InputError, match="Expected one text of IntPhys 2's official prompt 1, but intphys2-other-"):
        read_settings({"prompt": "official_1"}, {})
    assert read_settings({"prompt": "official_2"}, {}).prompt is not None


def test_a_text_without_a_digest_is_taken_only_when_asked(checkout: Path) -> None:
    with pytest.raises(InputError, match="--accept-other"):
        OFFICIAL_PROMPTS.import_from(checkout)
    assert not imported("intphys2")
    with pytest.raises(InputError, match="prompts import intphys2"):
        read_settings({}, {"LMMS_EVAL_TASKS_PROMPT": "official"})


@pytest.mark.parametrize("script", ["x = (", "PROMPT = 'possible'\n", ""])
def test_a_script_with_other_texts_is_refused(script: str, checkout: Path) -> None:
    (checkout / "IntPhys2_transformers.py").write_text(script, encoding="utf-8")
    with pytest.raises(InputError, match="Expected the official prompt 0, but found none"):
        OFFICIAL_PROMPTS.import_from(checkout, accept_other=True)


def test_ours_is_the_default_and_asks_the_question() -> None:
    prompt = read_settings({}, {}).prompt
    assert prompt is not None and prompt.prompt_id == "intphys2" and not asks_for_digit(prompt)
    assert prompt.fields == {"question"}

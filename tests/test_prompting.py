import hashlib
import re
from pathlib import Path

import pytest
from expected import Expected
from refusals import refusal
from task_states import new_state

from lmms_eval_tasks.host.tasks.foreign_views import NOTICE
from lmms_eval_tasks.host.tasks.task_view import DESCRIBE
from lmms_eval_tasks.mvp.benchmark import CARD, installed_official_prompt, official_prompt
from lmms_eval_tasks.prompting import check_choice, choose_prompt, prompt_ids, read_prompt
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.answers.hooks import Prompt
from lmms_eval_tasks.utils.core.text import PROMPT


def test_every_prompt_can_be_read() -> None:
    for prompt_id in prompt_ids():
        prompt = read_prompt(prompt_id)
        # What describes a clip, or stands in place of a question, asks nothing of its item.
        assert prompt.text and bool(prompt.fields) != (prompt_id in (DESCRIBE, NOTICE)), prompt_id


def test_a_prompt_that_is_unknown_or_does_not_suit_is_refused(
    monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    said = [refusal(read_prompt, "other")]
    for chosen in ("cast_bench_open", "cast_bench_judge", "official"):
        monkeypatch.setenv(PROMPT, chosen)
        said.append(refusal(choose_prompt, {}))
    monkeypatch.setenv(PROMPT, "oficial")
    # The same of every benchmark, but for those that have prompts of their own.
    said += sorted({refusal(check_choice, benchmark) for benchmark in registry().benchmarks})
    # Which prompts there are is no matter of this test.
    expected(re.sub(r"one of [\w, ]+, but", "one of …, but", "\n\n".join(said)))


def test_the_environment_wins_over_the_task_and_a_signature_moves_with_the_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = Prompt("official", "theirs {question} {options}")
    assert own.signature == f"official:{hashlib.sha256(own.text.encode()).hexdigest()[:8]}"
    assert choose_prompt({"prompt": "official"}, lambda name: own) is own
    monkeypatch.setenv(PROMPT, "mcq_letter")
    assert choose_prompt({"prompt": "official"}, lambda name: own) == read_prompt("mcq_letter")


def test_mvp_asks_with_the_text_that_lmms_eval_carries() -> None:
    prompt = installed_official_prompt()
    assert prompt.prompt_id == "official"
    closing = prompt.text.split("{options}")[1]
    assert hashlib.sha256(closing.encode()).hexdigest() in CARD.prompt_sha256.values()
    state = new_state("mvp_mini_intuitive_physics")
    text = state.doc_to_text({"question": "What?", "options": ["a", "b"], "asked": True}, {"prompt": "official"})
    assert text == f"Question: What?\nOption:\n(A) a\n(B) b{closing}"


def test_another_text_is_not_taken_for_the_official_one(tmp_path: Path) -> None:
    path, asks = tmp_path / "_default_template_yaml", "lmms_eval_specific_kwargs: {default: {post_prompt: %s}}"
    for template in ("", "task: mvp", asks % "Say A or B.", asks % "5", asks % "!!python/object/apply:os.getcwd []"):
        path.write_text(template, encoding="utf-8")
        with pytest.raises((LookupError, ValueError)):
            official_prompt(path)

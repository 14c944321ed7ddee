import hashlib
from pathlib import Path

import pytest
from task_states import new_state

from lmms_eval_tasks.host.tasks.foreign_views import NOTICE
from lmms_eval_tasks.host.tasks.task_view import DESCRIBE
from lmms_eval_tasks.mvp.benchmark import CARD, installed_official_prompt, official_prompt
from lmms_eval_tasks.prompting import check_choice, choose_prompt, prompt_ids, read_prompt
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.answers.hooks import Prompt
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import PROMPT


def test_braces_in_a_question_stay_as_they_are() -> None:
    text = read_prompt("mcq_letter").render(question="What {next}?", options="(A) it {falls}")
    assert "What {next}?" in text and "(A) it {falls}" in text


@pytest.mark.parametrize("prompt_id", prompt_ids())
def test_every_prompt_can_be_read(prompt_id: str) -> None:
    prompt = read_prompt(prompt_id)
    # What describes a clip, or stands in place of a question, asks nothing of its item.
    assert prompt.text and bool(prompt.fields) != (prompt_id in (DESCRIBE, NOTICE))


def test_a_prompt_that_would_leave_the_options_out_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for chosen, fields in (("cast_bench_open", "question"), ("cast_bench_judge", "case")):
        monkeypatch.setenv(PROMPT, chosen)
        with pytest.raises(InputError) as caught:
            choose_prompt({})
        before, after = str(caught.value).split(", but got ")
        assert before.startswith("Expected a prompt with question and options, one of cast_bench_evidence, clip_direct")
        assert {"mcq_letter"} <= set(before.split(", ")) and "countervqa" not in before
        assert after == (
            f"'{chosen}', which has {fields}. A run of several tasks can only have a LMMS_EVAL_TASKS_PROMPT that suits "
            "all of them."
        )


def test_an_unknown_prompt_names_those_there_are() -> None:
    with pytest.raises(InputError, match=r"Expected a prompt id, one of .*mcq_letter.*, but got 'other'"):
        read_prompt("other")


def test_the_signature_moves_with_the_text() -> None:
    assert Prompt("a", "x").signature == f"a:{hashlib.sha256(b'x').hexdigest()[:8]}"


def test_the_environment_wins_over_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Prompt("official", "theirs {question} {options}")
    assert choose_prompt({"prompt": "official"}, lambda name: own) is own
    monkeypatch.setenv(PROMPT, "mcq_letter")
    assert choose_prompt({"prompt": "official"}, lambda name: own) == read_prompt("mcq_letter")


def test_a_benchmark_without_its_official_prompt_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROMPT, "official")
    with pytest.raises(InputError, match="one of the tasks has no official prompt"):
        choose_prompt({})


@pytest.mark.parametrize("benchmark", registry().benchmarks)
def test_a_misspelt_choice_is_refused(benchmark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROMPT, "oficial")
    with pytest.raises(InputError, match=r"one of .*mcq_letter.*, but got 'oficial'"):
        check_choice(benchmark)


def test_mvp_asks_with_the_text_that_lmms_eval_carries() -> None:
    prompt = installed_official_prompt()
    assert prompt.prompt_id == "official"
    closing = prompt.text.split("{options}")[1]
    assert hashlib.sha256(closing.encode()).hexdigest() in CARD.prompt_sha256.values()
    state = new_state("mvp_mini_intuitive_physics")
    text = state.doc_to_text({"question": "What?", "options": ["a", "b"], "asked": True}, {"prompt": "official"})
    assert text == f"Question: What?\nOption:\n(A) a\n(B) b{closing}"


@pytest.mark.parametrize(
    "template",
    [
        "",
        "task: mvp",
        "lmms_eval_specific_kwargs: {default: {post_prompt: Say A or B.}}",
        "lmms_eval_specific_kwargs: {default: {post_prompt: 5}}",
        "lmms_eval_specific_kwargs: {default: {post_prompt: !!python/object/apply:os.getcwd []}}",
    ],
)
def test_another_text_is_not_taken_for_the_official_one(template: str, tmp_path: Path) -> None:
    path = tmp_path / "_default_template_yaml"
    path.write_text(template, encoding="utf-8")
    with pytest.raises((LookupError, ValueError)):
        official_prompt(path)

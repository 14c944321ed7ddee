"""Prompts: the shipped ones, how one is chosen, and official ones from checkouts that hold texts of our own."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from commands import Done, call, printed
from expected import Expected
from oracles import oracle_path
from refusals import refusal
from task_states import new_state

from lmms_eval_tasks.cast_bench.hooks import normal_form
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.mvp.benchmark import CARD, OURS, official_prompt
from lmms_eval_tasks.prompting import (
    OfficialPrompt,
    check_choice,
    choose_prompt,
    prompt_ids,
    prompt_reader,
    read_prompt,
    sha256,
)
from lmms_eval_tasks.registry import find_benchmark, read_card, registry
from lmms_eval_tasks.utils.answers.hooks import OPTIONS_PROMPT, Prompt
from lmms_eval_tasks.utils.benchmark.views import CAPTIONED, DESCRIBE, NOTICE
from lmms_eval_tasks.utils.core.text import PROMPT
from lmms_eval_tasks.yocausal.labelling import Causality, OfficialCausality, labelling_prompt


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


def test_a_benchmarks_own_prompt_may_ask_with_fewer_fields_and_never_with_others() -> None:
    own = {"official": "{question}", "plain": "Answer.", "another": "{question} {goal}"}
    read = prompt_reader(lambda name: Prompt(name, own[name]), default="mcq_letter")
    prompts = [read({"prompt": name}, {}).prompt for name in ("official", "plain")]
    assert [prompt and prompt.text for prompt in prompts] == ["{question}", "Answer."]
    assert "Expected a prompt with question and options" in refusal(read, {"prompt": "another"}, {})
    # One of this installation was not made for the task, and would leave the options out.
    assert "but got 'intphys2', which has question." in refusal(read, {"prompt": "intphys2"}, {})


def test_the_environment_wins_over_the_task_and_a_signature_moves_with_the_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = Prompt("official", "theirs {question} {options}")
    assert own.signature == f"official:{hashlib.sha256(own.text.encode()).hexdigest()[:8]}"
    assert choose_prompt({"prompt": "official"}, lambda name: own) is own
    monkeypatch.setenv(PROMPT, "mcq_letter")
    assert choose_prompt({"prompt": "official"}, lambda name: own) == read_prompt("mcq_letter")


def test_mvp_asks_with_the_text_that_lmms_eval_carries() -> None:
    prompt = official_prompt()
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
        official_prompt.cache_clear()
        assert official_prompt(path) == read_prompt(OURS)


CLOSING = "Say one letter, {A} to {E}.\n"
ASKED = 'Look.\n\nQuestion: {question}\n\nOptions:\n{options}\n\nReply as {{"answer": "A"}}.'
TEMPLATE = ASKED.replace("{options}", "A: {first}\nB: {second}\nC: {third}")
FILES = {
    "causalvqa": ("tasks/_default_template_yaml", CLOSING),
    "cast_bench": ("inference/prompt.md", f"{TEMPLATE}\n"),
    "yocausal": ("VLM_labeling/prompt.txt", 'Is it causal? {"video_has_general_causality": true}\n'),
}
DOC: dict[str, Any] = {
    "question": "What fell?", "options": ["The cup.", "The ball.", "It."], "asked": True, "item_id": "q_0",
    "group_id": "q", "answer": "A", "type": "planning", "difficulty": "easy", "version": 0, "split": "debug",
    "clip": "debug/c.mp4", "category": "causal_explanation", "subtype": "why", "evidence": "[]",
    "width": None, "height": None, "option_kinds": None,
}  # fmt: skip


@pytest.fixture(autouse=True)
def wide(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of all three repositories at once."""
    texts = {
        "causalvqa": "lmms_eval_specific_kwargs:\n  default:\n    pre_prompt: Never asked.\n"
        f"    post_prompt: {json.dumps(CLOSING)}\ndoc_to_text: !function utils.doc_to_text\n",
        "cast_bench": FILES["cast_bench"][1],
        "yocausal": FILES["yocausal"][1],
    }
    for benchmark, (name, _) in FILES.items():
        path = tmp_path / "checkout" / name
        path.parent.mkdir(parents=True)
        path.write_text(texts[benchmark], encoding="utf-8")
    return tmp_path / "checkout"


def know(benchmark: str, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Let the card know the text's digest as the official one's."""
    source = find_benchmark(benchmark).official_prompt
    assert isinstance(source, OfficialPrompt)
    card = dataclasses.replace(read_card(benchmark), prompt_sha256={source.part: sha256(text)})
    known: Any = registry().benchmarks
    monkeypatch.setitem(known, benchmark, dataclasses.replace(find_benchmark(benchmark), card=card))


def imported(benchmark: str, source: str | Path, *options: str) -> Done:
    return call("prompts", "import", benchmark, "--from", source, *options)


def without_names(text: str) -> str:
    """Without the names of all prompts or benchmarks, which are no matter of these tests."""
    return re.sub(r"one of [\w, -]+, but", "one of …, but", text)


def listed(benchmark: str, prompt: str) -> list[str]:
    """A prompt's cells in a benchmark's table."""
    lines = printed("prompts", "list").splitlines()
    line = next(line for line in lines[lines.index(benchmark) :] if line.startswith(f"  {prompt} "))
    return re.split(r"\s{2,}", line.strip())


def asked(benchmark: str) -> tuple[str, str]:
    """What is asked of the example row, and the prompt that its record names."""
    state = new_state("causalvqa_debug_paired" if benchmark == "causalvqa" else "cast_bench")
    text = state.doc_to_text(DOC, {"prompt": "mcq_letter"})
    return text, state.process_results(DOC, ["A"])["record"]["fields"]["prompt"]


RENDERED = {
    "causalvqa": "Question:What fell?\nOption:\n(A) The cup.\n(B) The ball.\n(C) It.\nSay one letter, {A} to {E}.\n",
    "cast_bench": ASKED.format(question="What fell?", options="A: The cup.\nB: The ball.\nC: It."),
}


@pytest.mark.parametrize("benchmark", RENDERED)
def test_another_text_is_refused_or_kept_under_its_own_name_and_the_official_text_is_asked_with(
    benchmark: str, checkout: Path, home: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    name, text = FILES[benchmark]
    other = f"{benchmark}-other-{sha256(text)[:8]}"
    refused = imported(benchmark, checkout)
    assert refused.status == 1 and not (home / "prompts").exists()
    accepted = imported(benchmark, checkout, "--accept-other")
    assert accepted.status == 0
    assert listed(benchmark, "official") == ["official", "not on this machine"]
    assert listed(benchmark, other)[-1] == "no, another text"
    monkeypatch.setenv(PROMPT, other)
    assert asked(benchmark)[1].startswith(f"{other}:")
    monkeypatch.setenv(PROMPT, "official")
    opened = Evaluation(clips_needed=False).open_split
    said = [refusal(asked, benchmark), refusal(opened, {"benchmark": benchmark, "split": "debug"})]
    expected(without_names("\n".join([refused.err, accepted.out, *said])))
    path = home / "prompts" / benchmark / f"{other}.json"
    path.write_text(path.read_text(encoding="utf-8").replace("one letter", "a letter").replace("Look", "See"))
    assert listed(benchmark, other)[-1] == "altered since"

    know(benchmark, monkeypatch, text)
    status, out, _ = imported(benchmark, checkout)
    start = f"Imported {name} as official: the official text: its SHA-256 is the card's.\nIn records: official:"
    assert status == 0 and out.startswith(start)
    assert out.endswith("To ask with it: LMMS_EVAL_TASKS_PROMPT=official\n")
    shown, signature = asked(benchmark)
    assert shown == RENDERED[benchmark]
    assert re.fullmatch(r"official:[0-9a-f]{8}", signature) and f"In records: {signature}." in out
    prompt, digest, standing = listed(benchmark, "official")
    assert (prompt, standing) == ("official", "yes") and digest.startswith(signature.partition(":")[2])
    monkeypatch.delenv(PROMPT)
    ours, signature = asked(benchmark)
    assert signature.startswith("mcq_letter:") and ours != shown
    # What was imported under another card's digest is not called official any more.
    monkeypatch.setenv(PROMPT, "official")
    know(benchmark, monkeypatch, "a newer text")
    assert "'s prompt official any more" in refusal(asked, benchmark)


def test_the_official_labelling_prompt_is_known_by_its_files_digest(
    checkout: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert labelling_prompt("yocausal_causality")[1] is Causality
    assert "YoCausal's official prompt is not on this machine" in refusal(labelling_prompt, "official")
    digest = "be886599bd6ca6cb982f0a7d653737cde0626fc20ee6d83a69acd2b850bb8383"
    refused = imported("yocausal", checkout).err
    assert f"Expected the official labelling prompt with SHA-256 {digest}" in refused
    know("yocausal", monkeypatch, FILES["yocausal"][1])
    status, out, _ = imported("yocausal", checkout)
    assert status == 0
    assert out.startswith("Imported VLM_labeling/prompt.txt as official: the official text")
    assert out.endswith("To ask with it: yocausal label --prompt official\n")
    prompt, reply = labelling_prompt("official")
    assert prompt.signature.startswith("official:")
    assert prompt.render(frames="8", seconds="3.0", caption='"x"') == FILES["yocausal"][1].strip()
    assert reply is OfficialCausality
    assert reply.model_validate_json('{"video_has_general_causality": true, "why": "it falls"}', strict=True).verdict
    assert listed("yocausal", "official")[-1] == "yes"


def test_a_checkout_without_the_prompt_says_what_is_missing(tmp_path: Path, home: Path, expected: Expected) -> None:
    said = []
    for benchmark, (name, _) in FILES.items():
        path = tmp_path / name
        said += [imported(benchmark, tmp_path / "none"), imported(benchmark, tmp_path)]
        path.parent.mkdir(parents=True)
        odd = (b"", b"\xff", b"no field", b"{", b"a: !!python/object/apply:os.abort []")
        for content in odd[: 2 if benchmark == "yocausal" else None]:
            path.write_bytes(content)
            status, _, err = imported(benchmark, tmp_path, "--accept-other")
            assert status == 1 and f"  {path}: Expected the official " in err and ", but found none (" in err, content
    said += [imported(name, ".") for name in ("mvp", "nobody")]
    assert {done.status for done in said} == {1} and listed("mvp", "official")[-1] == "yes"
    expected(without_names("\n".join(done.err for done in said)))
    assert not (home / "prompts").exists()


@pytest.mark.usefixtures("hundred_columns")
def test_the_list_fits_a_hundred_columns_and_names_defaults(checkout: Path) -> None:
    imported("causalvqa", checkout, "--accept-other")
    lines = printed("prompts", "list").splitlines()
    assert max(map(len, lines)) <= 100
    assert listed("cast_bench", "cast_bench_open")[1:2] == ["cast_bench_open"]
    assert listed("yocausal", "yocausal_causality")[1] == "yocausal label"
    # Those of judges and views are no prompts of tasks.
    judges = {name for name in prompt_ids() if read_prompt(name).fields == {"case"}}
    views = {DESCRIBE, CAPTIONED, NOTICE, OPTIONS_PROMPT}
    assert set(prompt_ids()) - {line.split()[0] for line in lines if line.strip()} == judges | views
    assert "cast_bench_judge" in judges


def test_a_templates_fields_become_ours_and_what_is_no_such_template_is_refused() -> None:
    for template, ours in {
        "{question}\n{options}": "{question}\n{options}",
        "\nQ: {the_question}\nA) {a}\nB) {b}\n\n": "Q: {question}\n{options}",
        "{question}:\n(A) {o[0]}\n(B) {o[1]}\nSay {{x}}": "{question}:\n{options}\nSay {{x}}",
    }.items():
        assert normal_form(template) == ours
        assert Prompt("x", normal_form(template)).fields == {"question", "options"}
    for template in (
        "", "no field", "{question}", "{a}\n{b}", "{question}\n{question}\n{a}", "{question}\nA: {a}, B: {b}",
        "{question}\nA: {a}\nthen\nB: {b}", "{question", "{a}\n{question}\n{b}",
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"field|expected|brace|single"):
            normal_form(template)


def test_the_shipped_prompts_have_one_normal_form() -> None:
    shape = re.compile(r"((?:.|\n)*?\nQuestion: )[^\n]*(\n\nOptions:\n)(?:[A-F]:[^\n]*\n)+(\n(?:.|\n)*)")
    found = set()
    for path in oracle_path("cast_bench").glob("*_predictions.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            parts = shape.fullmatch(json.loads(line)["prompt"])
            assert parts is not None
            before, between, after = (Prompt.literal(part) for part in parts.groups())
            found.add(sha256(normal_form(f"{before}{{question}}{between}{{options}}\n{after}")))
    assert found == {"e7e2c9f908d8d2de4a47ff9cb9684022308a0820b81056c48180aace5af49cb0"}

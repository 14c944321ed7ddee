"""`train countervqa`: `cot` by a teacher, `sft`, `grpo` and `export` with a `swift` that trains nothing, and goals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from fake_swift import FakeSwift
from judge_server import Fail, JudgeServer, Say
from releases import write_clip
from task_states import task_state
from typer.testing import CliRunner, Result

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.construct.countervqa.questions import Phrasing
from lmms_eval_tasks.countervqa import hooks
from lmms_eval_tasks.countervqa.benchmark import prepare
from lmms_eval_tasks.countervqa.hooks import PROMPT
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.runs.run_card import read_trained_on
from lmms_eval_tasks.train.countervqa import commands as reinforcement
from lmms_eval_tasks.train.countervqa.rewards import REWARDS
from lmms_eval_tasks.train.countervqa.training_set import answer_items, read_reasoning, read_set, reward_items
from lmms_eval_tasks.train.rewards.reward_sample import read_sample
from lmms_eval_tasks.utils.answers.verdict import read_verdict
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.judge.client import LocalModel
from lmms_eval_tasks.utils.judge.replies import Case, Reply

GRAPH: dict[str, Any] = {
    "clip": "one.mp4",
    "task": "making tea",
    "actions": [
        {"id": "a1", "start": 2, "text": "opens the fridge"},
        {"id": "a2", "start": 6, "text": "takes out the milk"},
    ],
    "links": [{"cause": "a1", "effect": "a2"}],
}
QUESTION: dict[str, Any] = {
    "id": "q1", "clip": "one.mp4", "level": 1, "interaction": "H2O", "verdict": "no", "action": "a1", "outcome": "a2",
    "question": "Had C not opened the fridge, would C still have taken out the milk?",
    "explanation": "The milk is in the fridge.", "rule": "adjacent_linked",
}  # fmt: skip
ABSENT: dict[str, Any] = {
    **QUESTION, "id": "q2", "level": 3, "verdict": "yes", "action": None, "absent_action": "sneezes", "rule": "absent",
    "question": "Had C not sneezed, would C still have taken out the milk?", "explanation": "Yes, nobody sneezes.",
}  # fmt: skip


def write_set(folder: Path, frames: int = 8, questions: tuple[dict[str, Any], ...] = (QUESTION, ABSENT)) -> Path:
    write_clip(folder / "clips" / "one.mp4", frames)
    (folder / "graphs.jsonl").write_text(json.dumps(GRAPH) + "\n")
    (folder / "questions.jsonl").write_text("".join(json.dumps(question) + "\n" for question in questions))
    return folder


REASONED: dict[str, Any] = {
    "id": "q1", "clip": "one.mp4", "question": QUESTION["question"],
    "reasoning": "The fridge is opened, then the milk comes out of it.", "answer": "No. It would have stayed inside.",
}  # fmt: skip


@pytest.fixture
def swift(tmp_path: Path) -> FakeSwift:
    return FakeSwift(tmp_path / "env")


@pytest.fixture
def source(home: Path, tmp_path: Path) -> Path:
    return write_set(tmp_path / "set")


def train(swift: FakeSwift, source: Path, *words: str, command: str = "sft") -> Result:
    folders = ("--source", str(source), "--out", str(source.parent / "out"), "--env", str(swift.folder))
    return CliRunner().invoke(app, ["train", "countervqa", command, *folders, *words])


def said(ended: Result) -> str:
    """What a command that must succeed printed, on one line."""
    assert ended.exit_code == 0, ended.output
    return " ".join(ended.output.split())


def refusal(ended: Result, swift: FakeSwift, source: Path | None = None) -> str:
    """The same of a command that must refuse before anything is trained, and before its folder is made."""
    assert ended.exit_code == 1 and not swift.calls
    assert source is None or not (source.parent / "out").exists()
    return " ".join(ended.output.split())


def rows(source: Path, name: str = "sft") -> list[dict[str, Any]]:
    lines = (source.parent / "out" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_rows_ask_as_the_evaluation_does_and_answer_with_the_key(swift: FakeSwift, source: Path) -> None:
    assert "no clip was looked for" in said(train(swift, source, "--dry-run"))
    assert not swift.calls
    written = rows(source)
    for row, question in zip(written, (QUESTION, ABSENT), strict=True):
        asked, answered = row["messages"]
        assert asked == {
            "role": "user",
            "content": "<video>" + read_prompt(PROMPT).render(question=question["question"]),
        }
        assert row["videos"] == [str(source / "clips" / "one.mp4")]
        assert read_verdict(answered["content"], question["question"]) == question["verdict"]
    assert [row["messages"][1]["content"] for row in written] == [
        "No. The milk is in the fridge.", "Yes, nobody sneezes.",
    ]  # fmt: skip


def test_reasoning_of_a_teacher_is_trained_on_where_there_is_some(swift: FakeSwift, source: Path) -> None:
    for name, data in (
        ("cot.jsonl", {"questions.jsonl", "graphs.jsonl", "cot.jsonl"}),
        ("taught/questions.jsonl", {"set/questions.jsonl", "graphs.jsonl", "taught/questions.jsonl"}),
    ):
        file = source.parent / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(REASONED) + "\n")
        assert "1 of 2 questions, 1 clips" in said(train(swift, source, "--dry-run", "--reasoning", str(file)))
        (row,) = rows(source)
        answer = f"<think>{REASONED['reasoning']}</think>\n<answer>{REASONED['answer']}</answer>"
        assert row["messages"][1]["content"] == answer
        trained = read_trained_on(source.parent / "out")
        assert trained is not None and trained.stages[0].method == "sft on reasoning"
        assert set(trained.stages[0].data) == data, "files of one name are both named"
        shutil.rmtree(source.parent / "out")


def test_reasoning_about_other_questions_is_refused(swift: FakeSwift, source: Path) -> None:
    file = source.parent / "cot.jsonl"
    for change, message in (
        ({"id": "q9"}, "Expected a question of the set with its clip and text, but got `q9`"),
        ({"question": "Another?"}, "Expected a question of the set with its clip and text"),
        ({"reasoning": 3}, "reasoning"),
    ):
        file.write_text(json.dumps({**REASONED, **change}) + "\n")
        assert message in refusal(train(swift, source, "--reasoning", str(file)), swift)


def test_the_paper_s_settings_are_in_the_file_and_further_options_replace_them(swift: FakeSwift, source: Path) -> None:
    assert train(swift, source).exit_code == 0
    (call,) = swift.calls
    assert call["words"] == ["sft", "sft.yaml"] and call["folder"] == str(source.parent / "out")
    options = yaml.safe_load((source.parent / "out" / "sft.yaml").read_text(encoding="utf-8"))
    expected = {"tuner_type": "lora", "lora_rank": 16, "learning_rate": 5e-5, "num_train_epochs": 3}
    assert {name: options[name] for name in expected} == expected
    assert options["ENV"]["FPS_MAX_FRAMES"] == "512" and options["model"] == "Qwen/Qwen3-VL-8B-Instruct"
    shutil.rmtree(source.parent / "out")
    ended = train(swift, source, "--deepspeed", "zero2", "--lora_rank", "8", "--frames", "16")
    assert ended.exit_code == 0
    options = yaml.safe_load((source.parent / "out" / "sft.yaml").read_text(encoding="utf-8"))
    assert (options["deepspeed"], options["lora_rank"], options["ENV"]["FPS_MAX_FRAMES"]) == ("zero2", 8, "16")


def test_a_clip_that_is_tested_on_is_refused_under_any_name(swift: FakeSwift, source: Path) -> None:
    test = write_set(source.parent / "test", frames=12)
    shutil.copy(source / "clips" / "one.mp4", test / "clips" / "renamed.mp4")
    graphs = [GRAPH, {**GRAPH, "clip": "renamed.mp4"}]
    questions = [QUESTION, {**QUESTION, "id": "q7", "clip": "renamed.mp4"}]
    (test / "graphs.jsonl").write_text(as_lines(graphs))
    (test / "questions.jsonl").write_text(as_lines(questions))
    named = refusal(train(swift, source, "--test", str(test)), swift, source)
    prepare(test)
    for told in (named, refusal(train(swift, source), swift, source)):
        assert "1 of 1 are clips of" in told and "renamed.mp4" in told
    assert "1 of 1 are clips of" in refusal(grpo(swift, source, "--ablation", "grpo-only"), swift, source)


def test_other_clips_of_a_test_do_no_harm_and_missing_ones_are_named(swift: FakeSwift, source: Path) -> None:
    other = ({**QUESTION, "question": "Had C not opened the fridge, would C have drunk?"},)
    prepare(write_set(source.parent / "prepared", frames=12, questions=other))
    test = write_set(source.parent / "test", frames=10, questions=other)
    (test / "clips" / "one.mp4").unlink()
    ended = train(swift, source, "--dry-run", "--test", str(test))
    assert ended.exit_code == 0, ended.output
    output = " ".join(ended.output.split())
    assert "none is one of the 1 clips of CounterVQA, split test" in output
    assert "1 clips of" in output and "are not here, and only their names were looked for" in output
    trained = read_trained_on(source.parent / "out")
    assert trained is not None and trained.compared_with == ("CounterVQA, split test",)


def test_a_tested_question_about_a_clip_that_was_coded_anew_is_refused(swift: FakeSwift, source: Path) -> None:
    test = write_set(source.parent / "test", frames=12, questions=(QUESTION,))
    for _ in range(2):
        told = refusal(train(swift, source, "--test", str(test)), swift, source)
        assert "one.mp4 is one.mp4 of" in told and "with the same question" in told
        (test / "clips" / "one.mp4").unlink(missing_ok=True)


def test_another_clip_of_the_same_name_is_pointed_out_and_counts_in_every_test_that_has_it(
    swift: FakeSwift, source: Path
) -> None:
    test = write_set(source.parent / "test", frames=12, questions=({**ABSENT, "question": "Had C not sneezed?"},))
    second = test / "second.jsonl"
    second.write_text((test / "questions.jsonl").read_text())
    told = said(train(swift, source, "--dry-run", "--test", str(test), "--test", str(second)))
    assert "1 clips are called as clips of" in told and "one.mp4" in told
    trained = read_trained_on(source.parent / "out")
    assert trained is not None and trained.compared_with == (str(test), str(second))


def test_a_training_that_was_stopped_goes_on_from_its_last_whole_checkpoint(swift: FakeSwift, source: Path) -> None:
    swift.plan(step=2, steps=12, status=9)
    ended = train(swift, source)
    assert ended.exit_code == 1 and "failed with status 9" in ended.output
    checkpoints = source.parent / "out" / "checkpoints"
    shutil.copytree(checkpoints / "checkpoint-2", checkpoints / "checkpoint-10")
    # Killed as it was saved: its state is what comes last.
    shutil.copytree(checkpoints / "checkpoint-2", checkpoints / "checkpoint-11")
    (checkpoints / "checkpoint-11" / "trainer_state.json").write_text('{"global_st')
    swift.plan(step=12, steps=12)
    assert train(swift, source).exit_code == 0
    resume = ["--resume_from_checkpoint", str(checkpoints / "checkpoint-10")]
    assert swift.words[1:] == [["sft", "sft.yaml", *resume]]
    ended = train(swift, source)
    assert ended.exit_code == 0 and "All steps were made before" in ended.output and len(swift.calls) == 2


def test_a_folder_goes_on_with_its_own_training_alone(swift: FakeSwift, source: Path) -> None:
    swift.plan(step=2, steps=12)
    assert train(swift, source).exit_code == 0
    kept = rows(source)
    ended = train(swift, source, "--lora_rank", "8")
    assert ended.exit_code == 1 and "sft.yaml would change" in ended.output
    write_set(source, questions=(QUESTION,))
    ended = train(swift, source)
    assert ended.exit_code == 1 and "sft.jsonl would change" in ended.output
    assert rows(source) == kept and len(swift.calls) == 1
    assert not list((source.parent / "out").glob("*.new"))


def test_what_ms_swift_could_not_train_on_is_refused(swift: FakeSwift, source: Path) -> None:
    write_set(source, questions=({**QUESTION, "question": "Is <video> a clip?"},))
    assert "Expected none with <video>" in refusal(train(swift, source), swift, source)
    (write_set(source) / "clips" / "one.mp4").unlink()
    assert "there is no" in refusal(train(swift, source), swift, source)
    write_set(source)
    (swift.folder / "bin" / "swift").unlink()
    assert "make train-env" in refusal(train(swift, source), swift)


def export(swift: FakeSwift, source: Path) -> Result:
    words = ["train", "countervqa", "export", str(source.parent / "out"), "--out", str(source.parent / "weights")]
    return CliRunner().invoke(app, [*words, "--env", str(swift.folder)])


@pytest.mark.parametrize("weights", ["adapter_config.json", "model.safetensors"])
def test_weights_say_what_they_were_trained_on(swift: FakeSwift, source: Path, weights: str) -> None:
    swift.plan(step=3, steps=12, weights=weights)
    said(train(swift, source, "--dry-run"))
    assert "Expected the folder of a training with a checkpoint" in refusal(export(swift, source), swift)
    assert not (source.parent / "weights").exists()
    said(train(swift, source))
    ended = export(swift, source)
    assert ended.exit_code == 0, ended.output
    out = source.parent / "weights"
    trained = read_trained_on(out)
    assert trained is not None
    (stage,) = trained.stages
    assert (trained.base, stage.items, stage.clips) == ("Qwen/Qwen3-VL-8B-Instruct", 2, 1)
    assert "sft on answers on 2 questions about 1 clips" in trained.summary() and "3 of 12 steps" in trained.summary()
    if weights == "adapter_config.json":
        words = swift.words[-1]
        adapters = str(source.parent / "out" / "checkpoints" / "checkpoint-3")
        assert words[:5] == ["export", "--adapters", adapters, "--merge_lora", "true"]
        assert (out / "config.json").is_file()
    else:
        assert len(swift.calls) == 1 and sorted(path.name for path in out.iterdir()) == [weights, "trained_on.json"]
    again = export(swift, source)
    assert again.exit_code == 1 and "is not empty" in again.output


def test_a_training_of_trained_weights_names_both(swift: FakeSwift, source: Path) -> None:
    assert train(swift, source).exit_code == 0 and export(swift, source).exit_code == 0
    shutil.rmtree(source.parent / "out")
    ended = train(swift, source, "--model", str(source.parent / "weights"), "--dry-run")
    assert ended.exit_code == 0, ended.output
    trained = read_trained_on(source.parent / "out")
    assert trained is not None and trained.base == "Qwen/Qwen3-VL-8B-Instruct"
    assert [stage.steps for stage in trained.stages] == [3, None]


def trained(swift: FakeSwift, source: Path, *words: str) -> Path:
    """Weights that a first stage has exported."""
    assert train(swift, source, *words).exit_code == 0 and export(swift, source).exit_code == 0
    shutil.rmtree(source.parent / "out")
    return source.parent / "weights"


@pytest.fixture
def reasoning(source: Path) -> list[str]:
    file = source.parent / "cot.jsonl"
    file.write_text(json.dumps(REASONED) + "\n")
    return ["--reasoning", str(file)]


def grpo(swift: FakeSwift, source: Path, *words: str) -> Result:
    return train(swift, source, *words, command="grpo")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ablation", "before", "weights"),
    [
        ("full", "reasoning", {"causal": 0.5, "visual": 0.5, "verdict": 0.0}),
        ("standard-reward", "reasoning", {"verdict": 1.0, "causal": 0.0, "visual": 0.0}),
        ("no-distillation", "answers", {"causal": 0.5, "visual": 0.5, "verdict": 0.0}),
        ("grpo-only", "nothing", {"causal": 0.5, "visual": 0.5, "verdict": 0.0}),
    ],
)
def test_rows_of_table_3_are_configurations(
    swift: FakeSwift, source: Path, reasoning: list[str], ablation: str, before: str, weights: dict[str, float]
) -> None:
    words: list[str] = []
    if before != "nothing":
        words = ["--model", str(trained(swift, source, *(reasoning if before == "reasoning" else [])))]
    ended = grpo(swift, source, "--ablation", ablation, *words)
    assert ended.exit_code == 0, ended.output
    assert swift.words[-1] == ["rlhf", "grpo.yaml"]
    options = yaml.safe_load((source.parent / "out" / "grpo.yaml").read_text(encoding="utf-8"))
    expected = {
        "rlhf_type": "grpo", "num_generations": 4, "learning_rate": 1e-5, "temperature": 0.9, "num_train_epochs": 3,
        "lora_rank": 16,
    }  # fmt: skip
    assert {name: options[name] for name in expected} == expected
    assert dict(zip(options["reward_funcs"], options["reward_weights"], strict=True)) == weights
    assert set(weights) <= set(REWARDS)
    (plugin,) = options["external_plugins"]
    assert Path(plugin).is_file()
    written = read_trained_on(source.parent / "out")
    assert written is not None and written.stages[-1].method == f"grpo ({ablation})"


@pytest.mark.parametrize(
    ("ablation", "before"),
    [("full", "answers"), ("full", "nothing"), ("no-distillation", "reasoning"), ("grpo-only", "answers")],
)
def test_a_row_refuses_weights_of_another(
    swift: FakeSwift, source: Path, reasoning: list[str], ablation: str, before: str
) -> None:
    words: list[str] = []
    if before != "nothing":
        words = ["--model", str(trained(swift, source, *(reasoning if before == "reasoning" else [])))]
    calls = len(swift.calls)
    ended = grpo(swift, source, "--ablation", ablation, *words)
    assert ended.exit_code == 1 and f"for --ablation {ablation}" in ended.output and "Remedy" in ended.output
    assert len(swift.calls) == calls and not (source.parent / "out").exists()


def test_rows_and_weights_that_there_are_not_are_refused(swift: FakeSwift, source: Path) -> None:
    for ablation, words, message in (
        ("half", [], "Expected --ablation to be one of full"),
        ("grpo-only", ["--causal-weight", "0", "--visual-weight", "0"], "causal, visual, verdict have 0"),
        ("standard-reward", ["--causal-weight", "0.7"], "Expected no --causal-weight with --ablation standard-reward"),
        ("standard-reward", ["--visual-weight", "0.7"], "Expected no --visual-weight with --ablation standard-reward"),
        ("grpo-only", ["--reward", "causal=1"], "to name rewards beside causal, visual, verdict, but got causal"),
        ("grpo-only", ["--reward", "short=much"], "Expected --reward as NAME or NAME=WEIGHT, but got 'short=much'"),
        ("grpo-only", ["--reward", "short", "--reward", "short=2"], "Expected each --reward once, but got short again"),
        ("grpo-only", ["--plugin", "nowhere.py"], "Expected --plugin to name a Python file, but there is no"),
        ("grpo-only", ["--reward_funcs", "short"], "but got --reward_funcs, which this command writes itself"),
    ):
        assert message in refusal(grpo(swift, source, "--ablation", ablation, *words), swift, source)


def test_rewards_of_one_s_own_stand_beside_ours(swift: FakeSwift, source: Path) -> None:
    plugin = source.parent / "mine.py"
    plugin.write_text("# adds short to swift.rewards.orms")
    words = ["--plugin", str(plugin), "--reward", "short=0.2", "--reward", "format", "--causal-weight", "0.3"]
    ended = grpo(swift, source, "--ablation", "grpo-only", *words)
    assert ended.exit_code == 0, ended.output
    options = yaml.safe_load((source.parent / "out" / "grpo.yaml").read_text(encoding="utf-8"))
    weights = dict(zip(options["reward_funcs"], options["reward_weights"], strict=True))
    assert weights == {"causal": 0.3, "visual": 0.5, "verdict": 0.0, "short": 0.2, "format": 1.0}
    ours, own = options["external_plugins"]
    assert Path(ours).name == "swift_plugin.py" and own == str(plugin)
    trained = read_trained_on(source.parent / "out")
    assert trained is not None and trained.stages[0].method == "grpo (grpo-only) with short, format"
    assert "mine.py" in trained.stages[0].data


def test_the_rewards_read_the_rows_of_grpo(swift: FakeSwift, source: Path) -> None:
    assert grpo(swift, source, "--ablation", "grpo-only", "--dry-run").exit_code == 0
    # The first question is of the only two actions that its graph has a link between: `causal` is None there.
    _, row = rows(source, "grpo")
    assert [message["role"] for message in row["messages"]] == ["user"]
    assert "<claims>" in row["messages"][0]["content"] and Path(row["clip"]).name == "one.mp4"
    sample = read_sample(row)
    claims = (
        "<claims>\nhappened: opens the fridge\nhappened: takes out the milk\n"
        "link: opens the fridge -> takes out the milk\nconclusion: yes\n</claims>"
    )
    good = f"<think>{claims}</think><answer>Yes.</answer>"
    bad = good.replace("happened: opens the fridge", "happened: sneezes")
    for name in ("causal", "visual", "graph"):
        assert REWARDS[name](good, sample) == 1.0 and (REWARDS[name](bad, sample) or 0.0) < 0.5, name
    assert sample.absent == "sneezes" and REWARDS["verdict"]("Yes.", sample) == 1


def test_every_question_to_which_a_reward_applies_is_kept(swift: FakeSwift, source: Path, reasoning: list[str]) -> None:
    only, every = ["--ablation", "grpo-only"], "2 of 2 questions, 1 clips; L1: 1 of 1, L3: 1 of 1"
    without = [*only, "--visual-weight", "0"]
    weights = ["--model", str(trained(swift, source, *reasoning))]
    for words, kept in (
        (only, every),
        (["--ablation", "standard-reward", *weights], every),
        (without, "1 of 2 questions, 1 clips; L1: 0 of 1, L3: 1 of 1"),
        ([*without, "--reward", "format"], every),
    ):
        told = said(grpo(swift, source, *words, "--dry-run"))
        assert all(part in told for part in kept.split("; ")), told
        shutil.rmtree(source.parent / "out")


def test_a_set_to_which_no_reward_applies_is_refused(
    swift: FakeSwift, source: Path, reasoning: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_set(source, questions=(QUESTION,))
    ended = grpo(swift, source, "--ablation", "grpo-only", "--visual-weight", "0")
    assert ended.exit_code == 1 and "to which causal applies" in " ".join(ended.output.split())
    assert "give --visual-weight a weight" in " ".join(ended.output.split()) and not swift.calls
    monkeypatch.setattr(reinforcement, "reward_items", lambda questions, rewards: [])
    ended = grpo(swift, source, "--ablation", "grpo-only")
    assert "several links" in ended.output and "Remedy" not in ended.output
    ended = grpo(swift, source, "--ablation", "standard-reward", "--model", str(trained(swift, source, *reasoning)))
    assert "to which verdict applies, but it has none." in " ".join(ended.output.split())
    assert "several links" not in ended.output and "Remedy" not in ended.output


def test_curves_are_shown_when_a_training_ends_and_on_demand(swift: FakeSwift, source: Path) -> None:
    swift.plan(log=[{"loss": 2.0, "global_step/max_steps": "1/3"}, {"loss": 0.5, "global_step/max_steps": "2/3"}])
    ended = train(swift, source)
    assert ended.exit_code == 0 and "█▁" in ended.output
    picture = source.parent / "out" / "checkpoints" / "curves.png"
    assert picture.is_file()
    picture.unlink()
    shown = CliRunner().invoke(app, ["train", "countervqa", "curves", str(source.parent / "out")])
    assert shown.exit_code == 0 and "█▁" in shown.output and picture.is_file()
    none = CliRunner().invoke(app, ["train", "countervqa", "curves", str(source)])
    assert none.exit_code == 1 and "Expected the folder of a training that has logged a step" in none.output


CLAIMS = "<claims>\nlink: opens the fridge -> takes out the milk\nconclusion: no\n</claims>"
TAUGHT = f"The milk comes out of the open fridge.\n{CLAIMS}"
RIGHT = json.dumps({"reasoning": TAUGHT, "answer": "No. It would have stayed inside."})
WRONG = json.dumps({"reasoning": f"Nobody sneezes here, so it matters. {CLAIMS}", "answer": "No, nothing happens."})


def teach(prompt: str, before: int) -> Say | Fail:
    return Say(WRONG if "sneezed" in prompt else RIGHT)


def cot(server: JudgeServer, source: Path, *words: str) -> Result:
    teacher = f"model=m,provider=local,url={server.url},first_delay=0,requests=1,unreadable=1"
    folders = ["--source", str(source), "--out", str(source.parent / "cot")]
    return CliRunner().invoke(app, ["train", "countervqa", "cot", *folders, "--teacher", teacher, *words])


def test_reasoning_is_kept_where_the_verdict_is_right(source: Path) -> None:
    with JudgeServer(teach) as server:
        ended = cot(server, source, "--frames", "4")
    assert ended.exit_code == 0, ended.output
    assert "kept: 1 of 2 questions (50.0%)" in ended.output and "wrong verdict" in ended.output
    rows = read_reasoning(source.parent / "cot" / "cot.jsonl", read_set(source))
    assert set(rows) == {QUESTION["id"]} and rows["q1"].reasoning == TAUGHT
    facts = json.loads((source.parent / "cot" / "cot.json").read_text(encoding="utf-8"))
    assert (facts["share_kept"], facts["annotations"], facts["frames"]) == (0.5, True, 4)


def test_a_teacher_may_be_loaded_here(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Case] = []

    def say(self: LocalModel, case: Case) -> Reply:
        seen.append(case)
        return Reply(WRONG if "sneezed" in case.text else RIGHT, "m")

    monkeypatch.setattr(LocalModel, "reply", say)
    folders = ["--source", str(source), "--out", str(source.parent / "cot"), "--frames", "4"]
    teacher = ["--teacher", "model=m,provider=transformers"]
    ended = CliRunner().invoke(app, ["train", "countervqa", "cot", *folders, *teacher])
    assert ended.exit_code == 0 and "kept: 1 of 2 questions (50.0%)" in ended.output
    assert [len(case.images) for case in seen] == [4, 4]
    facts = json.loads((source.parent / "cot" / "cot.json").read_text(encoding="utf-8"))
    assert facts["teacher"]["server"] == "transformers"


def test_reasoning_that_could_not_be_rewarded_or_trained_on_is_not_kept(source: Path) -> None:
    form, tags = "not in the form", "tags of ms-swift in it"
    for reasoning, outcome in (
        ("It is in the fridge.", form),
        (f"It is in </think> the fridge. {CLAIMS}", form),
        (f"It is in <answer> the fridge. {CLAIMS}", form),
        (CLAIMS.replace("link:", "because:"), form),
        (CLAIMS.replace("conclusion: no\n", ""), form),
        (f"It is in <video> the fridge. {CLAIMS}", tags),
        (None, "No reasoning could be kept"),
    ):
        said = json.dumps({"reasoning": reasoning, "answer": "No. It would have stayed inside."})
        said = "I would rather not." if reasoning is None else said
        with JudgeServer(lambda prompt, before, said=said: Say(said)) as server:
            ended = cot(server, source, "--frames", "1")
        assert ended.exit_code == 1 and outcome in ended.output
        assert not (source.parent / "cot" / "cot.jsonl").exists()
        shutil.rmtree(source.parent / "cot", ignore_errors=True)


@pytest.mark.parametrize("annotations", [True, False])
def test_the_teacher_sees_frames_and_actions_and_never_the_key(source: Path, annotations: bool) -> None:
    with JudgeServer(teach) as server:
        cot(server, source, "--frames", "4", *([] if annotations else ["--without-annotations"]))
        bodies = server.bodies
    assert len(bodies) == 2
    for body in bodies:
        text, *images = body["messages"][-1]["content"]
        assert [image["type"] for image in images] == ["image_url"] * 4
        assert text["text"].count('"00:00"') == 4
        assert ("00:02 opens the fridge" in text["text"]) == annotations
        for question in (QUESTION, ABSENT):
            assert question["explanation"] not in text["text"]


def test_a_command_that_was_cut_short_pays_for_no_reply_twice(source: Path) -> None:
    def fail_once(prompt: str, before: int) -> Say | Fail:
        return Fail(500) if "sneezed" in prompt and before == 0 else teach(prompt, before)

    with JudgeServer(fail_once) as server:
        first = cot(server, source)
        assert "server error (500)" in first.output
        second = cot(server, source)
        assert "wrong verdict" in second.output
        assert sorted(server.asked.values()) == [1, 2]
        cot(server, source)
        assert sorted(server.asked.values()) == [1, 2]


def test_no_teacher_is_paid_for_a_clip_that_is_missing_or_tested_on(source: Path) -> None:
    prepare(source)
    with JudgeServer(teach) as server:
        ended = cot(server, source)
        assert ended.exit_code == 1 and "clips of CounterVQA, split test" in ended.output and not server.bodies
        (source / "clips" / "one.mp4").unlink()
        ended = cot(server, source)
        assert ended.exit_code == 1 and "one.mp4" in ended.output and not server.bodies


GOAL, NEVER = "making milk tea", "C salts the water."
ACTIONS = ("C boils the water.", "C pours the tea.", "C adds the milk.")
GOAL_GRAPH: dict[str, Any] = {
    "clip": "one.mp4",
    "task": "Milk tea",
    "goal": GOAL,
    "actions": [{"id": f"A{n}", "start": float(n), "text": text} for n, text in enumerate(ACTIONS)],
    "links": [{"cause": "A0", "effect": "A1"}],
}
ASKED, WHY = Phrasing(()).write("absent_goal", absent_action=NEVER, goal=GOAL)
GOAL_QUESTION: dict[str, Any] = {
    "id": "q1", "clip": "one.mp4", "level": 3, "interaction": "H2O", "verdict": "yes", "absent_action": NEVER,
    "question": ASKED, "explanation": WHY, "rule": "absent_goal",
}  # fmt: skip


RESPONSES = (
    ("Yes, the main goal would still have been reached.", "yes"),
    ("The milk tea would still have been made, as salt is never added.", "yes"),
    ("The main goal does not depend on it.", "yes"),
    ("No. Without salt the goal could not have been reached.", "no"),
    ("Making milk tea would not have been possible without it.", "no"),
)


def test_its_verdict_is_read_and_it_can_be_trained_on(home: Path, tmp_path: Path) -> None:
    source = tmp_path / "set"
    write_clip(source / "clips" / "one.mp4")
    (source / "questions.jsonl").write_text(as_lines([GOAL_QUESTION]), encoding="utf-8")
    (source / "graphs.jsonl").write_text(as_lines([GOAL_GRAPH]), encoding="utf-8")
    prepare(source)
    row = {**load_table("countervqa", "test")[0], "asked": True}
    assert (row["outcome"], row["action"]) == (GOAL, NEVER)
    for response, expected in RESPONSES:
        record = hooks.grade(row, response, task_state("countervqa")).record
        assert (record.answered, record.stratum["level"], record.stratum["rule"]) == (expected, "L3", "absent_goal")
        record = hooks.grade_probe(row, f"Happened: no\nAnswer: {response}", task_state("countervqa_probe")).record
        assert (record.fields["detected"], record.answered) == (True, expected)
    questions = read_set(source)
    assert answer_items(questions)[0].response == GOAL_QUESTION["explanation"]
    # Nothing of the graph leads to a goal, so that there is nothing that the causal reward could ask for.
    assert reward_items(questions, ["causal"]) == []
    for reward in ("visual", "graph", "verdict", "one_of_ms-swift"):
        (item,) = reward_items(questions, ["causal", reward])
        assert item.item_id == GOAL_QUESTION["id"]

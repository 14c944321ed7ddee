"""`train countervqa`: `cot` by a teacher, `sft`, `grpo` and `export` with a `swift` that trains nothing, and goals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import Done, call
from expected import Expected
from fake_swift import FakeSwift
from judge_server import Fail, JudgeServer, Say, in_turn
from releases import write_clip
from task_states import task_state

from lmms_eval_tasks.construct.countervqa.questions import Phrasing
from lmms_eval_tasks.countervqa import hooks
from lmms_eval_tasks.countervqa.benchmark import prepare
from lmms_eval_tasks.countervqa.hooks import PROMPT
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.runs.run_card import TrainedOn, read_trained_on
from lmms_eval_tasks.train.countervqa.rewards import REWARDS
from lmms_eval_tasks.train.countervqa.training_set import answer_items, read_reasoning, read_set, reward_items
from lmms_eval_tasks.train.rewards.reward_sample import read_sample
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.answers.verdict import read_verdict
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.data.prepare import Preparation
from lmms_eval_tasks.utils.judge.client import LocalModel
from lmms_eval_tasks.utils.judge.replies import Case, JudgeReply

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
REASONED: dict[str, Any] = {
    "id": "q1", "clip": "one.mp4", "question": QUESTION["question"],
    "reasoning": "The fridge is opened, then the milk comes out of it.", "answer": "No. It would have stayed inside.",
}  # fmt: skip


def write_set(
    folder: Path, frames: int = 8, questions: tuple[dict[str, Any], ...] = (QUESTION, ABSENT), graph: Any = GRAPH
) -> Path:
    write_clip(folder / "clips" / "one.mp4", frames)
    (folder / "graphs.jsonl").write_text(as_lines([graph]), encoding="utf-8")
    (folder / "questions.jsonl").write_text(as_lines(questions), encoding="utf-8")
    return folder


class Training:
    """Commands that train on a set, in an environment whose `swift` notes how it is called."""

    def __init__(self, folder: Path) -> None:
        self.swift = FakeSwift(folder / "env")
        self.source, self.out, self.weights = write_set(folder / "set"), folder / "out", folder / "weights"

    def call(self, stage: str, *words: object) -> Done:
        folders = ("--source", self.source, "--out", self.out, "--env", self.swift.folder)
        return call("train", "countervqa", stage, *folders, *words)

    def run(self, stage: str, *words: object) -> str:
        """What a command that must succeed printed."""
        done = self.call(stage, *words)
        assert done.status == 0, done
        return done.out

    def refusal(self, stage: str, *words: object) -> str:
        """The message of one that must refuse before anything is trained and before its folder is made."""
        calls = len(self.swift.calls)
        done = self.call(stage, *words)
        assert done.status == 1 and len(self.swift.calls) == calls and not self.out.exists(), done
        return done.err.strip()

    def export(self) -> Done:
        return call("train", "countervqa", "export", self.out, "--out", self.weights, "--env", self.swift.folder)

    def rows(self, stage: str = "sft") -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.out / f"{stage}.jsonl").read_text(encoding="utf-8").splitlines()]

    def options(self, stage: str = "sft") -> dict[str, Any]:
        options: dict[str, Any] = yaml.safe_load((self.out / f"{stage}.yaml").read_text(encoding="utf-8"))
        return options

    def trained_on(self, folder: Path | None = None) -> TrainedOn:
        trained = read_trained_on(folder or self.out)
        assert trained is not None
        return trained

    def reasoning(self, **changes: object) -> Path:
        """A file of a teacher's reasoning."""
        file = self.source.parent / "cot.jsonl"
        file.write_text(json.dumps({**REASONED, **changes}) + "\n")
        return file

    def first_stage(self, on: str) -> list[object]:
        """The option that names weights of a first stage on reasoning or answers; none for "nothing"."""
        if on == "nothing":
            return []
        self.run("sft", *(["--reasoning", self.reasoning()] if on == "reasoning" else []))
        assert self.export().status == 0
        shutil.rmtree(self.out)
        return ["--model", self.weights]


@pytest.fixture
def training(home: Path, tmp_path: Path) -> Training:
    return Training(tmp_path)


def test_rows_ask_as_the_evaluation_does_and_answer_with_the_key(training: Training) -> None:
    assert "no clip was looked for" in training.run("sft", "--dry-run")
    assert not training.swift.calls
    written = training.rows()
    for row, question in zip(written, (QUESTION, ABSENT), strict=True):
        asked, answered = row["messages"]
        content = "<video>" + read_prompt(PROMPT).render(question=question["question"])
        assert asked == {"role": "user", "content": content}
        assert row["videos"] == [str(training.source / "clips" / "one.mp4")]
        assert read_verdict(answered["content"], question["question"]) == question["verdict"]
    assert [row["messages"][1]["content"] for row in written] == [
        "No. The milk is in the fridge.", "Yes, nobody sneezes.",
    ]  # fmt: skip


def test_reasoning_of_a_teacher_is_trained_on_where_there_is_some(training: Training) -> None:
    taught = training.source.parent / "taught" / "questions.jsonl"
    taught.parent.mkdir()
    shutil.copy(training.reasoning(), taught)
    for file, data in (
        (training.reasoning(), {"questions.jsonl", "graphs.jsonl", "cot.jsonl"}),
        (taught, {"set/questions.jsonl", "graphs.jsonl", "taught/questions.jsonl"}),
    ):
        assert "1 of 2 questions, 1 clips" in training.run("sft", "--dry-run", "--reasoning", file)
        (row,) = training.rows()
        answer = f"<think>{REASONED['reasoning']}</think>\n<answer>{REASONED['answer']}</answer>"
        assert row["messages"][1]["content"] == answer
        (stage,) = training.trained_on().stages
        assert stage.method == "sft on reasoning" and set(stage.data) == data, "files of one name are both named"
        shutil.rmtree(training.out)


def test_the_paper_s_settings_are_in_the_file_and_further_options_replace_them(training: Training) -> None:
    training.run("sft")
    (made,) = training.swift.calls
    assert made["words"] == ["sft", "sft.yaml"] and made["folder"] == str(training.out)
    options = training.options()
    expected = {"tuner_type": "lora", "lora_rank": 16, "learning_rate": 5e-5, "num_train_epochs": 3}
    assert expected.items() <= options.items()
    assert options["ENV"]["FPS_MAX_FRAMES"] == "512" and options["model"] == "Qwen/Qwen3-VL-8B-Instruct"
    shutil.rmtree(training.out)
    training.run("sft", "--deepspeed", "zero2", "--lora_rank", "8", "--frames", "16")
    options = training.options()
    assert (options["deepspeed"], options["lora_rank"], options["ENV"]["FPS_MAX_FRAMES"]) == ("zero2", 8, "16")


def test_clips_and_questions_that_are_tested_on_are_refused(training: Training, expected: Expected) -> None:
    """Under any name, and where the clip was coded anew or is not there but the question is the same."""
    test = write_set(training.source.parent / "test", frames=12, questions=(QUESTION,))
    refused = [training.refusal("sft", "--test", test)]
    (test / "clips" / "one.mp4").unlink()
    refused += [training.refusal("sft", "--test", test)]
    write_set(test, frames=12)
    shutil.copy(training.source / "clips" / "one.mp4", test / "clips" / "renamed.mp4")
    (test / "graphs.jsonl").write_text(as_lines([GRAPH, {**GRAPH, "clip": "renamed.mp4"}]))
    (test / "questions.jsonl").write_text(as_lines([QUESTION, {**QUESTION, "id": "q7", "clip": "renamed.mp4"}]))
    refused += [training.refusal("sft", "--test", test)]
    prepare(Preparation(), test)
    refused += [training.refusal("sft"), training.refusal("grpo", "--ablation", "grpo-only")]
    expected("\n\n".join(refused))


def test_other_clips_of_a_test_do_no_harm(training: Training, expected: Expected) -> None:
    """Those that are missing, and others of the same name, are pointed out and count in every test that has them."""
    folder = training.source.parent
    other = ({**QUESTION, "question": "Had C not opened the fridge, would C have drunk?"},)
    test = write_set(folder / "test", frames=12, questions=({**ABSENT, "question": "Had C not sneezed?"},))
    second = test / "second.jsonl"
    second.write_text((test / "questions.jsonl").read_text())
    printed = [training.run("sft", "--dry-run", "--test", test, "--test", second)]
    assert training.trained_on().compared_with == (str(test), str(second))
    prepare(Preparation(), write_set(folder / "prepared", frames=12, questions=other))
    missing = write_set(folder / "missing", frames=10, questions=other)
    (missing / "clips" / "one.mp4").unlink()
    shutil.rmtree(training.out)
    printed += [training.run("sft", "--dry-run", "--test", missing)]
    assert training.trained_on().compared_with == ("CounterVQA, split test",)
    expected("\n".join(" ".join(one.split()) for one in printed))


def test_a_training_that_was_stopped_goes_on_from_its_last_whole_checkpoint(training: Training) -> None:
    training.swift.plan(step=2, steps=12, status=9)
    ended = training.call("sft")
    assert ended.status == 1 and "failed with status 9" in ended.err
    checkpoints = training.out / "checkpoints"
    shutil.copytree(checkpoints / "checkpoint-2", checkpoints / "checkpoint-10")
    # Killed as it was saved: its state is what comes last.
    shutil.copytree(checkpoints / "checkpoint-2", checkpoints / "checkpoint-11")
    (checkpoints / "checkpoint-11" / "trainer_state.json").write_text('{"global_st')
    kept = training.rows()
    # A folder goes on with its own training alone.
    assert "sft.yaml would change" in training.call("sft", "--lora_rank", "8").err
    write_set(training.source, questions=(QUESTION,))
    assert "sft.jsonl would change" in training.call("sft").err
    assert training.rows() == kept and len(training.swift.calls) == 1 and not list(training.out.glob("*.new"))
    write_set(training.source)
    training.swift.plan(step=12, steps=12)
    training.run("sft")
    resume = ["--resume_from_checkpoint", str(checkpoints / "checkpoint-10")]
    assert [made["words"] for made in training.swift.calls[1:]] == [["sft", "sft.yaml", *resume]]
    assert "All steps were made before" in training.run("sft") and len(training.swift.calls) == 2


def test_what_cannot_be_trained_on_is_refused(training: Training, expected: Expected) -> None:
    refused = [
        training.refusal("sft", "--reasoning", training.reasoning(**change))
        for change in ({"id": "q9"}, {"question": "Another?"}, {"reasoning": 3})
    ]
    for ablation, words in (
        ("half", []),
        ("grpo-only", ["--causal-weight", "0", "--visual-weight", "0"]),
        ("standard-reward", ["--causal-weight", "0.7"]),
        ("standard-reward", ["--visual-weight", "0.7"]),
        ("grpo-only", ["--reward", "causal=1"]),
        ("grpo-only", ["--reward", "short=much"]),
        ("grpo-only", ["--reward", "short", "--reward", "short=2"]),
        ("grpo-only", ["--plugin", training.source / "nowhere.py"]),
        ("grpo-only", ["--reward_funcs", "short"]),
    ):
        refused.append(training.refusal("grpo", "--ablation", ablation, *words))
    write_set(training.source, questions=({**QUESTION, "question": "Is <video> a clip?"},))
    refused.append(training.refusal("sft"))
    (write_set(training.source) / "clips" / "one.mp4").unlink()
    refused.append(training.refusal("sft"))
    write_set(training.source)
    (training.swift.folder / "bin" / "swift").unlink()
    refused.append(training.call("sft").err.strip())
    expected("\n\n".join(refused))


@pytest.mark.parametrize("weights", ["adapter_config.json", "model.safetensors"])
def test_weights_say_what_they_were_trained_on(training: Training, weights: str) -> None:
    training.swift.plan(step=3, steps=12, weights=weights)
    training.run("sft", "--dry-run")
    assert "Expected the folder of a training with a checkpoint" in training.export().err
    assert not training.weights.exists()
    training.run("sft")
    assert training.export().status == 0
    trained = training.trained_on(training.weights)
    (stage,) = trained.stages
    assert (trained.base, stage.items, stage.clips) == ("Qwen/Qwen3-VL-8B-Instruct", 2, 1)
    assert "sft on answers on 2 questions about 1 clips" in trained.summary() and "3 of 12 steps" in trained.summary()
    if weights == "adapter_config.json":
        words = training.swift.calls[-1]["words"]
        adapters = str(training.out / "checkpoints" / "checkpoint-3")
        assert words[:5] == ["export", "--adapters", adapters, "--merge_lora", "true"]
        assert (training.weights / "config.json").is_file()
    else:
        assert len(training.swift.calls) == 1
        assert sorted(path.name for path in training.weights.iterdir()) == [weights, "trained_on.json"]
    assert "is not empty" in training.export().err
    # A training of trained weights names both.
    shutil.rmtree(training.out)
    training.run("sft", "--model", training.weights, "--dry-run")
    both = training.trained_on()
    assert (both.base, [stage.steps for stage in both.stages]) == (trained.base, [3, None])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ablation", "before", "others", "weights"),
    [
        ("full", "reasoning", ["answers", "nothing"], {"causal": 0.5, "visual": 0.5, "verdict": 0.0}),
        ("standard-reward", "reasoning", [], {"verdict": 1.0, "causal": 0.0, "visual": 0.0}),
        ("no-distillation", "answers", ["reasoning"], {"causal": 0.5, "visual": 0.5, "verdict": 0.0}),
        ("grpo-only", "nothing", ["answers"], {"causal": 0.5, "visual": 0.5, "verdict": 0.0}),
    ],
)
def test_rows_of_table_3_are_configurations_that_refuse_the_weights_of_another(
    training: Training, ablation: str, before: str, others: list[str], weights: dict[str, float]
) -> None:
    for other in others:
        told = training.refusal("grpo", "--ablation", ablation, *training.first_stage(other))
        assert f"for --ablation {ablation}" in told and "Remedy" in told
        shutil.rmtree(training.weights, ignore_errors=True)
    training.run("grpo", "--ablation", ablation, *training.first_stage(before))
    assert training.swift.calls[-1]["words"] == ["rlhf", "grpo.yaml"]
    options = training.options("grpo")
    expected = {
        "rlhf_type": "grpo", "num_generations": 4, "learning_rate": 1e-5, "temperature": 0.9, "num_train_epochs": 3,
        "lora_rank": 16,
    }  # fmt: skip
    assert expected.items() <= options.items()
    assert dict(zip(options["reward_funcs"], options["reward_weights"], strict=True)) == weights
    assert set(weights) <= set(REWARDS)
    (plugin,) = options["external_plugins"]
    assert Path(plugin).is_file()
    assert training.trained_on().stages[-1].method == f"grpo ({ablation})"


def test_rewards_of_one_s_own_stand_beside_ours(training: Training) -> None:
    plugin = training.source.parent / "mine.py"
    plugin.write_text("# adds short to swift.rewards.orms")
    words = ["--plugin", plugin, "--reward", "short=0.2", "--reward", "format", "--causal-weight", "0.3"]
    training.run("grpo", "--ablation", "grpo-only", *words)
    options = training.options("grpo")
    weights = dict(zip(options["reward_funcs"], options["reward_weights"], strict=True))
    assert weights == {"causal": 0.3, "visual": 0.5, "verdict": 0.0, "short": 0.2, "format": 1.0}
    ours, own = options["external_plugins"]
    assert Path(ours).name == "swift_plugin.py" and own == str(plugin)
    (stage,) = training.trained_on().stages
    assert stage.method == "grpo (grpo-only) with short, format" and "mine.py" in stage.data


def test_the_rewards_read_the_rows_of_grpo(training: Training) -> None:
    training.run("grpo", "--ablation", "grpo-only", "--dry-run")
    short, row = training.rows("grpo")
    # The first question is of the only two actions that its graph has a link between: the verdict counts there.
    said = "<think><claims>happened: opens the fridge\nconclusion: {0}</claims></think><answer>{0}</answer>"
    assert [REWARDS["causal"](said.format(end), read_sample(short)) for end in ("no", "yes")] == [1.0, 0.0]
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
    assert sample.absent == "sneezes" and REWARDS["verdict"]("<answer>Yes.</answer>", sample) == 1


def test_every_question_to_which_a_reward_applies_is_kept(training: Training) -> None:
    only, every = ["--ablation", "grpo-only"], "2 of 2 questions, 1 clips; L1: 1 of 1, L3: 1 of 1"
    without = [*only, "--causal-weight", "0", "--visual-weight", "0", "--reward", "choice"]
    standard = ["--ablation", "standard-reward", *training.first_stage("reasoning")]
    for words in (only, standard, [*only, "--visual-weight", "0"], [*without, "--reward", "format"]):
        told = " ".join(training.run("grpo", *words, "--dry-run").split())
        assert all(part in told for part in every.split("; ")), told
        shutil.rmtree(training.out)
    # A set to which no reward applies is refused.
    told = training.refusal("grpo", *without)
    assert "to which choice applies, but it has none." in told


def test_a_dry_run_says_what_each_level_can_earn_with_either_verdict(training: Training, expected: Expected) -> None:
    # The arrow of the third action cannot be said in the form.
    later = [
        {"id": "a3", "start": 9, "text": "pours milk -> cup"},
        {"id": "a4", "start": 11, "text": "drinks the milk"},
    ]
    links = [*GRAPH["links"], {"cause": "a2", "effect": "a4"}]
    graph = {**GRAPH, "actions": [*GRAPH["actions"], *later], "links": links}
    path = {**QUESTION, "id": "q3", "level": 2, "outcome": "a4", "rule": "path"}
    unlinked = {**QUESTION, "id": "q4", "action": "a2", "outcome": "a3", "verdict": "yes", "rule": "adjacent_unlinked"}
    goal = {**ABSENT, "id": "q5", "outcome": None, "goal": "making milk tea", "rule": "absent_goal"}
    write_set(training.source, questions=(QUESTION, ABSENT, path, unlinked, goal), graph=graph)
    printed = []
    for words in (
        ["--ablation", "grpo-only"],
        ["--ablation", "standard-reward", *training.first_stage("reasoning")],
        ["--ablation", "grpo-only", "--causal-weight", "0", "--visual-weight", "0", "--reward", "graph"],
        ["--ablation", "grpo-only", "--reward", "short=0.2", "--reward", "format=0.1"],
    ):
        printed.append(training.run("grpo", *words, "--dry-run").partition("warning")[0])
        shutil.rmtree(training.out)
    expected("\n".join(printed))


@pytest.mark.slow
def test_curves_are_shown_when_a_training_ends_and_on_demand(training: Training) -> None:
    steps = [{"loss": 2.0, "global_step/max_steps": "1/3"}, {"loss": 0.5, "global_step/max_steps": "2/3"}]
    training.swift.plan(log=steps)
    assert "█▁" in training.run("sft")
    picture = training.out / "checkpoints" / "curves.png"
    picture.unlink()
    shown = call("train", "countervqa", "curves", training.out)
    assert shown.status == 0 and "█▁" in shown.out and picture.is_file()
    none = call("train", "countervqa", "curves", training.source)
    assert none.status == 1 and "Expected the folder of a training that has logged a step" in none.err


CLAIMS = "<claims>\nlink: opens the fridge -> takes out the milk\nconclusion: no\n</claims>"
TAUGHT = f"The milk comes out of the open fridge.\n{CLAIMS}"
RIGHT = json.dumps({"reasoning": TAUGHT, "answer": "No."})
WRONG = json.dumps({"reasoning": f"Nobody sneezes here, so it matters. {CLAIMS}", "answer": "no"})


def teach(prompt: str, before: int) -> Say | Fail:
    return Say(WRONG if "sneezed" in prompt else RIGHT)


def cot(training: Training, teacher: JudgeServer | str, *words: str) -> str:
    if isinstance(teacher, JudgeServer):
        teacher = f"model=m,provider=local,url={teacher.url},first_delay=0,requests=1,unreadable=1"
    folders = ("--source", training.source, "--out", training.source.parent / "cot")
    done = call("train", "countervqa", "cot", *folders, "--teacher", teacher, *words)
    return f"{done.out}{done.err}\nexit status {done.status}"


def test_reasoning_is_kept_where_the_verdict_is_right(training: Training, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Case] = []

    def say(self: LocalModel, case: Case) -> JudgeReply:
        seen.append(case)
        return JudgeReply(WRONG if "sneezed" in case.text else RIGHT, "m")

    monkeypatch.setattr(LocalModel, "reply", say)
    out = training.source.parent / "cot"
    with JudgeServer(teach) as server:
        # A server, or a model that is loaded here.
        for teacher in (server, "model=m,provider=transformers"):
            told = cot(training, teacher, "--frames", "4")
            assert "kept: 1 of 2 questions (50.0%)" in told and "wrong verdict" in told and "status 0" in told
            rows = read_reasoning(out / "cot.jsonl", read_set(training.source))
            assert set(rows) == {QUESTION["id"]} and rows["q1"].reasoning == TAUGHT
            facts = json.loads((out / "cot.json").read_text(encoding="utf-8"))
            assert (facts["share_kept"], facts["annotations"], facts["frames"]) == (0.5, True, 4)
            shutil.rmtree(out)
    assert facts["teacher"]["server"] == "transformers" and [len(case.images) for case in seen] == [4, 4]


@pytest.mark.slow
def test_reasoning_that_could_not_be_rewarded_or_trained_on_is_not_kept(training: Training) -> None:
    form, tags = "not in the form", "tags of ms-swift in it"
    for reasoning, outcome in (
        ("It is in the fridge.", form),
        (f"It is in </think> the fridge. {CLAIMS}", form),
        (f"It is in <answer> the fridge. {CLAIMS}", form),
        (CLAIMS.replace("link:", "because:"), form),
        (CLAIMS.replace("conclusion: no\n", ""), form),
        (f"It is in <video> the fridge. {CLAIMS}", tags),
        (TAUGHT, "no verdict"),
        (None, "No reasoning could be kept"),
    ):
        said = json.dumps({"reasoning": reasoning, "answer": "No"})
        said = "I would rather not." if reasoning is None else said
        said = said.replace('"No"', '"No. It would have stayed inside."') if outcome == "no verdict" else said
        with JudgeServer(in_turn([Say(said)])) as server:
            told = cot(training, server, "--frames", "1")
        assert "exit status 1" in told and outcome in told
        assert not (training.source.parent / "cot" / "cot.jsonl").exists()
        shutil.rmtree(training.source.parent / "cot", ignore_errors=True)


@pytest.mark.parametrize("annotations", [True, False])
def test_the_teacher_sees_frames_and_actions_and_never_the_key(training: Training, annotations: bool) -> None:
    with JudgeServer(teach) as server:
        cot(training, server, "--frames", "4", *([] if annotations else ["--without-annotations"]))
    assert len(server.bodies) == 2
    for body in server.bodies:
        text, *images = body["messages"][-1]["content"]
        assert [image["type"] for image in images] == ["image_url"] * 4
        assert text["text"].count('"00:00"') == 4
        assert ("00:02 opens the fridge" in text["text"]) == annotations
        assert not any(question["explanation"] in text["text"] for question in (QUESTION, ABSENT))


@pytest.mark.slow
def test_no_teacher_is_paid_twice_or_for_a_clip_that_is_missing_or_tested_on(training: Training) -> None:
    def fail_once(prompt: str, before: int) -> Say | Fail:
        return Fail(500) if "sneezed" in prompt and before == 0 else teach(prompt, before)

    with JudgeServer(fail_once) as server:
        assert "server error (500)" in cot(training, server)
        for _ in range(2):
            assert "wrong verdict" in cot(training, server)
            assert sorted(server.asked.values()) == [1, 2]
        server.bodies.clear()
        prepare(Preparation(), training.source)
        assert "clips of CounterVQA, split test" in cot(training, server)
        (training.source / "clips" / "one.mp4").unlink()
        assert "one.mp4" in cot(training, server) and not server.bodies


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


def test_a_question_about_a_goal_is_graded_and_can_be_trained_on(home: Path, tmp_path: Path) -> None:
    source = write_set(tmp_path / "set", questions=(GOAL_QUESTION,), graph=GOAL_GRAPH)
    prepare(Preparation(), source)
    row = load_table("countervqa", "test")[0]
    assert (row["outcome"], row["action"]) == (GOAL, NEVER)
    for response, expected in RESPONSES:
        record = hooks.grade(row, Reply(response), task_state("countervqa")).record
        assert (record.answered, record.stratum["level"], record.stratum["rule"]) == (expected, "L3", "absent_goal")
        reply = Reply(f"Happened: no\nAnswer: {response}")
        record = hooks.grade_probe(row, reply, task_state("countervqa_probe")).record
        assert (record.fields["detected"], record.answered) == (True, expected)
    questions = read_set(source)
    assert answer_items(questions)[0].response == GOAL_QUESTION["explanation"]
    assert reward_items(questions, ["choice"]) == []
    for reward in ("causal", "visual", "graph", "verdict", "one_of_ms-swift"):
        (item,) = reward_items(questions, ["choice", reward])
        assert item.item_id == GOAL_QUESTION["id"]

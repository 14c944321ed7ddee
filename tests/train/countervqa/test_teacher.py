"""`train countervqa cot`: what a teacher on loopback is shown, what is kept of it, and that it is asked once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from countervqa_training import ABSENT, QUESTION, write_set
from judge_server import Fail, JudgeServer, Say
from typer.testing import CliRunner, Result

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.countervqa.benchmark import prepare
from lmms_eval_tasks.train.countervqa.training_set import read_reasoning, read_set
from lmms_eval_tasks.utils.judge.client import LocalModel
from lmms_eval_tasks.utils.judge.replies import Case, Reply

CLAIMS = "<claims>\nlink: opens the fridge -> takes out the milk\nconclusion: no\n</claims>"
REASONING = f"The milk comes out of the open fridge.\n{CLAIMS}"
RIGHT = json.dumps({"reasoning": REASONING, "answer": "No. It would have stayed inside."})
WRONG = json.dumps({"reasoning": f"Nobody sneezes here, so it matters. {CLAIMS}", "answer": "No, nothing happens."})


def reply(prompt: str, before: int) -> Say | Fail:
    return Say(WRONG if "sneezed" in prompt else RIGHT)


def cot(server: JudgeServer, source: Path, *words: str) -> Result:
    teacher = f"model=m,provider=local,url={server.url},first_delay=0,requests=1,unreadable=1"
    folders = ["--source", str(source), "--out", str(source.parent / "cot")]
    return CliRunner().invoke(app, ["train", "countervqa", "cot", *folders, "--teacher", teacher, *words])


@pytest.fixture
def source(home: Path, tmp_path: Path) -> Path:
    return write_set(tmp_path / "set")


def test_reasoning_is_kept_where_the_verdict_is_right(source: Path) -> None:
    with JudgeServer(reply) as server:
        ended = cot(server, source, "--frames", "4")
    assert ended.exit_code == 0, ended.output
    assert "kept: 1 of 2 questions (50.0%)" in ended.output and "wrong verdict" in ended.output
    rows = read_reasoning(source.parent / "cot" / "cot.jsonl", read_set(source))
    assert set(rows) == {QUESTION["id"]} and rows["q1"].reasoning == REASONING
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
    with JudgeServer(reply) as server:
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
        return Fail(500) if "sneezed" in prompt and before == 0 else reply(prompt, before)

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
    with JudgeServer(reply) as server:
        ended = cot(server, source)
        assert ended.exit_code == 1 and "clips of CounterVQA, split test" in ended.output and not server.bodies
        (source / "clips" / "one.mp4").unlink()
        ended = cot(server, source)
        assert ended.exit_code == 1 and "one.mp4" in ended.output and not server.bodies

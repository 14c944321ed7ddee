"""CaST-Bench's free answers through the real command, graded by a judge on loopback."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from cast_bench import row, write_release
from host_run import HostRun, kill_host, run_host, start_host
from judge_server import MODEL, Action, Fail, Hold, JudgeServer, Say
from kept_answers import kept_lines
from open_judge import reply_to

from lmms_eval_tasks.cast_bench.benchmark import prepare
from lmms_eval_tasks.cast_bench.card import DIMENSIONS
from lmms_eval_tasks.finished.rescore import rescore
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.scoring.record import UnscoredReason

pytestmark = pytest.mark.host

TASK = "cast_bench_open"
ANSWERS = {
    "right": "Answer: Somebody threw it.",
    "malformed": "Answer: A hand threw it.",
    "failing": "Answer: It was thrown by a man.",
    "hopeless": "Answer: Because of the wind.",
    "silent": "",
}
GIVEN = {"right": (10, 8, 6, 4), "malformed": (9, 9, 9, 9), "failing": (2, 1, 1, 0)}


def prepared(home: Path, answers: Mapping[str, str] = ANSWERS) -> Path:
    """A data home with one question per answer, two to a clip."""
    rows = [row(question=f"Why {name}?", video=f"sav_{number // 2:06}.mp4") for number, name in enumerate(answers)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(home))
        prepare(str(write_release(home.parent / "release", rows)))
    return home


def responses(folder: Path, answers: Mapping[str, str]) -> Path:
    """What a model said to each question, as `replay` reads it."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"id": f"sav_{number // 2:06}_{number % 2 + 1}", "response": said}) + "\n"
        for number, said in enumerate(answers.values())
    ]
    (folder / "responses.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder / "responses.jsonl"


def name_in(prompt: str) -> str:
    return next(name for name in ANSWERS if f'"Why {name}?"' in prompt)


def script(prompt: str, before: int) -> Action:
    name = name_in(prompt)
    if name == "failing" and before == 0:
        return Fail(500)
    if name == "hopeless" or (name == "malformed" and before == 0):
        return Say("I would give it a nine.")
    return Say(reply_to(prompt, GIVEN[name]))


def judged_by(server: JudgeServer) -> dict[str, str]:
    options = f"model=asked,url={server.url},first_delay=0.01"
    return {"LMMS_EVAL_TASKS_JUDGE": options, "OPENAI_API_KEY": "any"}


def run_open(predictions: Path, home: Path, out: Path, env: dict[str, str], ranks: int = 1) -> HostRun:
    arguments = ["--model", "replay", "--model_args", f"predictions={predictions}", "--tasks", TASK]
    return run_host(*arguments, home=home, out=out, env=env, ranks=ranks)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("open") / "home")


@pytest.fixture(scope="module")
def unjudged(home: Path, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    """The responses of a model, logged by a run without a judge."""
    out = tmp_path_factory.mktemp("unjudged")
    return run_open(responses(out, ANSWERS), home, out / "run", {"LMMS_EVAL_TASKS_JUDGE": "none"})


def check_scores(run: HostRun) -> None:
    # The silent answer counts 0 everywhere; nothing readable was ever said about the hopeless one.
    total = [sum(GIVEN[name][part] for name in GIVEN) for part in range(len(DIMENSIONS))]
    expected = {
        "judge_score": sum(total) / 4 / 4,
        **{name: value / 4 for name, value in zip(DIMENSIONS, total, strict=True)},
        "judge_score_causal_explanation": sum(total) / 4 / 4,
        "n_scored": 4,
        "n_unscored": 1,
        "unscored_rate": 20,
        "unparsed_rate": 20,
    }
    scores = run.scores(TASK)
    assert {name: scores[name] for name in expected} == pytest.approx(expected)
    records = read_run(run.out).records[TASK]
    found = {record.item_id: record for record in records}
    by_name = dict(zip(ANSWERS, (found[item_id] for item_id in sorted(found)), strict=True))
    unreadable = "unreadable reply: no JSON from character 1 on"
    assert {name: (record.unscored_reason, record.detail) for name, record in by_name.items()} == {
        **dict.fromkeys(GIVEN, (None, "")),
        "hopeless": (UnscoredReason.JUDGE_FAILED, unreadable),
        "silent": (None, "no text"),
    }
    judge = {
        "model": MODEL,
        "prompt": read_prompt("cast_bench_judge").signature,
        "consistency_prompt": read_prompt("cast_bench_judge_consistency").signature,
    }
    assert [by_name[name].fields["judge"] for name in GIVEN] == [judge] * 3
    assert {record.fields["prompt"] for record in records} == {read_prompt("cast_bench_open").signature}


def test_without_a_judge_a_run_keeps_responses_and_has_no_scores(unjudged: HostRun) -> None:
    scores = unjudged.scores(TASK)
    assert {scores[name] for name in ("judge_score", *DIMENSIONS)} == {None}
    assert (scores["n_scored"], scores["n_unscored"], scores["unscored_rate"]) == (0, 5, 100)
    assert {record.why for record in read_run(unjudged.out).records[TASK]} == {"no judge"}
    for sample in unjudged.samples(TASK):
        assert sample["record"]["expected"] == sample["target"] == "It was thrown."
        assert "It was kicked." not in sample["input"]


def test_a_run_is_judged_later_never_paid_twice_and_scored_again_with_its_verdicts(
    unjudged: HostRun, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged_home = prepared(tmp_path / "data" / "home")
    with JudgeServer(script) as server:
        first = run_open(unjudged.out, judged_home, tmp_path / "first", judged_by(server), ranks=2)
        check_scores(first)
        asked = {name: sum(n for prompt, n in server.asked.items() if name_in(prompt) == name) for name in ANSWERS}
        assert asked == {"right": 2, "malformed": 4, "failing": 4, "hopeless": 6, "silent": 0}
        server.asked.clear()
        second = run_open(unjudged.out, judged_home, tmp_path / "second", judged_by(server))
        check_scores(second)
        # Only what was never answered readably is asked again.
        assert {name_in(prompt) for prompt in server.asked} == {"hopeless"}
        assert {body["model"] for body in server.bodies} == {"asked"}
        server.asked.clear()
        # A home without kept replies, a judge that could be asked, and then none named.
        monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(home))
        monkeypatch.setenv("HF_HOME", str(home.parent / "hf"))
        for name, value in judged_by(server).items():
            monkeypatch.setenv(name, value)
        again = [rescore(first.out, tmp_path / "one")]
        monkeypatch.delenv("LMMS_EVAL_TASKS_JUDGE")
        again += [rescore(first.out, tmp_path / "two"), rescore(unjudged.out, tmp_path / "three")]
        for rescored in again:
            assert rescored.scores > 10 and not rescored.changes and not any(rescored.items.values())
        assert not server.asked


MANY = {f"item {number:02}": f"Answer: Reason {number:02}." for number in range(16)}
BEFORE = 6


def test_a_run_killed_half_way_and_resumed_pays_for_no_reply_twice(tmp_path: Path) -> None:
    home = prepared(tmp_path / "data" / "home", MANY)
    said = responses(tmp_path, MANY)
    answered: set[str] = set()

    def answer(prompt: str, before: int) -> Action:
        return Say(reply_to(prompt, (5, 5, 5, 5)))

    def answer_some(prompt: str, before: int) -> Action:
        if len(answered) == BEFORE:
            return Hold()
        answered.add(prompt)
        return answer(prompt, before)

    arguments = ["--model", "replay", "--model_args", f"predictions={said}", "--tasks", TASK]
    with JudgeServer(answer_some) as server:
        run = start_host(*arguments, home=home, out=tmp_path / "killed", env=judged_by(server), ranks=2)
        try:
            # The rest waits for the server, which holds on; what arrived is kept by then.
            server.wait_until(lambda: server.paid.total() == BEFORE and server.asked.total() > BEFORE, timeout=300)
            deadline = time.monotonic() + 60
            while len(kept_lines(home / "judge_cache")) < BEFORE:
                assert run.poll() is None and time.monotonic() < deadline
                time.sleep(0.05)
        finally:
            kill_host(run)
        assert run.returncode < 0 and not list((tmp_path / "killed").rglob("*_results.json"))
        assert server.paid.total() == BEFORE
        server.script = answer
        resumed = run_open(said, home, tmp_path / "resumed", judged_by(server), ranks=2)
        scores = resumed.scores(TASK)
        assert (scores["n_scored"], scores["n_unscored"], scores["judge_score"]) == (len(MANY), 0, 5)
        server.wait_until(lambda: server.paid.total() >= 2 * len(MANY))
        assert len(server.paid) == 2 * len(MANY) and set(server.paid.values()) == {1}
        assert {server.asked[prompt] for prompt in answered} == {1}


def test_without_a_word_on_the_judge_no_model_is_loaded(unjudged: HostRun, home: Path, tmp_path: Path) -> None:
    run = run_open(unjudged.out, home, tmp_path, {}, ranks=2)
    assert run.status != 0
    message = (
        "CaST-Bench's free answers need a judge. The judge cannot be asked: 1 problem.\n"
        "  model: Expected the name of the judge's model but found none. Remedy: name it, for instance "
        "LMMS_EVAL_TASKS_JUDGE=model=NAME,url=http://localhost:8000/v1,max_tokens=4096, or set "
        "LMMS_EVAL_TASKS_JUDGE=none to run without a judge and judge later.\n"
    )
    assert run.output.count(message) == 1
    assert "Traceback" not in run.output.partition(message)[0]

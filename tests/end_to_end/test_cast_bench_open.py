"""CaST-Bench's free answers through the real command, graded by a judge on loopback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cast_bench import row, write_release
from host_run import HostRun, run_host
from judge_server import MODEL, Action, Fail, JudgeServer, Say
from open_judge import reply_to

from lmms_eval_tasks.cast_bench.benchmark import prepare
from lmms_eval_tasks.cast_bench.card import DIMENSIONS
from lmms_eval_tasks.finished.rescore import rescore
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.data.prepare import Preparation
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


def prepared(home: Path) -> Path:
    """A data home with one question per answer, two to a clip."""
    rows = [row(question=f"Why {name}?", video=f"sav_{number // 2:06}.mp4") for number, name in enumerate(ANSWERS)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(home))
        prepare(Preparation(), str(write_release(home.parent / "release", rows)))
    return home


def name_in(prompt: str) -> str:
    return next(name for name in ANSWERS if f'"Why {name}?"' in prompt)


def script(prompt: str, before: int) -> Action:
    name = name_in(prompt)
    if name == "failing" and before == 0:
        return Fail(500)
    if name == "hopeless" or (name == "malformed" and before == 0):
        return Say("I would give it a nine.")
    return Say(reply_to(prompt, GIVEN[name]))


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
    records = sorted(read_run(run.out).records[TASK], key=lambda record: record.item_id)
    by_name = dict(zip(ANSWERS, records, strict=True))
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


def test_a_run_without_a_judge_is_judged_later_never_paid_twice_and_scored_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, judged_home = (prepared(tmp_path / name / "home") for name in ("data", "judged"))
    responses = tmp_path / "responses.jsonl"
    lines = [
        {"id": f"sav_{place // 2:06}_{place % 2 + 1}", "response": ANSWERS[name]} for place, name in enumerate(ANSWERS)
    ]
    responses.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    def run(name: str, predictions: Path, home: Path, env: dict[str, str], ranks: int = 1) -> HostRun:
        replay = ["--model", "replay", "--model_args", f"predictions={predictions}", "--tasks", TASK]
        return run_host(*replay, home=home, out=tmp_path / name, env=env, ranks=ranks)

    unjudged = run("unjudged", responses, home, {"LMMS_EVAL_TASKS_JUDGE": "none"})
    scores = unjudged.scores(TASK)
    assert {scores[name] for name in ("judge_score", *DIMENSIONS)} == {None}
    assert (scores["n_scored"], scores["n_unscored"], scores["unscored_rate"]) == (0, 5, 100)
    assert {record.why for record in read_run(unjudged.out).records[TASK]} == {"no judge"}
    for sample in unjudged.samples(TASK):
        assert sample["record"]["expected"] == sample["target"] == "It was thrown."
        assert "It was kicked." not in sample["input"]

    with JudgeServer(script) as server:
        options = f"model=asked,url={server.url},first_delay=0.01"
        variables = {"LMMS_EVAL_TASKS_JUDGE": options, "OPENAI_API_KEY": "any"}
        first = run("first", unjudged.out, judged_home, variables, ranks=2)
        check_scores(first)
        asked = {name: sum(n for prompt, n in server.asked.items() if name_in(prompt) == name) for name in ANSWERS}
        assert asked == {"right": 2, "malformed": 4, "failing": 4, "hopeless": 6, "silent": 0}
        server.asked.clear()
        check_scores(run("second", unjudged.out, judged_home, variables))
        # Only what was never answered readably is asked again.
        assert {name_in(prompt) for prompt in server.asked} == {"hopeless"}
        assert {body["model"] for body in server.bodies} == {"asked"}
        server.asked.clear()
        # A home without kept replies, a judge that could be asked, and then none named.
        monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(home))
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        again = [rescore(first.out, tmp_path / "one")]
        monkeypatch.delenv("LMMS_EVAL_TASKS_JUDGE")
        again += [rescore(first.out, tmp_path / "two"), rescore(unjudged.out, tmp_path / "three")]
        for rescored in again:
            assert rescored.scores > 10 and not rescored.changes and not any(rescored.items.values())
        assert not server.asked

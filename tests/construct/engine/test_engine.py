"""A pipeline's run: what is asked, what is removed and why, the budget, and going on after a kill."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import random
import signal
import time
import weakref
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from expected import Expected
from judge_server import Action, Hold, JudgeServer, Say, nobody
from kept_answers import kept_lines
from played import MODEL, Asked, Played
from refusals import refusal
from stub_server import material_of

from lmms_eval_tasks.construct.engine import steps as asking
from lmms_eval_tasks.construct.engine.command import forecast_table, pipeline_command
from lmms_eval_tasks.construct.engine.config import BuildConfig, RoleSettings
from lmms_eval_tasks.construct.engine.running import Pipeline, RowOutcome, run_steps
from lmms_eval_tasks.construct.engine.steps import (
    AskedReply,
    Asking,
    Forecast,
    Form,
    Models,
    PipelineRow,
    ReadyStep,
    Remove,
    Removed,
    keep_each,
    step,
)
from lmms_eval_tasks.utils.answers.hooks import Prompt
from lmms_eval_tasks.utils.judge.client import UnreadableReply
from lmms_eval_tasks.utils.judge.replies import ServerError

# A small pipeline: numbers are described, the descriptions checked, and the even ones removed.

PROMPTS = {name: Prompt(name, f"{name}\n{{case}}") for name in ("describe", "check")}


@pytest.fixture(autouse=True)
def prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "read_prompt", PROMPTS.__getitem__)


class ToyConfig(BuildConfig):
    numbers: int = 6
    check: bool = True


class NumberRow(PipelineRow):
    number: int


class DescribedRow(NumberRow):
    text: str


class Description(Form):
    text: str


def read_end(text: str) -> str:
    if not text.endswith("END"):
        raise UnreadableReply("missing END: cut off")
    return text.removesuffix("END").strip()


@step("descriptions", asks=("writer",), requests=1, characters=400, reply_tokens=50, passes=0.5)
def describe(row: NumberRow, asking: Asking) -> DescribedRow:
    reply = asking.ask("writer", "describe", Description, images=(b"picture",), number=row.number)
    if not reply.text:
        raise Removed("an empty description", f"number {row.number}")
    return DescribedRow(id=row.id, number=row.number, text=reply.text)


@step("blind check", asks=("checker",), paper="61%", requests=1, characters=200, reply_tokens=10)
def check(row: DescribedRow, asking: Asking) -> DescribedRow:
    if asking.ask_text("checker", "check", read_end, text=row.text) != "good":
        raise Removed("answered without a look")
    return row


def refuse_even(row: DescribedRow) -> DescribedRow:
    if row.number % 2 == 0:
        raise Removed("even")
    return row


@step("odd numbers")
def odd(rows: Sequence[DescribedRow], remove: Remove) -> list[DescribedRow]:
    return keep_each(rows, remove, refuse_even)


def write(rows: Sequence[DescribedRow], folder: Path, config: ToyConfig) -> Sequence[str]:
    (folder / "set.json").write_text(json.dumps([row.number for row in rows]))
    return [] if config.check else ["Nothing was checked."]


PIPELINE = Pipeline(
    benchmark="toy",
    config=ToyConfig,
    read=lambda config: [NumberRow(id=f"n{number}", number=number) for number in range(config.numbers)],
    source_files=lambda config: [],
    steps=lambda config: [describe, *([check] if config.check else []), odd],
    write=write,
    first="numbers",
    paper="3,764",
)
build = pipeline_command(lambda: PIPELINE)


def configuration(folder: Path, model: dict[str, Any] | None = None, **values: Any) -> Path:
    """A configuration in which one model has all roles."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "toy.yaml"
    path.write_text(json.dumps({"roles": {"default": {**MODEL, "requests": 3, **(model or {})}}, **values}))
    return path


def described(asked: Asked) -> dict[str, str]:
    return {"text": f"the number {asked.given['number']}"}


def play(**says: Any) -> AbstractContextManager[Played]:
    """Describes every number, and finds every description good."""
    return Played({"describe": described, "check": "good END", **says}).at_work()


def files_of(folder: Path) -> dict[str, bytes]:
    """The bytes of all files of a build, but for locks; of its replies the lines, whichever file they are in."""
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".") and "replies" not in path.relative_to(folder).parts
    }
    return {**files, "replies": "\n".join(sorted(map(str, kept_lines(folder / "replies")))).encode()}


FAILURES = {
    3: ServerError("server error (500)", again=True),
    5: ServerError("no reply (closed)", again=True),
    6: ServerError("request refused (400)", again=False),
    8: ServerError("timed out", again=True),
}


def faulty(asked: Asked) -> Any:
    """A fault of each kind, by number; that of 1, 3 and 5 passes."""
    number, good = asked.given["number"], described(asked)
    if asked.before and number in (1, 3, 5):
        return good
    replies = {0: '{"text": "cut', 1: '{"text": "cut', 2: "I'm sorry, I can't describe that.", 4: {"txt": "other"}}
    return {**replies, **FAILURES, 10: {"text": ""}}.get(number, good)


@pytest.mark.slow
def test_every_fault_is_named_and_a_second_build_asks_only_what_no_server_answered(
    tmp_path: Path, expected: Expected
) -> None:
    out, config = tmp_path / "out", configuration(tmp_path, numbers=14)
    words = {"the number 9": "good", "the number 11": "bad END"}
    with play(describe=faulty, check=lambda asked: words.get(asked.given["text"], "good END")) as played:
        built = build(config, out)
        before, asked = files_of(out), len(played.asked)
        again = build(config, out)
        # What was refused once, and what was held back three times.
        assert len(played.asked) == asked + 1 + 3
    expected("\n".join([*map(" | ".join, built.tables[0].rows), built.summary, *built.warnings, again.summary]))
    assert files_of(out) == before
    assert built.folder == out / "release" and built.attrition is not None
    assert [(step.left, step.removed.get("even")) for step in built.attrition.steps] == [(8, None), (6, None), (5, 1)]
    assert json.loads((built.folder / "set.json").read_text()) == [1, 3, 5, 7, 13]
    lines = [json.loads(line) for line in (out / "steps/01_descriptions.jsonl").read_text().splitlines()]
    assert [line["row"] for line in lines] == [f"n{number}" for number in range(14)]
    assert lines[1]["asked"][0]["reply"] == {"text": "the number 1"} and lines[1]["became"] == ["n1"]
    assert lines[1]["asked"][0]["unreadable"] == ["malformed JSON"]
    assert lines[2]["removed"] == "no usable reply: refusal" and lines[2]["asked"][0]["unreadable"] == ["refusal"] * 3
    kept = [one["key"].rpartition(".")[0] for one in kept_lines(out / "replies")]
    for asked_for in (one for line in lines for one in line["asked"]):
        assert kept.count(asked_for["key"]) == len(asked_for["unreadable"]) + (asked_for["reply"] is not None)


class Answering:
    """Answers as `play`, some odd replies at first, and from some number of requests on holds them all."""

    def __init__(self) -> None:
        self.most = 10**9
        self.answered: Counter[str] = Counter()

    def __call__(self, prompt: str, before: int) -> Action:
        if self.answered.total() >= self.most:
            return Hold()
        number, self.answered[prompt] = material_of(prompt).get("number"), self.answered[prompt] + 1
        if number in (1, 2) and self.answered[prompt] == 1:
            return Say("I cannot see the picture.")
        return Say("good END" if number is None else json.dumps({"text": f"the number {number}"}))


def start(url: str, out: Path) -> int:
    """A build in a child of this process; what PyAV holds with threads of its own is let go before."""
    gc.collect()
    if child := os.fork():
        return child
    code = 1
    try:
        build(configuration(out.parent / "config", {"url": url}, numbers=30), out)
        code = 0
    finally:
        os._exit(code)


def exit_code(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.slow
def test_killed_builds_and_two_at_once_give_the_same_bytes_and_ask_nothing_twice(tmp_path: Path) -> None:
    """Killed with -9 once some number of replies is on the disk: nobody has what a server sent to a dying client."""
    script = Answering()
    alone, killed, shared = (tmp_path / name for name in ("alone", "killed", "shared"))
    with JudgeServer(script) as server:
        assert exit_code(start(server.url, alone)) == 0
        asked, script.answered = script.answered, Counter()
        for point in sorted(random.Random(0).choices(range(1, asked.total()), k=4)):
            with server.changed:  # not while a request of the child that was killed last is looked at
                script.most = max(point, script.answered.total())
            child, deadline = start(server.url, killed), time.monotonic() + 60
            try:
                while len(kept_lines(killed / "replies")) < script.most:
                    assert time.monotonic() < deadline, "the build does not go on"
                    time.sleep(0.005)
            finally:
                os.kill(child, signal.SIGKILL)
            assert exit_code(child) == -signal.SIGKILL and not (killed / "release").exists()
        script.most = 10**9
        assert exit_code(start(server.url, killed)) == 0 and script.answered == asked
        script.answered = Counter()
        assert [exit_code(child) for child in [start(server.url, shared) for _ in range(2)]] == [0, 0]
    assert script.answered == asked and files_of(alone) == files_of(killed) == files_of(shared)


@pytest.mark.slow
def test_no_more_requests_are_under_way_than_a_role_allows(tmp_path: Path) -> None:
    def slow(prompt: str, before: int) -> Say:
        text = json.dumps({"text": "x"}) if "number" in material_of(prompt) else "good END"
        return Say(text, delay=0.03)

    with JudgeServer(slow) as server:
        build(configuration(tmp_path, {"concurrent": 5, "url": server.url}, numbers=20), tmp_path / "out")
    assert server.most_at_once == 5


@pytest.mark.slow
def test_a_server_that_does_not_answer_stops_the_build_at_once(tmp_path: Path, expected: Expected) -> None:
    start = time.monotonic()
    with nobody() as url:
        many = refusal(build, configuration(tmp_path, {"url": url}, numbers=50), tmp_path / "out")
        patient = {"default": {"provider": "local", "model": "m", "url": url}}
        few = refusal(build, configuration(tmp_path, numbers=12, roles=patient), tmp_path / "out")
    expected(f"{many}\n\n{few}")
    assert time.monotonic() - start < 10 and not (tmp_path / "out/release").exists()


@pytest.mark.slow
def test_the_budget_stops_a_build_which_goes_on_with_another(tmp_path: Path) -> None:
    config, out = configuration(tmp_path, numbers=10), tmp_path / "out"
    with play() as played:
        stopped = refusal(build, config, out, max_requests=4)
        assert "4 requests were sent, as many as --max-requests allows" in stopped
        assert len(played.asked) == 4 and not (out / "release").exists()
        assert "7 requests were sent" in refusal(build, config, out, max_requests=7)
        built = build(config, out, max_requests=9)
        assert len(played.asked) == 20 and "9 requests were sent" in built.summary
        assert "0 requests were sent" in build(config, out, max_requests=0).summary


@pytest.mark.slow
def test_a_change_takes_the_place_of_a_key_and_replies_may_lie_in_a_shared_folder(tmp_path: Path) -> None:
    with play():
        config = configuration(tmp_path, numbers=4)
        build(config, tmp_path / "out", changes=["numbers=6", "check=false"])
        build(configuration(tmp_path, numbers=6, check=False), tmp_path / "same")
        assert files_of(tmp_path / "out") == files_of(tmp_path / "same")
        assert "toy.yaml, numbers: " in refusal(build, config, tmp_path / "out", changes=["numbers=many"])
        said = refusal(build, config, tmp_path / "out", changes=["numbers={"])
        assert said.startswith("--set numbers cannot be read")
        build(configuration(tmp_path, numbers=4, replies="kept"), tmp_path / "one")
        built = build(configuration(tmp_path, numbers=5, replies="kept"), tmp_path / "two")
    assert "2 requests were sent" in built.summary and (tmp_path / "kept").is_dir()
    assert not (tmp_path / "one/replies").exists()


def everything(out: Path) -> dict[str, bytes]:
    """What a build wrote, but for replies and what a failed one left."""
    return {name: data for name, data in files_of(out).items() if not name.startswith(("replies", "failed/"))}


@pytest.mark.slow
def test_a_build_that_fails_or_makes_less_leaves_every_file_of_the_last_good_one(
    tmp_path: Path, expected: Expected
) -> None:
    out = tmp_path / "out"
    with play():
        build(configuration(tmp_path, numbers=12), out)
    good = everything(out)
    parts = {name.partition("/")[0] for name in good}
    assert parts == {"steps", "attrition.json", "attrition.png", "build.json", "release"}
    config = configuration(tmp_path, {"model": "other", "requests": 1}, numbers=12)
    with play(describe="I cannot see the picture."):
        expected(refusal(build, config, out))
    failed = json.loads((out / "failed/attrition.json").read_text())
    assert failed["steps"][0]["removed"] == {"no usable reply: refusal": 12}
    assert everything(out) == good
    another = configuration(tmp_path, {"model": "third", "requests": 1}, numbers=12)
    with play(describe=lambda asked: described(asked) if asked.given["number"] == 1 else FAILURES[3]):
        expected(refusal(build, another, out))
        assert everything(out) == good
        assert "1 rows from 12 numbers" in build(another, out, replace=True).summary
    assert json.loads((out / "release/set.json").read_text()) == [1]
    # As a build leaves it that is killed while it writes.
    (out / f".{'0' * 32}.part").write_text("half")
    with play():
        build(configuration(tmp_path, numbers=12), out)
        assert everything(out) == good and not (out / "failed").exists() and not list(out.rglob("*.part"))
        build(configuration(tmp_path, numbers=12, check=False), out)
    steps = sorted(path.name for path in (out / "steps").iterdir())
    assert steps == ["01_descriptions.jsonl", "02_odd_numbers.jsonl"]


def test_a_dry_run_shows_what_it_takes_and_asks_nothing(tmp_path: Path, expected: Expected) -> None:
    config = configuration(tmp_path, {"price": {"input": 2.0, "output": 10.0}}, numbers=1000)
    built = build(config, tmp_path / "out", dry_run=True)
    # By hand: 1,000 rows of 400 characters and 50 tokens, of which half go on.
    expected("\n".join(map(" | ".join, built.tables[0].rows)))
    assert built.folder is None and not (tmp_path / "out").exists()


@step("descriptions", asks=("writer", "checker"))
def ask_both_roles(row: NumberRow, asking: Asking) -> DescribedRow:
    """Asks the same about every number, of one role about the even and of another about the odd ones."""
    reply = asking.ask(("writer", "checker")[row.number % 2], "describe", Description, images=(b"picture",), number=1)
    return DescribedRow(id=row.id, number=row.number, text=reply.text)


class TwoFoldersConfig(ToyConfig):
    reply_folders: ClassVar = {"second": "again"}


def late(asked: Asked) -> dict[str, str]:
    time.sleep(0.2)
    return {"text": "reply"}


def test_the_same_is_asked_once_whoever_asks_it_but_of_roles_with_folders_of_their_own(tmp_path: Path) -> None:
    """However many rows ask it, in whatever order, it is asked as often as the role allows."""
    with play(describe={"text": "same"}, check="no end") as played:
        message = refusal(build, configuration(tmp_path, numbers=30), tmp_path / "out")
        assert "missing END (30)" in message and len(played.asked) == 30 + 3
    pipeline = replace(PIPELINE, steps=lambda config: [ask_both_roles])
    with play(describe=late) as played:
        pipeline_command(lambda: pipeline)(configuration(tmp_path), tmp_path / "roles")
        assert len(played.asked) == 1
    settings = RoleSettings.model_validate(MODEL)
    config = TwoFoldersConfig(roles=dict.fromkeys(("first", "second"), settings))
    with play(describe=[{"text": "one"}, {"text": "another"}]) as played:
        for _ in range(2):
            asked = Asking(Models(config, tmp_path))
            said = [asked.ask(name, "describe", Description, number=1).text for name in ("first", "second")]
            assert said == ["one", "another"]
        assert len(played.asked) == 2


WRONG = (
    "[1]",
    'replies: "a\\0b"',
    'replies: "\\uD800"',
    "numbers: 1\nroles: {}\nnumbers: 2\n",
    "roles: {default: {model: !!binary aGVsbG8=, url: x}}",
    "numbers: many\nsed: 1\n",
    "roles: {writer: {model: m}}",
    "roles: {default: {model: m, url: x, concurrent: 0}, other: {model: m}}",
    "roles: {default: {model: m}, painter: {model: m}}",
)


def test_a_wrong_configuration_is_refused_with_every_problem(tmp_path: Path, expected: Expected) -> None:
    def say(content: str) -> str:
        (tmp_path / "toy.yaml").write_text(content)
        return refusal(build, tmp_path / "toy.yaml", tmp_path / "out")

    expected("\n\n".join(f"{content.strip()}\n{say(content)}" for content in WRONG))
    for content in ("roles: {", "seed: 2024-13-45", f"seed: {'9' * 5000}"):
        assert "toy.yaml cannot be read: " in say(content)
    assert not (tmp_path / "out").exists()


def test_roles_that_cannot_be_asked_are_refused_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for checker in (
        {"provider": "transformers", "model": "n", "url": "http://127.0.0.1:9/v1"},
        {"provider": "azure", "model": "n"},
    ):
        config = configuration(tmp_path, roles={"writer": {"model": "m"}, "checker": checker})
        expected(refusal(build, config, tmp_path / "out"))


def test_a_set_names_its_sources_as_they_were_at_the_start_and_no_secret(tmp_path: Path) -> None:
    files = [tmp_path / name / "reviews.csv" for name in ("one", "two")]
    for file in files:
        file.parent.mkdir()
        file.write_text(file.parent.name)

    def change(asked: Asked) -> dict[str, str]:
        files[0].write_text("changed while the build asks")
        return described(asked)

    pipeline = replace(PIPELINE, source_files=lambda config: files)
    with play(describe=change):
        config = configuration(tmp_path, {"url": "http://user:swordfish@nowhere/v1"})
        pipeline_command(lambda: pipeline)(config, tmp_path / "out")
    facts = json.loads((tmp_path / "out/build.json").read_text())
    digests = [hashlib.sha256(name.encode()).hexdigest() for name in ("one", "two")]
    assert facts["sources"] == [{"file": "reviews.csv", "sha256": digest} for digest in digests]
    assert all(b"swordfish" not in content for content in files_of(tmp_path / "out").values())


class Reply:
    """A reply that can be looked for in memory."""


@step("replies")
def hold_replies(row: NumberRow, asking: Asking, *, given: list[weakref.ref[Reply]]) -> list[NumberRow]:
    """Gives every row a reply, the later rows first."""
    time.sleep(0.02 * (row.number % 2 == 0))
    reply = Reply()
    given.append(weakref.ref(reply))
    asking.asked.append(AskedReply("writer", "p", "m", "", (), reply, None))
    return [row]


@pytest.mark.parametrize("values", [{}, {"gave": []}, {"given": [], "more": 1}])
def test_a_step_takes_exactly_the_values_of_its_function(values: dict[str, Any]) -> None:
    """When a build's steps are chosen, before anything is asked."""
    with pytest.raises(TypeError, match=r"gave|more|given"):
        hold_replies.given(**values)


@pytest.mark.slow
def test_replies_are_logged_in_the_order_of_the_rows_and_let_go_of_before_the_step_ends(tmp_path: Path) -> None:
    given, logged, most = list[weakref.ref[Reply]](), list[str](), 0

    def log(_: ReadyStep, row: PipelineRow, outcome: RowOutcome) -> None:
        nonlocal most
        logged.append(row.id)
        most = max(most, sum(reply() is not None for reply in given))

    rows = [NumberRow(id=f"n{number}", number=number) for number in range(200)]
    (run,) = run_steps([hold_replies.given(given=given)], rows, Models(ToyConfig(), tmp_path), log)
    assert logged == [row.id for row in rows] == [row.id for row in run.left]
    assert len(given) == 200 and most < 100


def test_what_a_build_is_expected_to_ask_and_cost_by_hand() -> None:
    """Half of ten rows pass the first step, whose requests two models share."""
    settings = {
        "priced": SimpleNamespace(tokens_an_image=50, max_tokens=60, price=SimpleNamespace(input=2.0, output=10.0)),
        "free": SimpleNamespace(tokens_an_image=0, max_tokens=1000, price=None),
    }
    config: Any = SimpleNamespace(role=settings.__getitem__)
    of_rows = Forecast(requests=1.0, characters=4000, rows=2.0)

    def step_of(name: str, *roles: str, forecast: Any) -> Any:
        return SimpleNamespace(name=name, roles=roles, forecast=forecast)

    both = Forecast(requests=2.0, characters=400, images=3, reply_tokens=100, rows=0.5)
    steps = [
        step_of("first", "priced", "free", forecast=both),
        step_of("silent", forecast=Forecast()),
        step_of("second", "priced", forecast=lambda rows: of_rows if len(rows) == 10 else None),
        step_of("last", "priced", forecast=Forecast(requests=0.1)),
    ]
    assert forecast_table(list(range(10)), steps, config).rows == [
        ("first", "10", "20", "3,500", "1,600", "no price"),
        ("second", "5", "5", "5,000", "300", "0.01"),
        ("last", "10", "1", "0", "60", "0.00"),
        ("all", "", "26", "8,500", "1,960", "no price"),
    ]

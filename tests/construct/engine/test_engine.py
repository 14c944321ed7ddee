"""A pipeline's run: what is asked, what is removed and why, the budget, and going on after a kill."""

from __future__ import annotations

import hashlib
import json
import time
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from expected import Expected
from judge_server import Action, Drop, Fail, Hold, JudgeServer, Say, nobody
from kept_answers import kept_lines
from killed_builds import check_killed_builds, check_two_builds_at_once, files_of
from refusals import refusal
from toy_pipeline import PIPELINE, PROMPTS, DescribedRow, Description, NumberRow, ToyConfig

from lmms_eval_tasks.construct.engine import steps as asking
from lmms_eval_tasks.construct.engine.command import pipeline_command
from lmms_eval_tasks.construct.engine.config import RoleSettings
from lmms_eval_tasks.construct.engine.roles import Models
from lmms_eval_tasks.construct.engine.running import RowOutcome, run_steps
from lmms_eval_tasks.construct.engine.steps import AskedReply, Asking, PipelineRow, Step, step

build = pipeline_command(lambda: PIPELINE)


@pytest.fixture(autouse=True)
def prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "read_prompt", PROMPTS.__getitem__)


def number_of(prompt: str) -> int | None:
    number: int | None = json.loads(prompt.splitlines()[-1]).get("number")
    return number


def plain(prompt: str, pictures: tuple[bytes, ...], before: int) -> Say:
    """Describes every number, and finds every description good."""
    number = number_of(prompt)
    return Say("good END") if number is None else Say(json.dumps({"text": f"the number {number}"}))


def slow(prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
    return replace(plain(prompt, pictures, before), delay=0.03)


def blind(prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
    return Say("I cannot see the picture.")


def faulty(prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
    """A fault of each kind, by number; some pass."""
    number = number_of(prompt)
    good = plain(prompt, pictures, before)
    if number is None:
        text = json.loads(prompt.splitlines()[-1])["text"]
        return Say("good") if text.endswith(" 9") else Say("bad END") if text.endswith(" 11") else good
    return {
        0: Say('{"text": "cut'),
        1: good if before else Say('{"text": "cut'),
        2: Say("I'm sorry, I can't describe that."),
        3: good if before else Fail(500),
        4: Say('{"txt": "other"}'),
        5: good if before else Drop(),
        6: Fail(400, message="refused by policy"),
        8: Hold(),
        10: Say('{"text": ""}'),
    }.get(number, good)


def role(url: str, **more: Any) -> dict[str, Any]:
    return {"provider": "local", "model": "m", "url": url, "first_delay": 0.0, "requests": 3, **more}


def configuration(url: str, folder: Path, model: dict[str, Any] | None = None, **values: Any) -> Path:
    """A configuration in which one model has all roles."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "toy.yaml"
    path.write_text(json.dumps({"roles": {"default": role(url, **(model or {}))}, **values}))
    return path


@pytest.mark.slow
def test_every_fault_is_named_and_a_second_build_asks_only_what_no_server_answered(
    tmp_path: Path, expected: Expected
) -> None:
    out = tmp_path / "out"
    with JudgeServer(picture_script=faulty) as server:
        config = configuration(server.url, tmp_path, {"timeout": 0.5}, numbers=14)
        built = build(config, out)
        before, asked = files_of(out), server.asked.total()
        again = build(config, out)
        # What was refused once, and what was held back three times.
        assert server.asked.total() == asked + 1 + 3
    expected("\n".join([*map(" | ".join, built.tables[0].rows), built.summary, *built.warnings, again.summary]))
    assert files_of(out) == before
    assert built.folder == out / "release" and built.attrition is not None
    assert [(step.left, step.removed.get("even")) for step in built.attrition.steps] == [(8, None), (6, None), (5, 1)]
    assert [row["number"] for row in json.loads((built.folder / "set.json").read_text())] == [1, 3, 5, 7, 13]
    lines = [json.loads(line) for line in (out / "steps/01_descriptions.jsonl").read_text().splitlines()]
    assert [line["row"] for line in lines] == [f"n{number}" for number in range(14)]
    assert lines[1]["asked"][0]["reply"] == {"text": "the number 1"} and lines[1]["became"] == ["n1"]
    assert lines[1]["asked"][0]["unreadable"] == ["malformed JSON"]
    assert lines[2]["removed"] == "no usable reply: refusal" and lines[2]["asked"][0]["unreadable"] == ["refusal"] * 3
    kept = [one["key"].rpartition(".")[0] for one in kept_lines(out / "replies")]
    for asked_for in (one for line in lines for one in line["asked"]):
        assert kept.count(asked_for["key"]) == len(asked_for["unreadable"]) + (asked_for["reply"] is not None)


@pytest.mark.slow
def test_killed_builds_and_two_at_once_give_the_same_bytes_and_ask_nothing_twice(tmp_path: Path) -> None:
    def run(url: str, out: Path) -> None:
        build(configuration(url, tmp_path / f"config-{out.name}", numbers=40), out)

    def some_faults(prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
        few = number_of(prompt) in (0, 1, 2, 3, 4, 5)
        return faulty(prompt, pictures, before) if few else plain(prompt, pictures, before)

    check_killed_builds(run, some_faults, tmp_path)

    def same(url: str, out: Path) -> None:
        build(configuration(url, tmp_path / "config", numbers=60), out)

    check_two_builds_at_once(same, slow, tmp_path)


def test_the_budget_stops_a_build_which_goes_on_with_another(tmp_path: Path) -> None:
    with JudgeServer(picture_script=plain) as server:
        config = configuration(server.url, tmp_path, numbers=10)
        stopped = refusal(build, config, tmp_path / "out", max_requests=4)
        assert "4 requests were sent, as many as --max-requests allows" in stopped
        assert server.asked.total() == 4 and not (tmp_path / "out/release").exists()
        assert "7 requests were sent" in refusal(build, config, tmp_path / "out", max_requests=7)
        built = build(config, tmp_path / "out", max_requests=9)
        assert server.asked.total() == 20 and "9 requests were sent" in built.summary
        assert "0 requests were sent" in build(config, tmp_path / "out", max_requests=0).summary


def test_a_change_takes_the_place_of_a_key_and_replies_may_lie_in_a_shared_folder(tmp_path: Path) -> None:
    with JudgeServer(picture_script=plain) as server:
        config = configuration(server.url, tmp_path, numbers=4)
        build(config, tmp_path / "out", changes=["numbers=6", "check=false"])
        build(configuration(server.url, tmp_path, numbers=6, check=False), tmp_path / "same")
        assert files_of(tmp_path / "out") == files_of(tmp_path / "same")
        assert "toy.yaml, numbers: " in refusal(build, config, tmp_path / "out", changes=["numbers=many"])
        assert refusal(build, config, tmp_path / "out", changes=["numbers={"]).startswith(
            "--set numbers cannot be read"
        )
        build(configuration(server.url, tmp_path, numbers=4, replies="kept"), tmp_path / "one")
        built = build(configuration(server.url, tmp_path, numbers=5, replies="kept"), tmp_path / "two")
    assert "2 requests were sent" in built.summary and (tmp_path / "kept").is_dir()
    assert not (tmp_path / "one/replies").exists()


def test_no_more_requests_are_under_way_than_a_role_allows(tmp_path: Path) -> None:
    with JudgeServer(picture_script=slow) as server:
        build(configuration(server.url, tmp_path, {"concurrent": 5}, numbers=30), tmp_path / "out")
    assert server.most_at_once == 5


def test_a_server_that_does_not_answer_stops_the_build_at_once(tmp_path: Path, expected: Expected) -> None:
    start = time.monotonic()
    with nobody() as url:
        many = refusal(build, configuration(url, tmp_path, numbers=50), tmp_path / "out")
        patient = {"default": {"provider": "local", "model": "m", "url": url}}
        few = refusal(build, configuration(url, tmp_path, numbers=12, roles=patient), tmp_path / "out")
    expected(f"{many}\n\n{few}")
    assert time.monotonic() - start < 10 and not (tmp_path / "out/release").exists()


def everything(out: Path) -> dict[str, bytes]:
    """What a build wrote, but for replies and what a failed one left."""
    return {name: data for name, data in files_of(out).items() if not name.startswith(("replies", "failed/"))}


@pytest.mark.slow
def test_a_build_that_fails_or_makes_less_leaves_every_file_of_the_last_good_one(
    tmp_path: Path, expected: Expected
) -> None:
    out = tmp_path / "out"

    def fails(prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
        return plain(prompt, pictures, before) if number_of(prompt) in (None, 1) else Fail(500)

    with JudgeServer(picture_script=plain) as server:
        build(configuration(server.url, tmp_path, numbers=12), out)
        good = everything(out)
        assert {name.partition("/")[0] for name in good} == {
            "steps", "attrition.json", "attrition.png", "build.json", "release",
        }  # fmt: skip
        config = configuration(server.url, tmp_path, {"model": "other", "requests": 1}, numbers=12)
        server.picture_script = blind
        expected(refusal(build, config, out))
        failed = json.loads((out / "failed/attrition.json").read_text())
        assert failed["steps"][0]["removed"] == {"no usable reply: refusal": 12}
        assert everything(out) == good
        server.picture_script = fails
        another = configuration(server.url, tmp_path, {"model": "third", "requests": 1}, numbers=12)
        expected(refusal(build, another, out))
        assert everything(out) == good
        assert "1 of 12 numbers" in build(another, out, replace=True).summary
        assert len(json.loads((out / "release/set.json").read_text())) == 1
        server.picture_script = plain
        # As a build leaves it that is killed while it writes.
        (out / f".{'0' * 32}.part").write_text("half")
        build(configuration(server.url, tmp_path, numbers=12), out)
        assert everything(out) == good and not (out / "failed").exists() and not list(out.rglob("*.part"))
        build(configuration(server.url, tmp_path, numbers=12, check=False), out)
    assert sorted(path.name for path in (out / "steps").iterdir()) == [
        "01_descriptions.jsonl", "02_odd_numbers.jsonl",
    ]  # fmt: skip


def test_a_dry_run_shows_what_it_takes_and_asks_nothing(tmp_path: Path, expected: Expected) -> None:
    price = {"input": 2.0, "output": 10.0}
    config = configuration("http://127.0.0.1:9/v1", tmp_path, {"price": price}, numbers=1000)
    built = build(config, tmp_path / "out", dry_run=True)
    # By hand: 1,000 rows of 400 characters and 50 tokens, of which half go on.
    expected("\n".join(map(" | ".join, built.tables[0].rows)))
    assert built.folder is None and not (tmp_path / "out").exists()


@step("descriptions", asks=("writer", "checker"))
def ask_both_roles(row: NumberRow, asking: Asking) -> DescribedRow:
    """Asks the same about every number, of one role about the even and of another about the odd ones."""
    reply = asking.ask(("writer", "checker")[row.number % 2], "describe", Description, images=(b"picture",), number=1)
    return DescribedRow(id=row.id, number=row.number, text=reply.text)


class ApartConfig(ToyConfig):
    apart: ClassVar = {"second": "again"}


def test_the_same_is_asked_once_whoever_asks_it_but_of_roles_that_are_apart(tmp_path: Path) -> None:
    """However many rows ask it, in whatever order, it is asked as often as the role allows."""

    def same(prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
        return Say('{"text": "same"}') if number_of(prompt) is not None else Say("no end")

    with JudgeServer(picture_script=same) as server:
        message = refusal(build, configuration(server.url, tmp_path, numbers=30), tmp_path / "out")
        assert "missing END (30)" in message and server.asked.total() == 30 + 3
    pipeline = replace(PIPELINE, steps=lambda config: [ask_both_roles])
    with JudgeServer(picture_script=lambda *_: Say('{"text": "reply"}', delay=0.2)) as server:
        pipeline_command(lambda: pipeline)(configuration(server.url, tmp_path), tmp_path / "roles")
        assert server.asked.total() == 1
    texts = iter(("one", "another"))
    with JudgeServer(picture_script=lambda prompt, pictures, before: Say(json.dumps({"text": next(texts)}))) as server:
        settings = RoleSettings(model="m", provider="local", url=server.url)
        config = ApartConfig(roles=dict.fromkeys(("first", "second"), settings))
        for _ in range(2):
            asked = Asking(Models(config, tmp_path))
            said = [asked.ask(name, "describe", Description, number=1).text for name in ("first", "second")]
            assert said == ["one", "another"]
        assert server.asked.total() == 2


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
        config = configuration("", tmp_path, roles={"writer": {"model": "m"}, "checker": checker})
        expected(refusal(build, config, tmp_path / "out"))


def test_a_set_names_its_sources_as_they_were_at_the_start_and_no_secret(tmp_path: Path) -> None:
    files = [tmp_path / name / "reviews.csv" for name in ("one", "two")]
    for file in files:
        file.parent.mkdir()
        file.write_text(file.parent.name)

    def change(prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
        files[0].write_text("changed while the build asks")
        return plain(prompt, pictures, before)

    pipeline = replace(PIPELINE, source_files=lambda config: files)
    with JudgeServer(picture_script=change) as server:
        config = configuration(server.url.replace("://", "://user:swordfish@"), tmp_path)
        pipeline_command(lambda: pipeline)(config, tmp_path / "out")
    facts = json.loads((tmp_path / "out/build.json").read_text())
    digests = [hashlib.sha256(name.encode()).hexdigest() for name in ("one", "two")]
    assert facts["sources"] == [{"file": "reviews.csv", "sha256": digest} for digest in digests]
    assert all(b"swordfish" not in content for content in files_of(tmp_path / "out").values())


class Reply:
    """A reply that can be looked for in memory."""


@step("replies")
def hold_replies(row: NumberRow, asking: Asking, given: list[weakref.ref[Reply]]) -> list[NumberRow]:
    """Gives every row a reply, the later rows first."""
    time.sleep(0.02 * (row.number % 2 == 0))
    reply = Reply()
    given.append(weakref.ref(reply))
    asking.asked.append(AskedReply("writer", "p", "m", "", (), reply, None))
    return [row]


def test_replies_are_logged_in_the_order_of_the_rows_and_let_go_of_before_the_step_ends(tmp_path: Path) -> None:
    given, logged, most = list[weakref.ref[Reply]](), list[str](), 0

    def log(_: Step, row: PipelineRow, outcome: RowOutcome) -> None:
        nonlocal most
        logged.append(row.id)
        most = max(most, sum(reply() is not None for reply in given))

    rows = [NumberRow(id=f"n{number}", number=number) for number in range(200)]
    (run,) = run_steps([hold_replies.given(given)], rows, Models(ToyConfig(), tmp_path), log)
    assert logged == [row.id for row in rows] == [row.id for row in run.left]
    assert len(given) == 200 and most < 100

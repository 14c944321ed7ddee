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
from judge_server import Action, Drop, Fail, Hold, JudgeServer, Say, nobody
from kept_answers import kept_lines
from killed_builds import check_killed_builds, check_two_builds_at_once, files_of
from toy_pipeline import PIPELINE, PROMPTS, DescribedRow, Description, NumberRow, ToyConfig

from lmms_eval_tasks.construct.engine import steps as asking
from lmms_eval_tasks.construct.engine.attrition import BuiltSet
from lmms_eval_tasks.construct.engine.command import pipeline_command
from lmms_eval_tasks.construct.engine.config import RoleSettings
from lmms_eval_tasks.construct.engine.roles import Models
from lmms_eval_tasks.construct.engine.running import RowOutcome, run_steps
from lmms_eval_tasks.construct.engine.steps import AskedReply, Asking, PipelineRow, Step, step
from lmms_eval_tasks.utils.core.errors import InputError

build = pipeline_command(lambda: PIPELINE)


@pytest.fixture(autouse=True)
def prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "read_prompt", PROMPTS.__getitem__)


def number_of(prompt: str) -> int | None:
    material = json.loads(prompt.splitlines()[-1])
    return material.get("number", None)


def plain(prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
    """Describes every number, and finds every description good."""
    number = number_of(prompt)
    return Say("good END") if number is None else Say(json.dumps({"text": f"the number {number}"}))


def faulty(prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
    """A fault of each kind, by number; some pass."""
    number = number_of(prompt)
    if number is None:
        text = json.loads(prompt.splitlines()[-1])["text"]
        return Say("good") if text.endswith(" 9") else Say("bad END" if text.endswith(" 11") else "good END")
    good = Say(json.dumps({"text": f"the number {number}"}))
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


def configuration(url: str, folder: Path, timeout: float = 60.0, **values: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    role = {"provider": "local", "model": "m", "url": url, "first_delay": 0.0, "requests": 3, "timeout": timeout}
    path = folder / "toy.yaml"
    path.write_text(json.dumps({"roles": {"default": role}, **values}))
    return path


def cells(built: BuiltSet) -> dict[str, tuple[str, ...]]:
    """The attrition table by step and reason."""
    step = ""
    table: dict[str, tuple[str, ...]] = {}
    for name, *rest in built.tables[0].rows:
        step = step if name.startswith(" ") else name
        table[name if name == step else f"{step}:{name.strip()}"] = tuple(rest)
    return table


@pytest.mark.slow
def test_every_fault_is_named_and_the_audit_has_each_reply(tmp_path: Path) -> None:
    with JudgeServer(picture_script=faulty) as server:
        built = build(configuration(server.url, tmp_path, 0.5, numbers=14), tmp_path / "out")
    assert cells(built) == {
        "numbers": ("14", "", "3,764"),
        "descriptions": ("8", "57%", ""),
        "descriptions:no usable reply: malformed JSON": ("-1", "", ""),
        "descriptions:no usable reply: refusal": ("-1", "", ""),
        "descriptions:no usable reply: another form": ("-1", "", ""),
        "descriptions:no usable reply: request refused (400)": ("-1", "", ""),
        "descriptions:no usable reply: timed out": ("-1", "", ""),
        "descriptions:an empty description": ("-1", "", ""),
        "descriptions:asked again: malformed JSON": ("(1)", "", ""),
        "descriptions:asked again: server error (500)": ("(1)", "", ""),
        "descriptions:asked again: no connection": ("(1)", "", ""),
        "descriptions:asked again: timed out": ("(3)", "", ""),
        "descriptions:asked again: request refused (400)": ("(1)", "", ""),
        "blind check": ("6", "75%", "61%"),
        "blind check:no usable reply: missing END": ("-1", "", ""),
        "blind check:answered without a look": ("-1", "", ""),
        "odd numbers": ("5", "83%", ""),
        "odd numbers:even": ("-1", "", ""),
    }
    assert built.folder == tmp_path / "out" / "release"
    assert built.attrition is not None and [step.left for step in built.attrition.steps] == [8, 6, 5]
    assert built.attrition.steps[-1].removed == {"even": 1}
    assert [row["number"] for row in json.loads((built.folder / "set.json").read_text())] == [1, 3, 5, 7, 13]
    assert built.warnings == ["2 rows went because a server gave no reply; the same command asks for them again."]
    lines = [json.loads(line) for line in (tmp_path / "out/steps/01_descriptions.jsonl").read_text().splitlines()]
    assert [line["row"] for line in lines] == [f"n{number}" for number in range(14)]
    assert lines[1]["asked"][0]["reply"] == {"text": "the number 1"} and lines[1]["became"] == ["n1"]
    assert lines[1]["asked"][0]["unreadable"] == ["malformed JSON"]
    assert lines[2]["removed"] == "no usable reply: refusal" and lines[2]["asked"][0]["unreadable"] == ["refusal"] * 3
    for line in lines:
        for asked in line["asked"]:
            kept = [one for one in kept_lines(tmp_path / "out/replies") if one["key"].startswith(f"{asked['key']}.")]
            assert len(kept) == len(asked["unreadable"]) + (asked["reply"] is not None)


@pytest.mark.slow
def test_a_second_build_asks_only_what_no_server_answered(tmp_path: Path) -> None:
    with JudgeServer(picture_script=faulty) as server:
        config = configuration(server.url, tmp_path, 0.5, numbers=14)
        first = build(config, tmp_path / "out")
        before, asked = files_of(tmp_path / "out"), server.asked.total()
        again = build(config, tmp_path / "out")
        # What was refused once, and what was held back three times.
        assert server.asked.total() == asked + 1 + 3
    assert files_of(tmp_path / "out") == before
    assert "0 requests" not in first.summary and "4 requests were sent" in again.summary


@pytest.mark.slow
def test_killed_twenty_times_it_gives_the_same_bytes_and_asks_nothing_twice(tmp_path: Path) -> None:
    def run(url: str, out: Path) -> None:
        build(configuration(url, tmp_path / f"config-{out.name}", numbers=40), out)

    def some_faults(prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
        number = number_of(prompt)
        return faulty(prompt, pictures, before) if number in (0, 1, 2, 3, 4, 5) else plain(prompt, pictures, before)

    check_killed_builds(run, some_faults, tmp_path)


@pytest.mark.slow
def test_two_builds_at_once_share_their_requests(tmp_path: Path) -> None:
    def run(url: str, out: Path) -> None:
        build(configuration(url, tmp_path / "config", numbers=60), out)

    def slow(prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
        action = plain(prompt, pictures, before)
        assert isinstance(action, Say)
        return Say(action.text, delay=0.02)

    check_two_builds_at_once(run, slow, tmp_path)


def test_the_budget_stops_a_build_which_goes_on_with_another(tmp_path: Path) -> None:
    with JudgeServer(picture_script=plain) as server:
        config = configuration(server.url, tmp_path, numbers=10)
        with pytest.raises(InputError, match="4 requests were sent, as many as --max-requests allows"):
            build(config, tmp_path / "out", max_requests=4)
        assert server.asked.total() == 4 and not (tmp_path / "out/release").exists()
        with pytest.raises(InputError, match="7 requests were sent"):
            build(config, tmp_path / "out", max_requests=7)
        built = build(config, tmp_path / "out", max_requests=9)
        assert server.asked.total() == 20 and "9 requests were sent" in built.summary
        assert "0 requests were sent" in build(config, tmp_path / "out", max_requests=0).summary


def test_a_change_takes_the_place_of_a_key_and_is_kept_with_the_set(tmp_path: Path) -> None:
    with JudgeServer(picture_script=plain) as server:
        config = configuration(server.url, tmp_path, numbers=4)
        build(config, tmp_path / "out", changes=["numbers=6", "check=false"])
        build(configuration(server.url, tmp_path, numbers=6, check=False), tmp_path / "same")
        assert files_of(tmp_path / "out") == files_of(tmp_path / "same")
        with pytest.raises(InputError, match=r"toy\.yaml, numbers: .*, but got `many`"):
            build(config, tmp_path / "out", changes=["numbers=many"])
        with pytest.raises(InputError, match=r"^--set numbers cannot be read"):
            build(config, tmp_path / "out", changes=["numbers={"])


def test_builds_of_two_folders_share_replies_where_the_configuration_says_so(tmp_path: Path) -> None:
    with JudgeServer(picture_script=plain) as server:
        build(configuration(server.url, tmp_path, numbers=4, replies="kept"), tmp_path / "one")
        built = build(configuration(server.url, tmp_path, numbers=5, replies="kept"), tmp_path / "two")
    assert "2 requests were sent" in built.summary and (tmp_path / "kept").is_dir()
    assert not (tmp_path / "one/replies").exists()


def test_no_more_requests_are_under_way_than_a_role_allows(tmp_path: Path) -> None:
    def slow(prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
        action = plain(prompt, pictures, before)
        assert isinstance(action, Say)
        return Say(action.text, delay=0.05)

    with JudgeServer(picture_script=slow) as server:
        config = configuration(server.url, tmp_path, numbers=30)
        values = json.loads(config.read_text())
        values["roles"]["default"]["concurrent"] = 5
        config.write_text(json.dumps(values))
        build(config, tmp_path / "out")
    assert server.most_at_once == 5


def test_a_server_that_does_not_answer_stops_the_build(tmp_path: Path) -> None:
    with nobody() as url:
        config = configuration(url, tmp_path, numbers=50)
        with pytest.raises(InputError, match="The model of the role writer gave no reply to 32 requests in a row"):
            build(config, tmp_path / "out")
    assert not (tmp_path / "out/release").exists()


def test_a_port_where_nobody_listens_is_told_at_once(tmp_path: Path) -> None:
    start = time.monotonic()
    with nobody() as url:
        role = {"provider": "local", "model": "m", "url": url}
        with pytest.raises(InputError, match=r"after the step 'descriptions': no usable reply: no connection \(12\)"):
            build(configuration(url, tmp_path, numbers=12, roles={"default": role}), tmp_path / "out")
    assert time.monotonic() - start < 5


def test_where_no_row_is_left_the_message_says_why_and_the_old_release_stays(tmp_path: Path) -> None:
    with JudgeServer(picture_script=plain) as server:
        built = build(configuration(server.url, tmp_path, numbers=4), tmp_path / "out")
        assert built.folder is not None
        before = files_of(built.folder)
        server.picture_script = lambda prompt, pictures, count: Say("I cannot see the picture.")
        with pytest.raises(InputError, match=r"after the step 'descriptions': no usable reply: refusal \(3\)") as error:
            build(configuration(server.url, tmp_path, numbers=3, seed=0), tmp_path / "out2")
        assert "steps" in str(error.value) and not (tmp_path / "out2/release").exists()
        assert files_of(built.folder) == before


def everything(out: Path) -> dict[str, bytes]:
    """What a build wrote, but for replies and what a failed one left."""
    return {name: data for name, data in files_of(out).items() if not name.startswith(("replies", "failed/"))}


def test_a_build_that_fails_leaves_every_file_of_the_last_good_one(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with JudgeServer(picture_script=plain) as server:
        build(configuration(server.url, tmp_path, numbers=6), out)
        good = everything(out)
        assert {name.partition("/")[0] for name in good} == {
            "steps", "attrition.json", "attrition.png", "build.json", "release",
        }  # fmt: skip
        server.picture_script = lambda prompt, pictures, count: Say("I cannot see the picture.")
        with pytest.raises(InputError, match=f"{out}/failed/steps has each row"):
            build(configuration(server.url, tmp_path, numbers=3, roles=other_model(server.url)), out)
        assert everything(out) == good
        failed = json.loads((out / "failed/attrition.json").read_text())
        assert failed["steps"][0]["removed"] == {"no usable reply: refusal": 3}
        with pytest.raises(InputError, match="1 requests were sent"):
            build(configuration(server.url, tmp_path, numbers=9, roles=other_model(server.url)), out, max_requests=1)
        assert everything(out) == good
        server.picture_script = plain
        build(configuration(server.url, tmp_path, numbers=6), out)
    assert everything(out) == good and not (out / "failed").exists()


def other_model(url: str) -> dict[str, Any]:
    return {"default": {"provider": "local", "model": "other", "url": url, "first_delay": 0.0, "requests": 1}}


def test_a_smaller_set_replaces_a_larger_one_only_where_it_is_asked_for(tmp_path: Path) -> None:
    """A server that fails for most of the requests takes nothing from the set that is there."""
    out = tmp_path / "out"

    def fails(prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
        return plain(prompt, pictures, before) if number_of(prompt) in (None, 1) else Fail(500)

    with JudgeServer(picture_script=plain) as server:
        build(configuration(server.url, tmp_path, numbers=12), out)
        good = everything(out)
        server.picture_script = fails
        config = configuration(server.url, tmp_path, numbers=12, roles=other_model(server.url))
        with pytest.raises(InputError) as caught:
            build(config, out)
        assert str(caught.value).startswith(
            f"{out} holds a set of 6 rows, and this build made 1; the set there was not replaced.\n"
            f"11 rows went because a server gave no reply; {out}/failed/steps has each row.\n"
        )
        assert everything(out) == good
        assert "1 of 12 numbers" in build(config, out, replace=True).summary
        assert len(json.loads((out / "release/set.json").read_text())) == 1
        server.picture_script = plain
        assert "6 of 12 numbers" in build(config, out).summary


def test_what_a_killed_build_left_half_written_is_deleted(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with JudgeServer(picture_script=plain) as server:
        config = configuration(server.url, tmp_path, numbers=4)
        build(config, out)
        (out / f".{'0' * 32}.part").write_text("half")
        build(config, out)
    assert not list(out.rglob("*.part"))


def test_a_dry_run_shows_what_it_takes_and_asks_nothing(tmp_path: Path) -> None:
    price = {"input": 2.0, "output": 10.0}
    role = {"provider": "local", "model": "m", "url": "http://127.0.0.1:9/v1", "price": price}
    path = tmp_path / "toy.yaml"
    path.write_text(json.dumps({"roles": {"default": role}, "numbers": 1000}))
    built = build(path, tmp_path / "out", dry_run=True)
    (table,) = built.tables
    assert list(table.rows) == [
        ("descriptions", "1,000", "1,000", "100,000", "50,000", "0.70"),
        ("blind check", "500", "500", "25,000", "5,000", "0.10"),
        ("all", "", "1,500", "125,000", "55,000", "0.80"),
    ]
    assert built.folder is None and not (tmp_path / "out").exists()


def test_two_rows_with_the_same_question_have_the_same_unreadable_replies(tmp_path: Path) -> None:
    """However many rows ask it, in whatever order, it is asked as often as the role allows."""

    def same(prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
        return Say('{"text": "same"}') if number_of(prompt) is not None else Say("no end")

    with JudgeServer(picture_script=same) as server:
        with pytest.raises(InputError, match=r"missing END \(30\)"):
            build(configuration(server.url, tmp_path, numbers=30), tmp_path / "out")
        assert server.asked.total() == 30 + 3


@step("descriptions", asks=("writer", "checker"))
def ask_both_roles(row: NumberRow, asking: Asking) -> DescribedRow:
    """Asks the same about every number, of one role about the even and of another about the odd ones."""
    reply = asking.ask(("writer", "checker")[row.number % 2], "describe", Description, images=(b"picture",), number=1)
    return DescribedRow(id=row.id, number=row.number, text=reply.text)


def test_two_roles_of_one_model_ask_the_same_once(tmp_path: Path) -> None:
    def slow(prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
        return Say(json.dumps({"text": f"reply {before}"}), delay=0.2)

    pipeline = replace(PIPELINE, steps=lambda config: [ask_both_roles])
    with JudgeServer(picture_script=slow) as server:
        pipeline_command(lambda: pipeline)(configuration(server.url, tmp_path), tmp_path / "out")
        assert server.asked.total() == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1]", "Expected names and values"),
        ("roles: {", "cannot be read"),
        ('replies: "a\\0b"', "toy.yaml, replies: Expected a path"),
        ('replies: "\\uD800"', "toy.yaml, replies: Expected a path"),
        ("seed: 2024-13-45", "cannot be read: month must be in"),
        (f"seed: {'9' * 5000}", "cannot be read: .*digits"),
        ("numbers: 1\nroles: {}\nnumbers: 2\n", "cannot be read: `numbers` is there twice, in line 3"),
        ("roles: {default: {model: !!binary aGVsbG8=, url: x}}", "Expected texts, numbers and lists, but got others"),
        ("numbers: many\nsed: 1\n", r"2 problems[^$]*numbers: .*many[^$]*sed: Expected no such name"),
        ("roles: {writer: {model: m}}", r"roles: Expected checker, but got none"),
        ("roles: {default: {model: m, url: x, concurrent: 0}, other: {model: m}}", "concurrent: "),
        (
            "roles: {default: {model: m}, painter: {model: m}}",
            "Expected only writer, checker, default, but got `painter`",
        ),
    ],
)
def test_a_wrong_configuration_is_refused_with_every_problem(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "toy.yaml"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        build(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_roles_that_cannot_be_asked_are_refused_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with JudgeServer(picture_script=plain) as server:
        local = {"provider": "local", "model": "m", "url": server.url}
        roles = {"writer": local, "checker": {"provider": "transformers", "model": "n", "url": server.url}}
        with pytest.raises(InputError, match="roles, checker: Expected no url for the provider transformers"):
            build(configuration(server.url, tmp_path, roles=roles), tmp_path / "out")
        roles = {"writer": {"model": "m"}, "checker": {"provider": "azure", "model": "n"}}
        with pytest.raises(InputError, match="2 problems, nothing was asked") as error:
            build(configuration(server.url, tmp_path, roles=roles), tmp_path / "out")
        assert "roles, writer: " in str(error.value) and "OPENAI_API_KEY" in str(error.value)
        assert not server.asked


def test_each_source_is_named_with_its_digest_as_it_was_at_the_start(tmp_path: Path) -> None:
    files = [tmp_path / name / "reviews.csv" for name in ("one", "two")]
    for file in files:
        file.parent.mkdir()
        file.write_text(file.parent.name)

    def change(prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
        files[0].write_text("changed while the build asks")
        return plain(prompt, pictures, before)

    pipeline = replace(PIPELINE, source_files=lambda config: files)
    with JudgeServer(picture_script=change) as server:
        pipeline_command(lambda: pipeline)(configuration(server.url, tmp_path), tmp_path / "out")
    facts = json.loads((tmp_path / "out/build.json").read_text())
    digests = [hashlib.sha256(name.encode()).hexdigest() for name in ("one", "two")]
    assert facts["sources"] == [{"file": "reviews.csv", "sha256": digest} for digest in digests]


def test_what_other_steps_wrote_does_not_stay_beside_the_set(tmp_path: Path) -> None:
    with JudgeServer(picture_script=plain) as server:
        build(configuration(server.url, tmp_path), tmp_path / "out")
        build(configuration(server.url, tmp_path, check=False), tmp_path / "out")
    names = sorted(path.name for path in (tmp_path / "out/steps").iterdir())
    assert names == ["01_descriptions.jsonl", "02_odd_numbers.jsonl"]


def test_secrets_of_the_configuration_are_not_kept(tmp_path: Path) -> None:
    with JudgeServer(picture_script=plain) as server:
        config = configuration(server.url.replace("://", "://user:swordfish@"), tmp_path, check=False)
        build(config, tmp_path / "out")
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


class ApartConfig(ToyConfig):
    apart: ClassVar = {"second": "again"}


def test_a_role_that_is_apart_has_replies_of_its_own(tmp_path: Path) -> None:
    texts = iter(("one", "another"))
    with JudgeServer(picture_script=lambda prompt, pictures, before: Say(json.dumps({"text": next(texts)}))) as server:
        role = RoleSettings(model="m", provider="local", url=server.url)
        config = ApartConfig(roles=dict.fromkeys(("first", "second"), role))
        for _ in range(2):
            asking = Asking(Models(config, tmp_path))
            said = [asking.ask(name, "describe", Description, number=1).text for name in ("first", "second")]
            assert said == ["one", "another"]
        assert sum(server.asked.values()) == 2

"""What servers say in place of an answer or beside it: keys, blocked replies, content of every shape, empty texts."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from by_day import first_by_day
from host_run import HostRun, SampleWorld, own_command, run_host, start_host
from model_server import ModelServer, Said, model_server

from lmms_eval_tasks.utils.answers.reply import CALLED, REASONED
from lmms_eval_tasks.utils.scoring.record import CUT_OFF

pytestmark = pytest.mark.host

TASK = "mvp_mini_intuitive_physics"
ITEMS = 12
KEY = "very-own-key-of-0815"
ADAPTERS = ("async_openai", "openai")


def arguments(server: ModelServer, adapter: str, **how: Any) -> list[str]:
    return server.arguments(**how) if adapter == "openai" else server.asynchronous(**how)


def run_task(
    server: ModelServer, adapter: str, world: SampleWorld, out: Path, *more: str, key: str | None = None
) -> HostRun:
    """Run a task; a key is one of the environment, for lmms-eval prints the arguments of models."""
    asked = arguments(server, adapter, **({"key": ""} if key else {}))
    env = {"OPENAI_API_KEY": key} if key else None
    return run_host(*asked, "--tasks", TASK, *more, home=world.home, out=out, env=env)


def texts_below(folder: Path) -> str:
    return "\n".join(path.read_text("utf-8", "replace") for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("adapter", first_by_day(ADAPTERS))
def test_a_key_that_a_server_echoes_is_nowhere(adapter: str, sample_world: SampleWorld, tmp_path: Path) -> None:
    refused = f"\x1b[31mIncorrect API key provided: Bearer {KEY}. Also sk-proj-0123456789abcdefXYZ."

    def say(number: int) -> tuple[Said, int]:
        # An answer may hold it, too.
        return ({"status": 401, "message": refused}, 0) if number % 2 else (f"A. My key is {KEY}.", 3)

    with model_server(say) as server:
        run = run_task(server, adapter, sample_world, tmp_path / "out", key=KEY)
    failed = [sample["record"] for sample in run.samples(TASK) if sample["record"]["unscored_reason"]]
    assert len(failed) == ITEMS // 2 and {one["unscored_reason"] for one in failed} == {"failed"}
    assert all("Incorrect API key provided: Bearer [hidden]" in one["detail"] for one in failed)
    assert "My key is [hidden]" in json.dumps(run.samples(TASK))
    home = sample_world.home
    page, again = tmp_path / "shown" / "page.html", tmp_path / "again"
    said = own_command(home, "report", run.out, "--html", page), own_command(home, "rescore", run.out, "--out", again)
    printed = "".join(one.stdout + one.stderr for one in said)
    assert "scores equal" in said[1].stdout
    for text in (run.output, printed, *map(texts_below, (run.out, page.parent, again))):
        assert text and KEY not in text and "sk-proj-0123" not in text and "\x1b[31mIncorrect" not in text


SHAPES: dict[str, tuple[dict[str, Any], str, tuple[str, str | None, str]]] = {
    "a text": ({"content": "A"}, "stop", ("scored", None, "")),
    "reasoning_content": ({"content": None, "reasoning_content": "So it is A."}, "stop", ("unparsed", None, REASONED)),
    "reasoning": ({"content": None, "reasoning": "… A."}, "stop", ("unparsed", None, REASONED)),
    "no tool calls": ({"content": "A", "tool_calls": []}, "stop", ("scored", None, "")),
    "a tool call": (
        {
            "content": None,
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "answer", "arguments": "{}"}}],
        },
        "tool_calls",
        ("unparsed", None, CALLED),
    ),
    "a refusal": (
        {"content": None, "refusal": "I cannot help."},
        "stop",
        ("unscored", "blocked", "refused: I cannot help."),
    ),
    "filtered": ({"content": ""}, "content_filter", ("unscored", "blocked", "content_filter")),
    "filtered halfway": (
        {"content": "The ball"},
        "content_filter",
        ("unscored", "blocked", "content_filter, after `The ball`"),
    ),
    "cut off": ({"content": "The dog pulls the rope, but the"}, "length", ("unparsed", None, CUT_OFF)),
    "parts": (
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "A? No."}]},
                {"type": "text", "text": "B"},
            ]
        },
        "stop",
        ("scored", None, ""),
    ),
    "a number": ({"content": 7}, "stop", ("unparsed", None, "")),
    "an empty stop": ({"content": ""}, "stop", ("unparsed", None, "empty although tokens were counted")),
}
"""Message, finish reason, and what the item's record says: outcome, reason and detail. Those up to "parts" are replies
as `cases/public5/reply_shapes_server.py` gives them."""


@pytest.mark.parametrize("adapter", first_by_day(ADAPTERS))
def test_no_shape_of_an_answer_ends_a_run_and_each_is_told_from_the_others(
    adapter: str, sample_world: SampleWorld, tmp_path: Path
) -> None:
    assert len(SHAPES) == ITEMS
    shapes = list(SHAPES.values())

    def say(number: int) -> tuple[Said, int]:
        message, reason, _ = shapes[number]
        return {"message": {"role": "assistant", **message}, "finish_reason": reason}, 3

    with model_server(say) as server:
        run = run_task(server, adapter, sample_world, tmp_path / "out")
        assert len(server.bodies) == ITEMS, "none is paid twice"
    records = [sample["record"] for sample in run.samples(TASK)]
    outcomes = {"correct": "scored", "wrong": "scored"}
    found = [(outcomes.get(one["outcome"], one["outcome"]), one["unscored_reason"], one["detail"]) for one in records]
    assert Counter(found) == Counter(expected for *_, expected in shapes)
    answered = Counter(one["answered"] for one in records)
    assert answered == {None: 9, "A": 2, "B": 1}
    empty = (
        "4 answers were empty, 1 with a tool call in its place, 3 of them although tokens were counted: the server may "
        "put them into `reasoning_content`; see docs/api_models.md, Empty answers."
    )
    assert empty in run.output
    report = own_command(sample_world.home, "report", run.out).stdout
    plain = " ".join(report.split())
    assert "EMPTY ANSWERS: 4 answers were empty in " in plain and "although tokens were counted" in plain
    assert "NO ANSWER to 3 of 12 items" in plain and "(blocked)" in plain


@pytest.mark.parametrize("adapter", first_by_day(ADAPTERS))
def test_a_run_of_blocked_replies_ends_with_status_1(adapter: str, sample_world: SampleWorld, tmp_path: Path) -> None:
    blocked = {"message": {"role": "assistant", "content": None}, "finish_reason": "content_filter"}
    with model_server(lambda number: (blocked, 0)) as server:
        run = run_task(server, adapter, sample_world, tmp_path / "out", "--limit", "4")
        assert len(server.bodies) == 4
    assert run.status == 1 and not list(run.out.rglob("*_results.json"))
    assert "no result was saved: 4 items have no answer: blocked: content_filter. The same command" in run.output


@pytest.mark.parametrize("adapter", first_by_day(ADAPTERS))
def test_ctrl_c_ends_with_one_line_and_the_same_command_resumes(
    adapter: str, sample_world: SampleWorld, tmp_path: Path
) -> None:
    out, printed, at_once = tmp_path / "out", tmp_path / "printed", 2

    def say(number: int) -> tuple[Said, int]:
        time.sleep(0.1)
        return "A", 1

    with model_server(say) as server:
        asked = [*arguments(server, adapter, at_once=at_once), "--tasks", TASK]
        run = start_host(*asked, home=sample_world.home, out=out, output=printed)
        while len(server.bodies) < ITEMS // 2:
            assert run.poll() is None, printed.read_text("utf-8")
            time.sleep(0.01)
        os.kill(run.pid, signal.SIGINT)
        assert run.wait() == 1
        said = printed.read_text("utf-8")
        (line,) = [line for line in said.splitlines() if line.startswith("Interrupted. ")]
        assert " answers are kept (" in line and line.endswith("); the same command resumes.")
        assert "Traceback" not in said and said.rstrip().endswith(line)
        kept = int(line.split()[1])
        assert ITEMS // 2 - at_once <= kept < ITEMS
        again = run_host(*asked, home=sample_world.home, out=out)
        assert again.status == 0 and f"{kept} answers kept from before" in again.output
        assert len(server.bodies) - ITEMS <= at_once, "only what was in flight is paid again"


def test_an_adapter_that_refuses_several_processes_says_so_in_one_line(
    sample_world: SampleWorld, tmp_path: Path
) -> None:
    with model_server(lambda number: ("A", 1)) as server:
        asked = *server.arguments(), "--tasks", TASK
        run = run_host(*asked, home=sample_world.home, out=tmp_path / "out", ranks=2)
    message = "lmms-eval's OpenAICompatible does not run in several processes without GPUs. Remedy: start it without"
    assert run.status != 0 and run.output.count(message) == 1
    assert "Traceback" not in run.output.partition(message)[0]

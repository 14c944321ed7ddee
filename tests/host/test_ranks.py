"""How a run ends that its user interrupts, and one that fails or must not begin, on one rank or on several."""

from __future__ import annotations

import errno
import sys
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch.distributed as dist
from thread_ranks import ThreadRanks

from lmms_eval_tasks.host import ranks
from lmms_eval_tasks.host.ranks import COMMAND_LINE, SWALLOWING, RunStopped, describe_exception, stop_if_any
from lmms_eval_tasks.utils.core.errors import InputError


def as_command_line(call: Callable[[], Any], **variables: Any) -> Any:
    """What a call gives that lmms-eval's command line makes, with variables of its own."""
    held: dict[str, Any] = {"__name__": COMMAND_LINE, "call": call}
    exec(f"def main({', '.join(['call', *variables])}): return call()", held)
    return held["main"](call, **variables)


def test_an_interruption_is_one_line_and_an_error_has_its_trace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    traced: list[object] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: traced.append(error))
    monkeypatch.setattr(ranks, "logger", SimpleNamespace(add=lambda *sink, **options: None))
    ranks.end_where_lmms_eval_goes_on()
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    said = capsys.readouterr().err
    assert said == "\nInterrupted. The same command begins again, with the answers that are kept.\n" and not traced
    error = ValueError("no number")
    sys.excepthook(ValueError, error, None)
    assert traced == [error] and not capsys.readouterr().err


def test_the_options_are_those_of_the_command_line() -> None:
    arguments = Namespace(limit=4)
    assert as_command_line(ranks.on_command_line) and not ranks.on_command_line()
    assert as_command_line(ranks.command_options, args=arguments) == {"limit": 4}
    assert as_command_line(ranks.command_options, args=4) == ranks.command_options() == {}


def test_where_lmms_eval_catches_an_exception_and_warns_the_run_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[Any] = []
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    logger = SimpleNamespace(add=lambda sink, **options: added.append((sink, options)))
    monkeypatch.setattr(ranks, "logger", logger)
    ranks.end_where_lmms_eval_goes_on()
    ((warn, options),) = added
    heard = options.pop("filter")
    assert options == {"level": "WARNING", "catch": False}
    assert all(heard({"name": name}) for name in SWALLOWING) and not heard({"name": "lmms_eval.evaluator"})
    warn("of no exception")
    of_hub = type("HTTPError", (Exception,), {"__module__": "requests.exceptions"})
    for error in (of_hub("no hub"), KeyboardInterrupt()):
        try:
            raise error
        except BaseException:
            warn("what it says")
    with pytest.raises(RunStopped, match=r"^\nThe run has failed: ValueError: no number$"):
        try:
            raise ValueError("no\nnumber")
        except ValueError:
            warn("what it says")


def test_an_exception_is_a_line_without_keys_that_names_a_full_disk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-0123456789abcdef")
    assert describe_exception(ValueError("sent sk-0123456789abcdef\n\x1b[2J")) == "ValueError: sent [hidden] \\x1b[2J"
    assert describe_exception(ValueError("x" * 400)) == f"ValueError: {'x' * 400}"
    assert describe_exception(ValueError("x" * 401)) == f"ValueError: {'x' * 400}…"
    again = type("RetryError", (Exception,), {"__module__": "tenacity.main"})("again")
    assert describe_exception(again) == "RetryError: again"
    again.__cause__ = KeyError("image")
    assert describe_exception(again) == "KeyError: 'image'"
    full = OSError(errno.EDQUOT, "Disk quota exceeded")
    for words in (["--output_path", str(tmp_path)], [f"--output_path={tmp_path}"]):
        monkeypatch.setattr(sys, "argv", ["lmms-eval", *words])
        assert str(tmp_path) in describe_exception(full)


@pytest.mark.parametrize("count", [1, 2])
def test_a_program_gets_an_exception_in_place_of_the_end_and_one_rank_of_several_ends(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopping() -> None:
        raise RunStopped("no disk").for_program()

    def on_rank(rank: int) -> tuple[type[BaseException], str]:
        with pytest.raises((InputError, RunStopped)) as caught:
            stopping()
        with pytest.raises(RunStopped):
            as_command_line(stopping)
        return caught.type, str(caught.value)

    wanted = (InputError, "no disk") if count == 1 else (RunStopped, "\nno disk")
    assert ThreadRanks(count, monkeypatch).run(on_rank) == [wanted] * count


@pytest.mark.parametrize("rank", ["0", "1"])
def test_an_interruption_ends_the_command_line_with_one_line_of_the_first_rank(
    rank: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> None:
        with ranks.ended_by_hand(lambda: "4 answers are kept."):
            raise KeyboardInterrupt

    monkeypatch.setenv("RANK", rank)
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with pytest.raises(SystemExit) as caught:
        as_command_line(interrupted)
    assert caught.value.code == ("\nInterrupted. 4 answers are kept." if rank == "0" else 1)


def test_whatever_a_rank_has_against_a_run_stops_it_on_all(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def stopped(number: int, *messages: str | None, command: bool = True) -> list[object]:
        def on_rank(rank: int) -> object:
            try:
                call = partial(stop_if_any, messages[rank])
                return as_command_line(call) if command else call()
            except (InputError, SystemExit) as error:
                return getattr(error, "code", str(error))

        return ThreadRanks(number, monkeypatch).run(on_rank)

    assert stopped(1, None) == stopped(1, "") == [None] and stopped(2, None, None) == [None, None]
    assert stopped(1, "no clip", command=False) == ["no clip"]
    assert stopped(3, "no clip", "no key", "no clip", command=False) == ["no clip\n\nno key"] * 3
    assert stopped(1, "no clip") == ["\nno clip"] and capfd.readouterr().err == ""
    assert stopped(3, None, "no clip", "no key") == [1, 1, 1]
    assert capfd.readouterr().err == "\nno clip\n\nno key\n"


def test_the_threads_of_groups_on_cpus_end_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(backend: str = "nccl", available: bool = True, begun: bool = True, used: bool = False) -> list[object]:
        destroyed: list[object] = []
        for name, value in {
            "is_available": lambda: available,
            "is_initialized": lambda: begun,
            "get_backend": lambda: backend,
            "destroy_process_group": lambda *group: destroyed.extend(group or ["all"]),
            "new_group": lambda **options: (options["backend"], options["timeout"]),
        }.items():
            monkeypatch.setattr(dist, name, value)
        ranks._gloo_group.cache_clear()
        if used:
            ranks._gloo_group(dist.group.WORLD)
        ranks.leave_process_group()
        ranks._gloo_group.cache_clear()
        return destroyed

    assert ended("gloo") == ["all"] and ended(used=True) == [("gloo", ranks.PATIENCE)]
    assert ended() == ended("gloo", available=False) == ended("gloo", begun=False) == []
    monkeypatch.delitem(sys.modules, "torch.distributed")
    ranks.leave_process_group()

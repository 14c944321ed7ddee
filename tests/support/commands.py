"""Our command, called in the process of the tests."""

from __future__ import annotations

from typing import NamedTuple

from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app


class Done(NamedTuple):
    """A command that has ended."""

    status: int
    out: str
    err: str


def call(*words: object) -> Done:
    """Call `lmms-eval-tasks` with these words; an exception that it did not expect is raised."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout, result.stderr)


def printed(*words: object) -> str:
    """The output of a command that succeeds."""
    done = call(*words)
    assert done.status == 0, done
    return done.out


def refusal(*words: object) -> str:
    """The message of a command that fails and prints nothing else."""
    done = call(*words)
    assert (done.status, done.out) == (1, ""), done
    return done.err

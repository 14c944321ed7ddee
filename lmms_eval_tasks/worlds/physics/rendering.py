"""A process that renders, run as a module by `processes`."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from typing import Any

from lmms_eval_tasks.worlds.physics.processes import RenderAnswer

MODEL = '<mujoco><worldbody><geom size="1"/></worldbody></mujoco>'
"""The least that can be rendered."""


def main() -> None:
    """Answer each function call that comes on the standard input until it ends."""
    # Ctrl-C goes to all processes of a terminal; the one that started this one ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # An exception, so that what is half written is deleted.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    answers.write(pickle.dumps(RenderAnswer(refused=_why_not())))
    while True:
        try:
            function, argument = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answers.write(pickle.dumps(_run(function, argument)))
        except BrokenPipeError:
            return


def _why_not() -> str:
    """Return the reason why nothing can be rendered here; empty if rendering works."""
    try:
        import mujoco

        # Else it writes a file into the current folder.
        mujoco.set_mju_user_warning(lambda text: print(text, file=sys.stderr))
        with mujoco.Renderer(mujoco.MjModel.from_xml_string(MODEL), 8, 8) as renderer:
            renderer.render()
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ""


def _run(function: Any, argument: Any) -> RenderAnswer:
    try:
        return RenderAnswer(function(argument))
    except OSError as error:
        return RenderAnswer(refused=str(error), disk=True)
    except ValueError as error:
        return RenderAnswer(refused=str(error))
    except Exception as error:  # of MuJoCo, whose errors have no kind of their own
        return RenderAnswer(refused=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()

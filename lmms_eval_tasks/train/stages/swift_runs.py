"""Running `swift` of an environment of its own, from the start or from the last checkpoint."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lmms_eval_tasks.utils.core.errors import InputError

STATE = "trainer_state.json"
"""What a checkpoint's folder gets last: without it the checkpoint is not whole."""
REMEDY = "Remedy: make train-env TRAIN_VENV=DIR, and give --env DIR."


def swift_command(environment: Path) -> Path:
    """The command `swift` of a virtual environment."""
    path = environment.expanduser().absolute() / "bin" / "swift"
    if not (path.is_file() and os.access(path, os.X_OK)):
        raise InputError(f"Expected --env to name an environment with ms-swift, but there is no {path}.\n{REMEDY}")
    return path


def last_checkpoint(folder: Path) -> Path | None:
    """The whole checkpoint with the most steps in a folder of `checkpoint-N`; None where there is none."""
    steps = {}
    for path in folder.glob("checkpoint-*"):
        number = path.name.removeprefix("checkpoint-")
        if number.isdecimal() and _is_whole(path):
            steps[int(number)] = path
    return steps[max(steps)] if steps else None


def _is_whole(checkpoint: Path) -> bool:
    try:
        state = json.loads((checkpoint / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(state, dict)


def run_swift(environment: Path, words: Sequence[str], folder: Path) -> None:
    """Run `swift` and wait for its end; what it prints is seen as it comes."""
    command = [str(swift_command(environment)), *words]
    # swift finds torchrun and its own parts by the environment's Python; ours must not lead it elsewhere.
    inherited = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    path = os.pathsep.join([str(Path(command[0]).parent), inherited.get("PATH", "")])
    ended = subprocess.run(command, cwd=folder, env={**inherited, "PATH": path}, check=False, stdin=subprocess.DEVNULL)
    if ended.returncode:
        raise InputError(
            f"ms-swift failed with status {ended.returncode}; its own messages above say why. To see them again:\n"
            f"  {shlex.join(command)}\n"
            "A training goes on from its last checkpoint when the same command is given again."
        )

"""What is launched: a command, cut into parts. It is kept beside them, so that no other one is mixed in."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.launch.job import WORDS
from lmms_eval_tasks.launch.parts import LaunchedPart, parts_of
from lmms_eval_tasks.utils.core.files import naming_full_disk, write_file
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.redaction import hide_in_words, hide_secrets
from lmms_eval_tasks.utils.core.variables import PREFIX
from lmms_eval_tasks.utils.core.wording import describe
from lmms_eval_tasks.utils.data.home import read_table
from lmms_eval_tasks.utils.runs.results_file import LAUNCHED, PARTS
from lmms_eval_tasks.utils.runs.run_card import Weight, weight_of

OUTPUT, TASKS = "--output_path", "--tasks"
LOGGED = ("--log_samples", "--predict_only")
"""Options of which one makes lmms-eval write its sample logs."""
JOBS = "jobs"


@dataclass(frozen=True)
class LaunchPlan:
    """A command in parts."""

    command: tuple[str, ...]
    out: Path
    parts: tuple[LaunchedPart, ...]
    identity: Mapping[str, Any]

    def command_of(self, part: LaunchedPart) -> tuple[str, ...]:
        """The command of one part, which writes to the part's own output path, without keys: `secrets` has those."""
        words = hide_in_words(self.command, os.environ)
        place, _ = _find(self.command, OUTPUT)
        if self.command[place] == OUTPUT:
            words[place + 1] = str(part.out)
        else:
            words[place] = f"{OUTPUT}={part.out}"
        return tuple(words)

    @property
    def secrets(self) -> dict[str, str]:
        """The words that hold keys, by their places: a job gets them in its environment, and no file has them."""
        shown = hide_in_words(self.command, os.environ)
        return {str(place): word for place, word in enumerate(self.command) if shown[place] != word}

    @property
    def folder(self) -> Path:
        """The folder of its parts."""
        return self.out / PARTS

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep what is launched beside its parts, and keep other launches from them as long as the block lasts."""
        with naming_full_disk(self.out):
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.folder / "launch.lock")
            try:
                lock.acquire(timeout=0)
            except Timeout:
                raise InputError(f"Another launch is at work on {self.folder}. Wait for it, or end it.") from None
            try:
                self._keep()
                os.environ[WORDS] = json.dumps(self.secrets)
                yield
            finally:
                os.environ.pop(WORDS, None)
                lock.release()

    def clear(self) -> None:
        """Delete what is of no use once all parts are done: submitit's files."""
        shutil.rmtree(self.folder / JOBS, ignore_errors=True)

    def _keep(self) -> None:
        file = self.folder / LAUNCHED
        identity = json.loads(json.dumps(self.identity))
        if file.is_file():
            try:
                before = json.loads(file.read_text(encoding="utf-8"))
            except ValueError:
                before = {}
            differing = [name for name in identity if before.get(name) != identity[name]]
            if differing:
                lines = [_difference(name, before.get(name), identity[name]) for name in differing]
                raise InputError(
                    "\n  ".join([f"{file.parent} holds the parts of another launch, nothing was started:", *lines])
                    + f"\nRemedy: give another {OUTPUT}, or delete {file.parent}."
                )
            return
        write_file(file, json.dumps(identity, indent=2) + "\n")


def make_plan(command: Sequence[str], count: int) -> LaunchPlan:
    """Plan a launch."""
    if shutil.which(command[0]) is None:
        raise InputError(f"There is no command {describe(command[0])} to launch. Is its environment active?")
    _, given = _find(command, OUTPUT)
    if not given:
        raise InputError(
            f"The command has no {OUTPUT}, below which its parts could write. Add:  {OUTPUT} DIR\n"
            f"It is:  {hide_secrets(shlex.join(command), os.environ)}"
        )
    data = _digests(_find(command, TASKS)[1])
    if data and not any(word in command for word in LOGGED):
        raise InputError(f"The parts cannot be merged without their sample logs. Add to the command:  {LOGGED[0]}")
    out = Path(given).expanduser().absolute()
    identity = {
        "command": hide_in_words(command, os.environ),
        "parts": count,
        "data": data,
        "settings": {
            name: hide_secrets(value, os.environ)
            for name, value in sorted(os.environ.items())
            if name.startswith(PREFIX) and weight_of("settings", name) is not Weight.NEVER
        },
    }
    return LaunchPlan(tuple(command), out, tuple(parts_of(out, count)), identity)


def _find(command: Sequence[str], option: str) -> tuple[int, str]:
    """The place of an option among the words, and its value; the last one, as argparse takes it; empty without one."""
    for place in reversed(range(len(command))):
        if command[place] == option and place + 1 < len(command):
            return place, command[place + 1]
        if command[place].startswith(f"{option}="):
            return place, command[place].removeprefix(f"{option}=")
    return -1, ""


def _digests(tasks: str) -> dict[str, str]:
    """Each task of ours to the SHA-256 of its prepared table."""
    members = [task for name in tasks.split(",") for task in registry().find_members(name.strip())]
    return {task.name: read_table(task.benchmark.card, task.split)[1].table_sha256 for task in members}


def _difference(name: str, before: Any, now: Any) -> str:
    if isinstance(before, dict) and isinstance(now, dict):
        keys = [key for key in (before | now) if before.get(key) != now.get(key)]
        pairs = [f"{key} was {describe(before.get(key), 16)}, now {describe(now.get(key), 16)}" for key in keys[:5]]
        return f"{name}: {'; '.join(pairs)}"
    if isinstance(before, list) and isinstance(now, list):
        return f"{name}: {shlex.join(map(str, before))}\n    now {shlex.join(map(str, now))}"
    return f"{name}: {describe(before)}, now {describe(now)}"

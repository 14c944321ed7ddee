"""The plan of a launch: a command cut into parts, or repeated with settings, whose files on the disk let any later
launch go on."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from filelock import FileLock, Timeout

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.folder import NUMBER
from lmms_eval_tasks.runs.run_card import Weight, read_run_card, weight_of
from lmms_eval_tasks.runs.run_files import LAUNCHED, PARTS, SWEEP, Shard, card_path, results_files
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import file_sha256, naming_full_disk, write_file
from lmms_eval_tasks.utils.core.text import HIDDEN, PREFIX, describe, hide_in_words, hide_secrets, parse_arguments
from lmms_eval_tasks.utils.data.home import read_table

WORDS = "LAUNCHED_WORDS"
"""The variable by which jobs get the keys in the words of the command, by the words' places in JSON."""


@dataclass(frozen=True)
class Holder:
    host: str
    process: int
    devices: tuple[str, ...] = ()


class Setting(NamedTuple):
    """A value that a sweep gives to an argument of the model, or of the generation."""

    name: str
    value: str

    @property
    def option(self) -> str:
        return GEN_KWARGS if self.name in GENERATION else MODEL_ARGS


@contextmanager
def _locked(path: Path, wait: float) -> Iterator[bool]:
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=wait, poll_interval=0.1)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


@dataclass(frozen=True)
class LaunchedPart:
    """One part of a launch: a shard of a run, or the run with one of the settings of a sweep."""

    name: str
    folder: Path
    out: Path
    """Its output path."""
    shard: Shard | None = None
    settings: tuple[Setting, ...] = ()

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"

    def _state(self, ending: str) -> Path:
        return self.folder / "state" / f"{self.name}.{ending}"

    @property
    def is_done(self) -> bool:
        return self._state("done.json").is_file()

    def write_done(self, results: Path) -> None:
        write_file(self._state("done.json"), json.dumps({"results": results.relative_to(self.out).as_posix()}) + "\n")

    def read_results(self) -> Path:
        return self.out / str(json.loads(self._state("done.json").read_text(encoding="utf-8"))["results"])

    @contextmanager
    def locked(self, wait: float) -> Iterator[bool]:
        """Lock the part as long as the block lasts; gives False where another process has it locked."""
        with _locked(self._state("lock"), wait) as free:
            yield free

    def write_holder(self, holder: Holder) -> None:
        write_file(self._state("job.json"), json.dumps(asdict(holder)) + "\n")

    def holder(self) -> Holder | None:
        """Return the job that works on it; None where none does, also where one was killed."""
        with self.locked(0) as free:
            if free:
                return None
        with suppress(OSError, ValueError):  # it has the lock and has not written yet
            read = json.loads(self._state("job.json").read_text(encoding="utf-8"))
            return Holder(read["host"], read["process"], tuple(read["devices"]))
        return Holder("", 0)


OUTPUT, TASKS, MODEL_ARGS, GEN_KWARGS = "--output_path", "--tasks", "--model_args", "--gen_kwargs"
GENERATION = ("max_new_tokens", "temperature", "top_p", "top_k", "num_beams", "do_sample")
"""Settings that are given as `--gen_kwargs`; all others are the model's."""
LOGGED = ("--log_samples", "--predict_only")
"""Options of which one makes lmms-eval write its sample logs."""
JOBS = "jobs"


@dataclass(frozen=True)
class LaunchPlan:
    command: tuple[str, ...]
    out: Path
    parts: tuple[LaunchedPart, ...]
    identity: Mapping[str, Any]

    def command_of(self, part: LaunchedPart) -> tuple[str, ...]:
        """Return the command of a part, which writes to its own output path, without keys: `secrets` has those."""
        words = hide_in_words(self.command, os.environ)
        place, _ = _find(self.command, OUTPUT)
        if self.command[place] == OUTPUT:
            words[place + 1] = str(part.out)
        else:
            words[place] = f"{OUTPUT}={part.out}"
        for setting in part.settings:
            place, given = _find(words, setting.option)
            if place < 0:
                words += [setting.option, ""]
                place = len(words) - 2
            value_place = place + 1 if words[place] == setting.option else place
            words[value_place] += f"{',' if given else ''}{setting.name}={setting.value}"
        return tuple(words)

    @property
    def secrets(self) -> dict[str, Sequence[str]]:
        """The keys in the command by the places of its words: a job gets them in its environment alone."""
        found: dict[str, Sequence[str]] = {}
        for place, (word, shown) in enumerate(zip(self.command, hide_in_words(self.command, os.environ), strict=True)):
            parts = re.fullmatch(re.escape(shown).replace(re.escape(HIDDEN), "(.*)"), word, re.DOTALL)
            if shown != word and parts:
                found[str(place)] = parts.groups()
        return found

    @property
    def folder(self) -> Path:
        return self.parts[0].folder

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep what is launched beside its parts, and keep other launches from them as long as the block lasts."""
        with naming_full_disk(self.out), _locked(self.folder / "launch.lock", 0) as free:
            if not free:
                raise InputError(f"Another launch is at work on {self.folder}. Wait for it, or end it.")
            self._keep()
            with patch.dict(os.environ, {WORDS: json.dumps(self.secrets)}):
                yield

    def clear(self) -> None:
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
    out, identity = _identify(command)
    folder = out / PARTS
    shards = [Shard(number, count) for number in range(1, count + 1)]
    names = {f"{shard.part}-of-{shard.of}": shard for shard in shards}
    parts = tuple(LaunchedPart(name, folder, folder / name, shard) for name, shard in names.items())
    return LaunchPlan(tuple(command), out, parts, {"command": identity.pop("command"), "parts": count, **identity})


def make_sweep(command: Sequence[str], given: Sequence[str]) -> LaunchPlan:
    """Return the plan of a run with each combination of the settings, given as ``NAME=VALUE,VALUE``."""
    swept = [_read_setting(text) for text in given]
    along = [setting for setting in swept[0] if not re.fullmatch(NUMBER, setting.value)]
    if along:
        raise InputError(f"The curve needs numbers: {along[0].name} is {describe(along[0].value)} in the first --set.")
    for name, option in dict.fromkeys((settings[0].name, settings[0].option) for settings in swept):
        if (value := parse_arguments(_find(command, option)[1]).get(name)) is not None:
            raise InputError(f"{name} is given by --set, and by {option} too ({name}={value}). Leave it out there.")
    out, identity = _identify(command)
    named = {"_".join(f"{name}-{value}" for name, value in chosen): chosen for chosen in product(*swept)}
    parts = tuple(LaunchedPart(name, out / SWEEP, out / name, settings=chosen) for name, chosen in named.items())
    return LaunchPlan(tuple(command), out, parts, identity)


def _read_setting(text: str) -> list[Setting]:
    name, _, values = text.partition("=")
    found = [Setting(name.strip(), value.strip()) for value in values.split(",")]
    if not re.fullmatch(r"[A-Za-z]\w*", name.strip()) or not all(re.fullmatch(r"[\w.+-]+", one.value) for one in found):
        raise InputError(f"Expected --set NAME=VALUE,VALUE, such as max_num_frames=4,8, but got {describe(text)}.")
    numbers = [float(one.value) if re.fullmatch(NUMBER, one.value) else one.value for one in found]
    if len(set(numbers)) < len(numbers) or len(numbers) < 2:
        raise InputError(f"Expected two different values or more of {name.strip()}, but got {describe(values)}.")
    return found


def _identify(command: Sequence[str]) -> tuple[Path, dict[str, Any]]:
    """Return the output path of a command, and what every launch into it has to have in common."""
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
        raise InputError(
            f"The parts cannot be merged or compared without their sample logs. Add to the command:  {LOGGED[0]}"
        )
    out = Path(given).expanduser().absolute()
    identity = {
        "command": hide_in_words(command, os.environ),
        "data": data,
        "settings": {
            name: hide_secrets(value, os.environ)
            for name, value in sorted(os.environ.items())
            if name.startswith(PREFIX) and weight_of("settings", name) is not Weight.NEVER
        },
    }
    return out, identity


def _find(command: Sequence[str], option: str) -> tuple[int, str]:
    """Return the place of an option's last value among the words, as argparse takes it, and it; empty without one."""
    for place in reversed(range(len(command))):
        if command[place] == option and place + 1 < len(command):
            return place, command[place + 1]
        if command[place].startswith(f"{option}="):
            return place, command[place].removeprefix(f"{option}=")
    return -1, ""


def _digests(tasks: str) -> dict[str, str]:
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


MERGED = "merged"
"""The section of a card that `merge` writes: each part, and its results file with its SHA-256."""


def find_merged(plan: LaunchPlan) -> Path | None:
    """Return the results file of the run that the parts were merged into; None where they are not."""
    runs = results_files(plan.out)
    if not runs:
        return None
    cards = {path: read_run_card(card_path(path)).get(MERGED, {}) for path in runs}
    if other := next((path for path, merged in cards.items() if not merged), None):
        raise InputError(f"The parts could not be merged beside the run {other}. Give another {OUTPUT}.")
    parts = {
        f"part {part.shard}": f"{part.read_results().name} {file_sha256(part.read_results())}"
        for part in plan.parts
        if part.is_done
    }
    complete = len(parts) == len(plan.parts)
    return next((path for path, merged in cards.items() if complete and parts.items() <= merged.items()), None)
